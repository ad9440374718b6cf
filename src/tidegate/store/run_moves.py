"""The moves of a run: each names the state it expects, and is told in the same transaction (law 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from tidegate.rules.delivering import RunState, Summary, TargetState
from tidegate.rules.window import Opening
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.store.runs import Run


async def begin(connection: Connection, run: Run) -> None:
    """The window a run waits for has opened."""
    await _move(connection, run, RunState.RUNNING, expected=[RunState.WAITING])


async def wait_for(connection: Connection, run: Run, opening: Opening) -> None:
    """Go on in another window."""
    await connection.execute(
        "UPDATE runs SET opens_at = $2, closes_at = $3 WHERE id = $1", run.id, opening.opens, opening.closes
    )
    told = {"opens_at": opening.opens.isoformat()}
    await _move(connection, run, RunState.WAITING, expected=[RunState.RUNNING, RunState.WAITING], told=told)


async def need_attention(connection: Connection, run: Run) -> None:
    """All that is left is unknown, and the operator wants to decide about it."""
    await _move(connection, run, RunState.NEEDS_ATTENTION, expected=[RunState.RUNNING])


async def end(connection: Connection, run: Run, summary: Summary, states: Counter[TargetState]) -> bool:
    """End a run with its summary and tell of it; False when it had ended."""
    kept = {state.value: states[state] for state in TargetState}
    ended = await connection.fetchval(
        """
        UPDATE runs
        SET state = 'ended', status = $2, error_summary = $3, counts = $4, paused_by = NULL, ended_at = clock_now()
        WHERE id = $1 AND state <> 'ended'
        RETURNING true
        """,
        run.id, summary.status.value, summary.sentence, kept,
    )  # fmt: skip
    if not ended:
        return False
    body = f"{states[TargetState.SENT]} of {states.total()} delivered"
    told = {"run": run.id, "status": summary.status.value, "body": body, "summary": summary.sentence, "test": run.test}
    await feed.record(connection, "reminder.fired", run.name, {**told, "counts": kept})
    return True


async def _move(
    connection: Connection,
    run: Run,
    state: RunState,
    *,
    expected: Collection[RunState],
    told: Mapping[str, Any] | None = None,
) -> bool:
    moved = await connection.fetchval(
        "UPDATE runs SET state = $2 WHERE id = $1 AND state = ANY($3) RETURNING true",
        run.id, state.value, [one.value for one in expected],
    )  # fmt: skip
    if moved:
        await feed.record(connection, f"run.{state.value}", run.name, {"run": run.id, **(told or {})})
    return bool(moved)


# What people want


async def pause(connection: Connection, run: Run, *, by: str = "person") -> bool:
    """Make no further claim for a run until somebody resumes it; False when it is paused or has ended."""
    paused = await connection.fetchval(
        """
        UPDATE runs SET state = 'paused', paused_by = $2, paused_at = clock_now()
        WHERE id = $1 AND state IN ('running', 'waiting', 'needs_attention') AND cancelled_at IS NULL
        RETURNING true
        """,
        run.id, by,
    )  # fmt: skip
    if paused:
        await feed.record(connection, "run.paused", run.name, {"run": run.id, "by": by})
    return bool(paused)


async def resume(connection: Connection, run: Run) -> bool:
    """Go on with a run that is paused; False when it is not."""
    resumed = await connection.fetchval(
        """
        UPDATE runs
        SET state = 'running', paused_by = NULL, paused_at = NULL,
            paused_for = paused_for + greatest(least(clock_now(), closes_at) - greatest(paused_at, opens_at), '0')
        WHERE id = $1 AND state = 'paused'
        RETURNING true
        """,
        run.id,
    )
    if resumed:
        await feed.record(connection, "run.resumed", run.name, {"run": run.id})
    return bool(resumed)


async def reopen(connection: Connection, run: Run) -> None:
    """Something of a run that needed a person is settled: whoever serves the account goes on, or ends it."""
    await _move(connection, run, RunState.RUNNING, expected=[RunState.NEEDS_ATTENTION])


async def note_cancelled(connection: Connection, run: Run) -> None:
    """A person wants no more of this run; it ends when nothing of it is in flight."""
    await connection.execute(
        """
        UPDATE runs SET state = 'running', cancelled_at = clock_now(), paused_by = NULL, paused_at = NULL
        WHERE id = $1 AND state <> 'ended' AND cancelled_at IS NULL
        """,
        run.id,
    )


async def set_everything_paused(connection: Connection, *, on: bool) -> None:
    """Have runs that open from now on open paused, or no longer."""
    await connection.execute(
        "UPDATE house SET runs_paused_at = CASE WHEN $1 THEN coalesce(runs_paused_at, clock_now()) END", on
    )


async def everything_is_paused(connection: Connection) -> bool:
    """Whether a person has stopped every run."""
    paused: bool = await connection.fetchval("SELECT runs_paused_at IS NOT NULL FROM house")
    return paused


async def pause_open(connection: Connection, *, by: str) -> None:
    """Pause every open run at once, as after a restore: what it knows of its last sends may be old."""
    await connection.execute(
        "UPDATE runs SET state = 'paused', paused_by = $1, paused_at = clock_now() "
        "WHERE state NOT IN ('ended', 'paused')",
        by,
    )
