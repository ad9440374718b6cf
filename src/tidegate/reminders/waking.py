"""Telling whoever serves an account that something about its reminders or runs has changed."""

from __future__ import annotations

from tidegate.store import commands
from tidegate.store.database import Connection
from tidegate.words import AccountId

LOOK = "look_at_runs"
"""The command that has an account's owner look at its reminders and runs at once."""


async def wake_owner(connection: Connection, account: AccountId) -> None:
    """Have the owner look at once, after the caller's transaction; without one, whoever comes next looks anyway."""
    await commands.ask_once(connection, account, LOOK)
