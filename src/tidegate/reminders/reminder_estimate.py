"""Estimates: whether a reminder fits into its window, when it would end, and how much would be left over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.ids import RunId
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection
from tidegate.lanes.queries import pace
from tidegate.lanes.rules.send_estimate import Estimate, ahead_at, estimate
from tidegate.lanes.rules.send_hours import WindowDay
from tidegate.lanes.rules.slowdown_after_warning import Allowance, burst_warning
from tidegate.reminders.definition import WhenClosed
from tidegate.reminders.queries import runs
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.runs.run_plan import RunPlan, first_opening, make_plan


@dataclass(frozen=True, slots=True)
class ReminderEstimate:
    """The estimate of a reminder's next firing. *queued* are the sends that its account must make before.

    *paused* are the sends of paused runs, which are sent first if a person resumes them. *burst* is how many messages
    the account may send at once.
    """

    plan: RunPlan
    estimate: Estimate
    queued: int
    paused: Mapping[RunId, int]
    burst: int

    @property
    def warnings(self) -> list[str]:
        """What the operator should know before scheduling it."""
        return [*self.plan.warnings, *self._too_much(), *self._not_counted(), *self._risky()]

    def _not_counted(self) -> Sequence[str]:
        return [
            f"Run {run} is paused with {sends} messages left, which are not counted; resumed, it is sent before this."
            for run, sends in self.paused.items()
        ]

    def _risky(self) -> Sequence[str]:
        warning = burst_warning(self.burst)
        return [] if warning is None else [warning]

    def _too_much(self) -> Sequence[str]:
        found = self.estimate
        if found.fits:
            return []
        if not found.windows:
            return ["Nothing would be sent: the window has closed for today, or the account has sent all it may in it."]
        return [
            f"Only {found.sends - found.short_by} of {found.sends} sends fit; {found.short_by} would be left over. "
            f'It would take {found.accounts} accounts, or a longer window, or when_window_closes = "resume_next".'
        ]


async def estimate_reminder(
    connection: Connection, kept: KeptReminder, allowance_of: Callable[[Platform, Standing], Allowance]
) -> ReminderEstimate:
    """A reminder's next firing at the pace of its account; ``BadInput`` when it could not be sent as it is."""
    account = (await accounts.find(connection, kept.account_name)).account
    plan = await make_plan(connection, kept, at=kept.now)
    return await estimate_plan(connection, plan, allowance_of(account.platform, account.standing))


async def estimate_plan(connection: Connection, plan: RunPlan, allowance: Allowance) -> ReminderEstimate:
    """Lay a plan into the coming windows, behind what its account has queued; makes no platform call.

    A reminder with a schedule is estimated for its next firing, any other for now.
    """
    at = plan.kept.due_at if plan.kept.due_at is not None and plan.kept.due_at > plan.kept.now else plan.kept.now
    supply = await pace.supply(connection, plan.kept.account, allowance)
    queued = ahead_at(await runs.queued(connection, plan.kept.account), supply, now=plan.kept.now, at=at)
    laid = estimate(plan.sends, supply, _openings(plan, at), now=at, queued=queued)
    return ReminderEstimate(plan, laid, queued, await runs.paused_sends(connection, plan.kept.account), allowance.burst)


def _openings(plan: RunPlan, at: datetime) -> Iterable[WindowDay]:
    policies, window = plan.reminder.policies, plan.reminder.window
    first = first_opening(window, at, late=policies.when_fired_late)
    if policies.when_window_closes is WhenClosed.STOP or first.closes <= at:
        return [first]
    return window.openings(at)
