"""The log lines of a backfill, as operators of the seed search for them (seed 001)."""

from __future__ import annotations

from tidegate.core.ids import ChannelId
from tidegate.history.rules.backfill_plan import HistoryDepth

TAG = "[Backfill]"
RULE = f"{TAG} {'═' * 39}"


def found(channels: int) -> str:
    return f"[on_ready] Found {channels} channels to backfill"


def starting(channels: int, concurrency: int | None) -> str:
    """As in the seed; without a number of the operator's, as many are read at once as limits allow."""
    at_once = "by load" if concurrency is None else concurrency
    return f"{TAG} Starting background backfill for {channels} channels with concurrency {at_once}."


def catching_up(title: str, newest: int) -> str:
    return f"{TAG} ↑ Catching up {title} (after ID {newest})..."


def caught_up(messages: int) -> str:
    """Without the seed's total: pages are counted, and messages that came live are in none."""
    return f"{TAG} ✓ Caught up {messages} new messages."


def first_fetch(title: str) -> str:
    return f"{TAG} ⚡ No existing data for {title}. Performing initial fetch..."


def deepening(title: str, iteration: int, depth: int, wanted: HistoryDepth) -> str:
    """As in the seed; where all of a history is wanted the number still needed is unknown."""
    needed = "down to the first" if wanted.messages is None else f"need {max(wanted.messages - depth, 0)} more"
    return f"{TAG} ↓ {title} iteration {iteration}: {_of(depth, wanted)} ({needed})"


def fetched(messages: int) -> str:
    return f"{TAG}   → Fetched {messages} older messages"


def progress(depth: int, wanted: HistoryDepth) -> str:
    return f"{TAG}   ✓ Progress: {_of(depth, wanted)}{_percent(depth, wanted)}"


def completed(title: str, depth: int, wanted: HistoryDepth, messages: int) -> str:
    return f"{TAG} ✓ Completed {title}: {_of(depth, wanted)}{_percent(depth, wanted)} - Fetched {messages} messages"


def fully_backfilled(title: str) -> str:
    """Only after the platform itself has said that nothing older exists."""
    return f"{TAG} No older messages found for {title}. Marking as fully backfilled."


def deep_enough(title: str, depth: int, wanted: HistoryDepth) -> str:
    """Where the seed skipped at 90 %, this is logged at the whole target, and never instead of catching up."""
    return f"{TAG} ✓ Channel {title}: {_of(depth, wanted)} messages. Nothing to backfill."


def failed_batch(problem: object) -> str:
    return f"{TAG} Error in parallel batch: {problem}"


def failed_catching_up(problem: object) -> str:
    return f"{TAG} Error catching up: {problem}"


def failed(title: str, channel: ChannelId, problem: object) -> str:
    return f"{TAG} Failed for channel {title} ({channel}): {problem}"


def summary(succeeded: int, channels: int) -> str:
    return f"{TAG} Summary: {succeeded}/{channels} channels successful, {channels - succeeded} failed"


def reconcile_starting(newest: int) -> str:
    return f"[on_ready] Starting post-backfill message sync (last {newest} messages)..."


RECONCILE_COMPLETED = "[on_ready] Message sync completed"


def _of(depth: int, wanted: HistoryDepth) -> str:
    return f"{depth}/{'all' if wanted.messages is None else wanted.messages}"


def _percent(depth: int, wanted: HistoryDepth) -> str:
    return "" if wanted.messages is None else f" ({min(100, depth * 100 // wanted.messages)}%)"
