"""Notices to the worker that serves an account: its reminders or runs have changed."""

from __future__ import annotations

from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection
from tidegate.workers.queries import commands

LOOK = "look_at_runs"
"""The command that has an account's owner look at its reminders and runs at once."""


async def wake_owner(connection: Connection, account: AccountId) -> None:
    """Have the account's worker look once the caller's transaction commits. A later worker looks anyway."""
    await commands.ask_once(connection, account, LOOK)
