"""Whether a reminder fits into its window, when it would end, and how much would be left over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.reminders.plan import Plan, first_opening
from tidegate.reminders.reminder import WhenClosed
from tidegate.rules.capacity import Estimate, ahead_at, estimate
from tidegate.rules.pacing import Allowance
from tidegate.rules.window import Opening
from tidegate.store import pace, runs
from tidegate.store.database import Connection


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A reminder's next firing, foreseen. *queued* are the sends its account has to make before."""

    plan: Plan
    estimate: Estimate
    queued: int

    @property
    def warnings(self) -> list[str]:
        """What the operator should know before scheduling it."""
        return [*self.plan.warnings, *self._too_much()]

    def _too_much(self) -> Sequence[str]:
        told = self.estimate
        if told.fits:
            return []
        if not told.windows:
            return ["Nothing would be sent: the window has closed for today, or the account has sent all it may in it."]
        return [
            f"Only {told.sends - told.short_by} of {told.sends} sends fit; {told.short_by} would be left over. "
            f'It would take {told.accounts} accounts, or a longer window, or when_window_closes = "resume_next".'
        ]

    def as_json(self) -> dict[str, Any]:
        """The contract's shape; sends and short_by are parts."""
        told = self.estimate
        return {
            "reminder": self.plan.kept.name,
            "targets": len(self.plan.targets),
            "parts": len(self.plan.parts),
            "sends": told.sends,
            "fits": told.fits,
            "starts_at": _shown(told.starts_at),
            "finishes_at": _shown(told.finishes_at),
            "short_by": told.short_by,
            "queued": self.queued,
            "accounts": told.accounts,
            "windows": [
                {"opens_at": _shown(one.opening.opens), "closes_at": _shown(one.opening.closes), "sends": one.sends}
                for one in told.windows
            ],
            "warnings": self.warnings,
        }


async def foresee(connection: Connection, plan: Plan, allowance: Allowance) -> Foreseen:
    """Lay a plan into the windows to come, behind what its account has queued; spends no call.

    A reminder with a schedule is looked at as of its next firing, any other as of now.
    """
    at = plan.kept.due_at if plan.kept.due_at is not None and plan.kept.due_at > plan.kept.now else plan.kept.now
    supply = await pace.supply(connection, plan.kept.account, allowance)
    queued = ahead_at(await runs.queued(connection, plan.kept.account), supply, now=plan.kept.now, at=at)
    return Foreseen(plan, estimate(plan.sends, supply, _openings(plan, at), now=at, queued=queued), queued)


def _openings(plan: Plan, at: datetime) -> Iterable[Opening]:
    policies, window = plan.reminder.policies, plan.reminder.window
    first = first_opening(window, at, late=policies.when_fired_late)
    if policies.when_window_closes is WhenClosed.STOP or first.closes <= at:
        return [first]
    return window.openings(at)


def _shown(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
