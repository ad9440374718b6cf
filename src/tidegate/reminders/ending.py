"""How a run comes to rest: its window closed, only unknown parts are left, or nothing is; and what is said then."""

from __future__ import annotations

from collections import Counter

from tidegate.rules.capacity import Supply
from tidegate.rules.delivering import (
    WINDOW_CLOSED,
    Ending,
    RunState,
    TargetState,
    is_at_capacity,
    sum_up,
)
from tidegate.rules.pacing import Caps, Pace
from tidegate.rules.window import Opening
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
    left_out = await run_parts.left_out(connection, run.id, WINDOW_CLOSED)
    ending = Ending.WINDOW_CLOSED if left_out else Ending.ALL_TRIED
    if run.cancelled_at is not None:
        ending = Ending.CANCELLED
    used_up, cause = await _why_short(connection, run, left_out) if ending is Ending.WINDOW_CLOSED else (False, "")
    summary = sum_up(counts, ending, run.window, at_capacity=used_up, cause=cause)
    await run_moves.end(connection, run, summary, counts)


async def _why_short(connection: Connection, run: Run, left_out: int) -> tuple[bool, str]:
    """Whether the pace was what kept a run from getting further, and if not, a sentence about what did.

    A pause is the cause where without it everything would have been sent.
    """
    since, closes = run.could_send_from, run.opening.closes
    spent = await runs.spent_meanwhile(connection, run)
    if since >= closes or spent is None:
        return False, ""
    supply = Supply(Pace(spent.rate), Caps(per_hour=spent.per_hour))
    fits = spent.sends + left_out <= supply.within(Opening(since, closes))
    if run.paused_for and fits:
        return False, f"It was paused for {span_text(run.paused_for)}."
    if is_at_capacity(spent.sends, max(supply.within(Opening(since + run.paused_for, closes)), 1)):
        return True, ""
    if spent.per_day is not None and is_at_capacity(spent.in_a_day, spent.per_day):
        return True, ""
    return False, "For a part of the time the account was not served, or its platform asked it to wait."
