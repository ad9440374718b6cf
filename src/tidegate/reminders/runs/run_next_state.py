"""The next state of a run that has nothing to send: it waits for a window, needs attention, or ends with a summary."""

from __future__ import annotations

from collections import Counter

from tidegate.core.durations import span_text
from tidegate.core.ids import RunId
from tidegate.database.pool import Connection
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.send_caps import Caps
from tidegate.lanes.rules.send_estimate import SendSupply
from tidegate.lanes.rules.send_hours import WindowDay
from tidegate.reminders.queries import run_parts, run_states, runs
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.run_summary import WINDOW_CLOSED, LeftOutReason, RunState, is_at_capacity, sum_up
from tidegate.reminders.rules.send_states import SendState

CANCELLED = "cancelled"
"""The error of a target that a person cancelled."""


async def advance(connection: Connection, number: RunId) -> None:
    """Change the state of a run that has nothing to send at the moment; call inside a transaction.

    When the window has closed, targets that have not begun are skipped or wait for the next one. Parts in flight are
    waited for. A run with only unknown parts left waits for an arrival or a person. A run with nothing left ends.
    """
    run = await runs.find(connection, number, lock=True)
    if run.state not in (RunState.RUNNING, RunState.WAITING):
        return
    if run.cancelled_at is not None:
        await run_parts.skip_pending(connection, run.id, CANCELLED)
    elif run.now >= run.opening.closes and not run.resumes_next:
        await run_parts.skip_pending(connection, run.id, WINDOW_CLOSED, begun=run.is_shut)
    counts = (await runs.counts(connection, [run.id]))[run.id]
    if counts[SendState.SENDING]:
        return
    if counts[SendState.PENDING]:
        await _wait_or_begin(connection, run)
    elif counts[SendState.UNKNOWN] and run.cancelled_at is None:
        await run_states.need_attention(connection, run)
    else:
        await _end(connection, run, counts)


async def _wait_or_begin(connection: Connection, run: Run) -> None:
    """Wait for the window, begin when it opens, and wait for the next one when it has closed."""
    if run.now < run.opening.opens:
        if run.state is RunState.RUNNING:
            await run_states.wait_for(connection, run, run.opening)
    elif run.now >= run.opening.closes:
        if run.is_shut or not await run_parts.has_begun(connection, run.id):
            await run_states.wait_for(connection, run, run.window.next(run.now))
    elif run.state is RunState.WAITING:
        await run_states.begin(connection, run)


async def _end(connection: Connection, run: Run, counts: Counter[SendState]) -> None:
    left_out = await run_parts.left_out(connection, run.id, WINDOW_CLOSED)
    ending = LeftOutReason.WINDOW_CLOSED if left_out else LeftOutReason.ALL_TRIED
    if run.cancelled_at is not None:
        ending = LeftOutReason.CANCELLED
    used_up, cause = (
        await _why_short(connection, run, left_out) if ending is LeftOutReason.WINDOW_CLOSED else (False, "")
    )
    summary = sum_up(counts, ending, run.window, at_capacity=used_up, cause=cause)
    await run_states.end(connection, run, summary, counts)


async def _why_short(connection: Connection, run: Run, left_out: int) -> tuple[bool, str]:
    """Whether the pace limited a run, and if not, a sentence about what did.

    A pause is the cause where everything would have been sent without it.
    """
    since, closes = run.could_send_from, run.opening.closes
    spent = await runs.spent_meanwhile(connection, run)
    if since >= closes or spent is None:
        return False, ""
    supply = SendSupply(Pace(spent.rate), Caps(per_hour=spent.per_hour))
    fits = spent.sends + left_out <= supply.within(WindowDay(since, closes))
    if run.paused_for and fits:
        return False, f"It was paused for {span_text(run.paused_for)}."
    if is_at_capacity(spent.sends, max(supply.within(WindowDay(since + run.paused_for, closes)), 1)):
        return True, ""
    if spent.per_day is not None and is_at_capacity(spent.in_a_day, spent.per_day):
        return True, ""
    return False, "For a part of the time the account was not served, or its platform asked it to wait."
