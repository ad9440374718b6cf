"""Sends a command to the worker that serves an account, from any other process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from tidegate.core.ids import AccountId
from tidegate.database.pool import Database
from tidegate.workers.queries import commands
from tidegate.workers.queries.commands import CommandAnswer


async def ask_owner(
    database: Database, account: AccountId, kind: str, args: dict[str, Any], *, within: timedelta
) -> CommandAnswer | None:
    """Store a command for the worker that serves the account and wait for the answer; None when none came in time.

    A command without an answer stays, and the next worker of the account runs it.
    """
    heard = asyncio.Event()
    session = await database.direct(f"{database.name} asks")
    try:
        await session.add_listener(commands.CHANNEL, lambda *_: heard.set())
        async with database.transaction() as connection:
            command = await commands.ask(connection, account, kind, args)
        with suppress(TimeoutError):
            async with asyncio.timeout(within.total_seconds()):
                while True:
                    heard.clear()
                    if (answer := await commands.answer_of(session, command)) is not None:
                        return answer
                    await _heard_or_a_second(heard)
        return None
    finally:
        session.terminate()


async def _heard_or_a_second(heard: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await heard.wait()
