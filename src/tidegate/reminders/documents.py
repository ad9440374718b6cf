"""The JSON documents of reminders, for ``tidegate reminder`` and the API."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import ReminderId
from tidegate.core.json_fields import Instant, instant
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.reminder_estimate import ReminderEstimate


@dataclass(frozen=True, kw_only=True)
class ReminderRow:
    """A reminder in a list. *targets* is ``all``, the name of a saved list, or how many groups are named."""

    id: ReminderId
    name: str
    account: str
    platform: str
    targets: str | int
    parts: int
    hours: str
    due_at: Instant | None
    enabled: bool


@dataclass(frozen=True, kw_only=True)
class WindowRow:
    """How many messages are sent in one opening of the window."""

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
        platform=kept.platform.name,
        targets=goes_to,
        parts=len(written["parts"]),
        hours=hours,
        due_at=instant(kept.due_at),
        enabled=written.get("enabled", True),
    )


def estimate_shown(found: ReminderEstimate) -> EstimateShown:
    """The estimate of a reminder."""
    laid = found.estimate
    return EstimateShown(
        reminder=found.plan.kept.name,
        targets=len(found.plan.targets),
        parts=len(found.plan.parts),
        sends=laid.sends,
        fits=laid.fits,
        starts_at=instant(laid.starts_at),
        finishes_at=instant(laid.finishes_at),
        short_by=laid.short_by,
        queued=found.queued,
        accounts=laid.accounts,
        windows=[
            WindowRow(opens_at=one.opening.opens.isoformat(), closes_at=one.opening.closes.isoformat(), sends=one.sends)
            for one in laid.windows
        ],
        warnings=found.warnings,
    )
