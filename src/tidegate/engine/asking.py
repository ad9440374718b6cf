"""Asking the worker that serves an account, from any other process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from tidegate.store import commands
from tidegate.store.commands import Answer
from tidegate.store.database import Database
from tidegate.words import AccountId


async def ask_owner(
    database: Database, account: AccountId, kind: str, args: dict[str, Any], *, within: timedelta
) -> Answer | None:
    """Leave a command for the account's owner and wait for the answer; None when none came in time.

    A command nobody answered stays and is taken up by the next owner.
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
