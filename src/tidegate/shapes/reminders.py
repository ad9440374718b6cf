"""Reminders as ``tidegate reminder`` and the API tell them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.app import allowance_of
from tidegate.reminders.estimating import Foreseen, foresee
from tidegate.reminders.plan import make_plan
from tidegate.settings import Settings
from tidegate.shapes.instants import Instant, instant
from tidegate.store import accounts
from tidegate.store.database import Connection
from tidegate.store.reminders import KeptReminder


@dataclass(frozen=True, kw_only=True)
class ReminderRow:
    """A reminder in a list. *targets* is ``all``, the name of a saved list, or how many groups are named."""

    id: int
    name: str
    account: str
    platform: str
    targets: str | int
    parts: int
    hours: str
    due_at: Instant | None


@dataclass(frozen=True, kw_only=True)
class WindowRow:
    """How many messages leave in one opening of the window."""

    opens_at: Instant
    closes_at: Instant
    sends: int


@dataclass(frozen=True, kw_only=True)
class EstimateShown:
    """Whether a reminder fits into its window; *sends*, *queued* and *short_by* are messages."""

    reminder: str
    targets: int
    parts: int
    sends: int
    fits: bool
    starts_at: Instant | None
    finishes_at: Instant | None
    short_by: int
    queued: int
    accounts: int
    windows: list[WindowRow]
    warnings: list[str]


def reminder_row(kept: KeptReminder) -> ReminderRow:
    """A reminder in a list."""
    written = kept.written
    named = written.get("targets")
    goes_to = "all" if named is None and written.get("list") is None else written.get("list") or len(named or ())
    hours = f"{written['delivery_window_start_hour']:02}-{written['delivery_window_end_hour']:02} {written['timezone']}"
    return ReminderRow(
        id=kept.id,
        name=kept.name,
        account=kept.account_name,
        platform=kept.platform.value,
        targets=goes_to,
        parts=len(written["parts"]),
        hours=hours,
        due_at=instant(kept.due_at),
    )


async def foreseen(connection: Connection, kept: KeptReminder, settings: Settings) -> Foreseen:
    """A kept reminder's next firing at the pace its account has; ``BadInput`` when it could not be sent as it is."""
    account = (await accounts.find(connection, kept.account_name)).account
    plan = await make_plan(connection, kept, at=kept.now)
    return await foresee(connection, plan, allowance_of(settings, account.platform, account.standing))
