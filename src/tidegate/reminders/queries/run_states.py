"""The state changes of a run: each names the state it expects and records its event in the same transaction.

Invariant: state-change-with-event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import timedelta

from tidegate.database.pool import Connection
from tidegate.events.event_data import EventData
from tidegate.events.kinds.reminders import ReminderFired
from tidegate.events.kinds.runs import RunHeld, RunNeedsAttention, RunPaused, RunResumed, RunRunning, RunWaiting
from tidegate.events.queries import feed
from tidegate.lanes.rules.send_hours import WindowDay
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.run_summary import RunState, RunSummary
from tidegate.reminders.rules.send_states import SendState


async def begin(connection: Connection, run: Run) -> None:
    """The window a run waits for has opened."""
    await _move(connection, run, RunState.RUNNING, RunRunning(run=run.id), expected=[RunState.WAITING])


async def wait_for(connection: Connection, run: Run, opening: WindowDay) -> None:
    """Continue in another window."""
    await connection.execute(
        "UPDATE runs SET opens_at = $2, closes_at = $3 WHERE id = $1", run.id, opening.opens, opening.closes
    )
    waiting = RunWaiting(run=run.id, opens_at=opening.opens)
    await _move(connection, run, RunState.WAITING, waiting, expected=[RunState.RUNNING, RunState.WAITING])


async def need_attention(connection: Connection, run: Run) -> None:
    """Only unknown parts are left, and the operator wants to decide about them."""
    unclear = RunNeedsAttention(run=run.id)
    await _move(connection, run, RunState.NEEDS_ATTENTION, unclear, expected=[RunState.RUNNING])


async def hold(connection: Connection, run: Run, wait: timedelta, cause: str) -> None:
    """Claim nothing for a run for that long, because of *cause*; the event is recorded once for the same cause."""
    held = await connection.fetchrow(
        """
        UPDATE runs SET held_until = clock_now() + $2, cause = $3 WHERE id = $1 AND state = 'running'
        RETURNING held_until
        """,
        run.id, wait, cause,
    )  # fmt: skip
    if held is not None and run.cause != cause:
        await feed.record(connection, run.name, RunHeld(run=run.id, cause=cause, until=held["held_until"]))


async def release(connection: Connection, run: Run) -> None:
    """The cause that held a run is over."""
    await connection.execute(
        "UPDATE runs SET held_until = NULL, cause = '' WHERE id = $1 AND state = 'running' AND cause <> ''", run.id
    )


async def end(connection: Connection, run: Run, summary: RunSummary, states: Counter[SendState]) -> bool:
    """End a run with its summary and its event; False when it had ended."""
    kept = {state.value: states[state] for state in SendState}
    ended = await connection.fetchval(
        """
        UPDATE runs
        SET state = 'ended', status = $2, error_summary = $3, counts = $4, paused_by = NULL, held_until = NULL,
            cause = '', ended_at = clock_now()
        WHERE id = $1 AND state <> 'ended'
        RETURNING true
        """,
        run.id, summary.status.value, summary.sentence, kept,
    )  # fmt: skip
    if not ended:
        return False
    body = f"{states[SendState.SENT]} of {states.total()} delivered"
    status, sentence = summary.status.value, summary.sentence
    fired = ReminderFired(run=run.id, status=status, body=body, summary=sentence, test=run.test, counts=kept)
    await feed.record(connection, run.name, fired)
    return True


async def _move(
    connection: Connection, run: Run, state: RunState, event: EventData, *, expected: Collection[RunState]
) -> bool:
    moved = await connection.fetchval(
        "UPDATE runs SET state = $2 WHERE id = $1 AND state = ANY($3) RETURNING true",
        run.id, state.value, [one.value for one in expected],
    )  # fmt: skip
    if moved:
        await feed.record(connection, run.name, event)
    return bool(moved)


# What people ask for


async def pause(connection: Connection, run: Run, *, by: str = "person", cause: str = "") -> bool:
    """Claim nothing more for a run until a person resumes it; False when it is paused or has ended."""
    paused = await connection.fetchval(
        """
        UPDATE runs SET state = 'paused', paused_by = $2, paused_at = clock_now(), cause = $3, held_until = NULL
        WHERE id = $1 AND state IN ('running', 'waiting', 'needs_attention') AND cancelled_at IS NULL
        RETURNING true
        """,
        run.id, by, cause,
    )  # fmt: skip
    if paused:
        await feed.record(connection, run.name, RunPaused(run=run.id, by=by, cause=cause))
    return bool(paused)


async def resume(connection: Connection, run: Run) -> bool:
    """Resume a paused run; False when it is not paused."""
    resumed = await connection.fetchval(
        """
        UPDATE runs
        SET state = 'running', paused_by = NULL, paused_at = NULL, cause = '', held_until = NULL,
            paused_for = paused_for + greatest(least(clock_now(), closes_at) - greatest(paused_at, opens_at), '0')
        WHERE id = $1 AND state = 'paused'
        RETURNING true
        """,
        run.id,
    )
    if resumed:
        await feed.record(connection, run.name, RunResumed(run=run.id))
    return bool(resumed)


async def reopen(connection: Connection, run: Run) -> None:
    """Something of a run that needed a person is resolved: the account's worker continues or ends it."""
    await _move(connection, run, RunState.RUNNING, RunRunning(run=run.id), expected=[RunState.NEEDS_ATTENTION])


async def note_cancelled(connection: Connection, run: Run) -> None:
    """A person cancels this run; it ends when nothing of it is in flight."""
    await connection.execute(
        """
        UPDATE runs
        SET state = 'running', cancelled_at = clock_now(), paused_by = NULL, paused_at = NULL, cause = '',
            held_until = NULL
        WHERE id = $1 AND state <> 'ended' AND cancelled_at IS NULL
        """,
        run.id,
    )


async def set_everything_paused(connection: Connection, *, on: bool) -> None:
    """Open new runs paused from now on, or no longer."""
    await connection.execute(
        "UPDATE house SET runs_paused_at = CASE WHEN $1 THEN coalesce(runs_paused_at, clock_now()) END", on
    )


async def everything_is_paused(connection: Connection) -> bool:
    """Whether a person has paused every run."""
    paused: bool = await connection.fetchval("SELECT runs_paused_at IS NOT NULL FROM house")
    return paused


async def pause_open(connection: Connection, *, by: str) -> None:
    """Pause every open run at once, as after a restore: its last sends may be missing from the backup."""
    await connection.execute(
        "UPDATE runs SET state = 'paused', paused_by = $1, paused_at = clock_now() "
        "WHERE state NOT IN ('ended', 'paused')",
        by,
    )
