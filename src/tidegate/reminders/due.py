"""Firings that have come: each opens a run once, and what was missed is made up for once."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.errors import BadInput
from tidegate.reminders.opening import open_planned, refuse
from tidegate.reminders.plan import make_plan
from tidegate.reminders.written import checked
from tidegate.rules.scheduling import last_missed, next_firing
from tidegate.store import accounts, reminders
from tidegate.store.database import Connection, Database
from tidegate.store.reminders import KeptReminder
from tidegate.words import Claim

log = structlog.get_logger()


async def open_due(database: Database, claim: Claim) -> int:
    """Open a run for every reminder of an account whose firing has come; returns how many there were.

    After a time in which nobody served the account, the newest firing that was missed stands for all of them.
    """
    async with database.transaction() as connection:
        await accounts.fence(connection, claim)
        due = await reminders.due(connection, claim.account)
        for kept in due:
            await _fire(connection, kept)
    return len(due)


async def _fire(connection: Connection, kept: KeptReminder) -> None:
    assert kept.due_at is not None
    due_at, following = _firing(kept, kept.due_at)
    try:
        plan = await make_plan(connection, kept, at=due_at)
    except BadInput as problem:
        log.warning("reminder.refused", reminder=kept.name, problem=str(problem))
        await refuse(connection, kept, due_at, problem)
    else:
        await open_planned(connection, plan, due_at=due_at)
    await reminders.set_due(connection, kept.id, following)


def _firing(kept: KeptReminder, due_at: datetime) -> tuple[datetime, datetime | None]:
    """Which firing this is, and when the next one comes; none follows a reminder that can no longer be read."""
    try:
        reminder = checked(kept.written)
    except BadInput:
        return due_at, None
    if reminder.schedule is None:
        return due_at, None
    zone = reminder.window.zone
    return (
        last_missed(reminder.schedule, zone, due_at, kept.now),
        next_firing(reminder.schedule, zone, kept.now),
    )
