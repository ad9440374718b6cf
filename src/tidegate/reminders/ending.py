"""How a run comes to rest: its window closed, only unknown parts are left, or nothing is; and what is said then."""

from __future__ import annotations

from collections import Counter

from tidegate.rules.delivering import (
    WINDOW_CLOSED,
    Ending,
    RunState,
    TargetState,
    is_at_capacity,
    sum_up,
)
from tidegate.spans import span_text
from tidegate.store import run_moves, run_parts, runs
from tidegate.store.database import Connection
from tidegate.store.runs import Run
from tidegate.words import RunId

CANCELLED = "cancelled"
"""The error of a target that a person's word left out."""


async def settle(connection: Connection, number: RunId) -> None:
    """Move a run on when it has nothing to send at the moment; call inside a transaction.

    A window that has closed leaves out what is not begun, or has it wait for the next one. What is in flight is waited
    for. A run whose rest is unknown waits for a receipt or a person; one with no rest at all ends.
    """
    run = await runs.find(connection, number, lock=True)
    if run.state not in (RunState.RUNNING, RunState.WAITING):
        return
    await _leave_out(connection, run)
    counts = (await runs.counts(connection, [run.id]))[run.id]
    if counts[TargetState.SENDING]:
        return
    if counts[TargetState.PENDING]:
        await _look_ahead(connection, run)
    elif counts[TargetState.UNKNOWN] and run.cancelled_at is None:
        await run_moves.need_attention(connection, run)
    else:
        await _end(connection, run, counts)


async def _leave_out(connection: Connection, run: Run) -> None:
    """Skip what will not be sent any more."""
    if run.cancelled_at is not None:
        await run_parts.skip_pending(connection, run.id, CANCELLED)
    elif run.now >= run.opening.closes and not run.resumes_next:
        await run_parts.skip_pending(connection, run.id, WINDOW_CLOSED, begun=run.is_shut)


async def _look_ahead(connection: Connection, run: Run) -> None:
    """Wait for the window, begin when it opens, and wait for the next one when it has closed on the rest."""
    if run.now < run.opening.opens:
        if run.state is RunState.RUNNING:
            await run_moves.wait_for(connection, run, run.opening)
    elif run.now >= run.opening.closes:
        if run.is_shut or not await run_parts.has_begun(connection, run.id):
            await run_moves.wait_for(connection, run, run.window.next(run.now))
    elif run.state is RunState.WAITING:
        await run_moves.begin(connection, run)


async def _end(connection: Connection, run: Run, counts: Counter[TargetState]) -> None:
    ending = Ending.ALL_TRIED
    if run.cancelled_at is not None:
        ending = Ending.CANCELLED
    elif await run_parts.was_left_out(connection, run.id, WINDOW_CLOSED):
        ending = Ending.WINDOW_CLOSED
    used_up, cause = await _why_short(connection, run) if ending is Ending.WINDOW_CLOSED else (False, "")
    summary = sum_up(counts, ending, run.window, at_capacity=used_up, cause=cause)
    await run_moves.end(connection, run, summary, counts)


async def _why_short(connection: Connection, run: Run) -> tuple[bool, str]:
    """Whether the pace was what kept a run from getting further, and if not, a sentence about what did."""
    if run.began_at is None:
        return False, ""
    claimed, gap = await runs.sends_meanwhile(connection, run)
    open_for = run.opening.closes - run.began_at - run.paused_for
    if is_at_capacity(claimed, max(open_for // gap, 1)):
        return True, ""
    if run.paused_for:
        return False, f"It was paused for {span_text(run.paused_for)}."
    return False, "For a part of the time the account was not served, or its platform asked it to wait."
