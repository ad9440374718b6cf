"""A plan made into a run: frozen in one transaction, and taken up by whoever serves the account."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from tidegate.errors import BadInput
from tidegate.reminders.ending import settle
from tidegate.reminders.plan import Plan, first_opening
from tidegate.reminders.reminder import Begun, WhenClosed, WhenOverlapping
from tidegate.rules.delivering import WINDOW_CLOSED, RunStatus, Summary, WhenUnknown
from tidegate.rules.window import Opening, Window, zone_named
from tidegate.store import run_moves, run_parts, runs
from tidegate.store.database import Connection
from tidegate.store.reminders import KeptReminder
from tidegate.store.run_opening import NewRun, open_run
from tidegate.words import RunId

REPLACED = "replaced by the next firing"
"""The error of a target whose group gets the next firing instead."""


async def open_planned(
    connection: Connection, plan: Plan, *, due_at: datetime | None = None, test: bool = False
) -> RunId | None:
    """Open a run for a plan, inside a transaction; None when this firing has been opened before.

    A test is sent whatever the hour, since the person who asked for it is there. A firing that may have been made
    before a restore opens paused, for a person to decide.
    """
    reminder, now = plan.reminder, plan.kept.now
    window = Window(0, 24, reminder.window.zone) if test else reminder.window
    opening = first_opening(window, now, late=reminder.policies.when_fired_late)
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
            finishes_begun=reminder.policies.begun_target is Begun.FINISH,
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
        await _yield_older(connection, plan, run)
    if opening.closes <= now or not plan.sends:
        await settle(connection, run)
    return run


async def _yield_older(connection: Connection, plan: Plan, newest: RunId) -> None:
    """Where the operator wants it so, groups that an older firing has not reached get the new one only."""
    overlapping = plan.reminder.policies.when_overlapping
    if overlapping is WhenOverlapping.QUEUE:
        return
    for run in await runs.open_of(connection, plan.kept.account):
        if run.reminder == plan.kept.id and run.id < newest and not run.test:
            await run_parts.skip_pending(connection, run.id, REPLACED, begun=overlapping is WhenOverlapping.SKIP_OLD)
            await settle(connection, run.id)


async def refuse(connection: Connection, kept: KeptReminder, due_at: datetime, problem: BadInput) -> None:
    """A firing that cannot be planned is on record as a run that failed, with the reason; nothing is sent."""
    always = Window(0, 24, zone_named("UTC"))
    number = await open_run(
        connection,
        NewRun(
            reminder=kept.id,
            name=kept.name,
            account=kept.account,
            test=False,
            due_at=due_at,
            window=always,
            opening=Opening(kept.now, kept.now),
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
        await run_moves.end(connection, run, Summary(RunStatus.FAILED, str(problem)), Counter())
