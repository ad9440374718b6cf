"""How a run starts: its firing is due, or a person fires it. The run is frozen in one transaction."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import structlog

from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim
from tidegate.core.errors import BadInput
from tidegate.core.ids import RunId
from tidegate.core.rules.wall_clock import zone_named
from tidegate.database.pool import Connection, Database
from tidegate.lanes.rules.send_hours import SendWindow, WindowDay
from tidegate.reminders.definition import BegunTarget, WhenClosed, WhenOverlapping
from tidegate.reminders.queries import reminders, run_parts, run_states, runs
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.queries.run_freeze import NewRun, open_run
from tidegate.reminders.rules.run_summary import WINDOW_CLOSED, RunStatus, RunSummary
from tidegate.reminders.rules.schedule import last_missed, next_firing
from tidegate.reminders.rules.send_states import WhenUnknown
from tidegate.reminders.runs.run_next_state import advance
from tidegate.reminders.runs.run_plan import RunPlan, first_opening, make_plan

log = structlog.get_logger()

REPLACED = "replaced by the next firing"
"""The error of a target whose group gets the next firing instead."""


async def open_due(database: Database, claim: Claim) -> int:
    """Open a run for every reminder of an account whose firing is due; returns how many there were.

    After a time in which no worker served the account, one run makes up for all missed firings. Each reminder also gets
    the instant of its next firing: none, where its document cannot be parsed.
    """
    async with database.transaction() as connection:
        await accounts.fence(connection, claim)
        due = await reminders.due(connection, claim.account)
        for kept in due:
            assert kept.due_at is not None
            due_at, following = kept.due_at, None
            try:
                schedule, zone = kept.reminder.schedule, kept.reminder.window.zone
                if schedule is not None:
                    due_at = last_missed(schedule, zone, kept.due_at, kept.now)
                    following = next_firing(schedule, zone, kept.now)
                plan = await make_plan(connection, kept, at=due_at)
            except BadInput as problem:
                log.warning("reminder.refused", reminder=kept.name, problem=str(problem))
                await _refuse(connection, kept, due_at, problem)
            else:
                await open_planned(connection, plan, due_at=due_at)
            await reminders.set_due(connection, kept.id, following)
    return len(due)


async def open_planned(
    connection: Connection,
    plan: RunPlan,
    *,
    due_at: datetime | None = None,
    test: bool = False,
    late: WhenClosed | None = None,
    any_hour: bool = False,
) -> RunId | None:
    """Open a run for a plan, inside a transaction; None when this firing has been opened before.

    *late* is what a person wants done when the window has closed, in place of the reminder's own policy.
    A test is sent at any hour, since a person waits for it, and so is a run of which a person said *any_hour*.
    A firing that may have been made before a restore opens paused, for a person to decide.
    """
    reminder, now = plan.reminder, plan.kept.now
    window = SendWindow(0, 24, reminder.window.zone) if test or any_hour else reminder.window
    opening = first_opening(window, now, late=late or reminder.policies.when_fired_late)
    run = await open_run(
        connection,
        NewRun(
            reminder=plan.kept.id,
            name=reminder.name,
            account=plan.kept.account,
            test=test,
            due_at=due_at,
            window=window,
            opening=opening,
            waits=now < opening.opens,
            paused_by="restore" if plan.kept.doubtful and due_at is not None else None,
            resumes_next=not test and reminder.policies.when_window_closes is WhenClosed.RESUME_NEXT,
            finishes_begun=reminder.policies.begun_target is BegunTarget.FINISH,
            when_unknown=reminder.policies.when_unknown,
            targets=plan.targets,
            parts=plan.parts,
            texts=plan.texts,
        ),
    )
    if run is None:
        return None
    if opening.closes <= now:
        await run_parts.skip_pending(connection, run, WINDOW_CLOSED)
    if not test:
        await _skip_older(connection, plan, run)
    if opening.closes <= now or not plan.sends:
        await advance(connection, run)
    return run


async def _skip_older(connection: Connection, plan: RunPlan, newest: RunId) -> None:
    """Skip groups that an older firing has not reached, where the operator's policy gives them the new one only."""
    overlapping = plan.reminder.policies.when_overlapping
    if overlapping is WhenOverlapping.QUEUE:
        return
    for run in await runs.open_of(connection, plan.kept.account):
        if run.reminder == plan.kept.id and run.id < newest and not run.test:
            await run_parts.skip_pending(connection, run.id, REPLACED, begun=overlapping is WhenOverlapping.SKIP_OLD)
            await advance(connection, run.id)


async def _refuse(connection: Connection, kept: KeptReminder, due_at: datetime, problem: BadInput) -> None:
    """Record a firing that cannot be planned as a failed run with the reason; nothing is sent."""
    always = SendWindow(0, 24, zone_named("UTC"))
    number = await open_run(
        connection,
        NewRun(
            reminder=kept.id,
            name=kept.name,
            account=kept.account,
            test=False,
            due_at=due_at,
            window=always,
            opening=WindowDay(kept.now, kept.now),
            waits=False,
            paused_by=None,
            resumes_next=False,
            finishes_begun=False,
            when_unknown=WhenUnknown.HOLD,
            targets=[],
            parts=[],
            texts=[],
        ),
    )
    if number is not None:
        run = await runs.find(connection, number)
        await run_states.end(connection, run, RunSummary(RunStatus.FAILED, str(problem)), Counter())
