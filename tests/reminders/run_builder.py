"""Runs of reminders in the database, without a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.ids import AccountId, RunId
from tidegate.database.pool import Connection
from tidegate.lanes.rules.send_hours import SendWindow, WindowDay
from tidegate.platforms.telegram import TELEGRAM
from tidegate.reminders.queries.run_freeze import NewRun, NewRunPart, NewTarget, open_run
from tidegate.reminders.rules.send_states import WhenUnknown


async def an_account(connection: Connection, name: str = "shop") -> AccountId:
    return await accounts.add(connection, name, TELEGRAM, Standing.NORMAL, loopback="http://127.0.0.1:1")


def a_run(account: AccountId, *, targets: int = 2, parts: int = 2, due_at: datetime | None = None) -> NewRun:
    """A run whose window is open from an hour ago until in an hour."""
    now = datetime.now(UTC)
    return NewRun(
        reminder=None,
        name="Friday stock",
        account=account,
        test=False,
        due_at=due_at,
        window=SendWindow(0, 24, ZoneInfo("UTC")),
        opening=WindowDay(now - timedelta(hours=1), now + timedelta(hours=1)),
        waits=False,
        paused_by=None,
        resumes_next=False,
        finishes_begun=True,
        when_unknown=WhenUnknown.HOLD,
        targets=[NewTarget(None, f"group {number}") for number in range(targets)],
        parts=[NewRunPart("text")] * parts,
        texts=[f"part {part} for group {target}" for target in range(targets) for part in range(parts)],
    )


async def frozen(connection: Connection, new: NewRun) -> RunId:
    run = await open_run(connection, new)
    assert run is not None
    return run
