"""Recognises a connection pooler that mixes sessions where a direct connection is needed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import asyncpg

from tidegate.core.errors import TidegateError
from tidegate.database.pg_address import connect, place
from tidegate.database.pool import Address

_RIVALS = 3  # a pooler that uses its servers in rotation shows only with more than one connection
_PATIENCE = 5.0


async def refuse_transaction_pooler(address: Address) -> None:
    """Refuse a direct address behind which sessions are shared: locks and LISTEN would be lost there unnoticed."""
    if await _shares_sessions(address.direct):
        raise TidegateError(
            f"A pooler in transaction mode stands before {place(address.direct)}, where a direct connection is needed "
            "for locks and LISTEN. Set TIDEGATE_DATABASE_DIRECT_URL to the server itself, or one in session mode."
        )


async def _shares_sessions(url: str) -> bool:
    """Whether a rival's transaction gets the server process that an idle session of ours had."""
    async with AsyncExitStack() as sessions:

        async def session() -> asyncpg.Connection:
            opened = await connect(url, name="tidegate looks for poolers", statement_cache_size=0)
            sessions.push_async_callback(opened.close)
            return opened

        ours = await session()
        before = await _process(ours)
        for _ in range(_RIVALS):
            rival = await session()
            try:
                await sessions.enter_async_context(rival.transaction())
            except asyncpg.PostgresError:
                return True  # a pooler in statement mode allows no transactions
            if await _process(rival) == before:
                return True
        try:
            async with asyncio.timeout(_PATIENCE):
                return await _process(ours) != before
        except TimeoutError:
            return True  # the rivals hold every process the pooler has


async def _process(session: asyncpg.Connection) -> int:
    number: int = await session.fetchval("SELECT pg_backend_pid()")
    return number
