"""Each log line that operators of the seed look for, as they know it."""

from __future__ import annotations

import pytest

from tidegate.history import backfill_log as lines
from tidegate.history.rules.backfill_plan import HistoryDepth

TARGET, ALL = HistoryDepth(messages=50_000), HistoryDepth()


@pytest.mark.parametrize(
    ("line", "seed"),
    [
        (lines.found(7), "[on_ready] Found 7 channels to backfill"),
        (lines.starting(7, 2), "[Backfill] Starting background backfill for 7 channels with concurrency 2."),
        (lines.catching_up("general", 99), "[Backfill] ↑ Catching up general (after ID 99)..."),
        (lines.caught_up(3), "[Backfill] ✓ Caught up 3 new messages."),
        (lines.failed_catching_up("no"), "[Backfill] Error catching up: no"),
        (lines.first_fetch("general"), "[Backfill] ⚡ No existing data for general. Performing initial fetch..."),
        (
            lines.deepening("general", 2, 20_000, TARGET),
            "[Backfill] ↓ general iteration 2: 20000/50000 (need 30000 more)",
        ),
        (lines.deepening("general", 2, 20_000, ALL), "[Backfill] ↓ general iteration 2: 20000/all (down to the first)"),
        (lines.failed_batch("no"), "[Backfill] Error in parallel batch: no"),
        (lines.fetched(300), "[Backfill]   → Fetched 300 older messages"),
        (lines.progress(20_000, TARGET), "[Backfill]   ✓ Progress: 20000/50000 (40%)"),
        (lines.progress(20_000, ALL), "[Backfill]   ✓ Progress: 20000/all"),
        (
            lines.fully_backfilled("general"),
            "[Backfill] No older messages found for general. Marking as fully backfilled.",
        ),
        (
            lines.completed("general", 50_000, TARGET, 300),
            "[Backfill] ✓ Completed general: 50000/50000 (100%) - Fetched 300 messages",
        ),
        (
            lines.deep_enough("general", 50_000, TARGET),
            "[Backfill] ✓ Channel general: 50000/50000 messages. Nothing to backfill.",
        ),
        (lines.failed("general", 5, "no"), "[Backfill] Failed for channel general (5): no"),
        (lines.summary(6, 7), "[Backfill] Summary: 6/7 channels successful, 1 failed"),
        (lines.reconcile_starting(200), "[on_ready] Starting post-backfill message sync (last 200 messages)..."),
        (lines.RECONCILE_COMPLETED, "[on_ready] Message sync completed"),
    ],
)
def test_the_line_is_the_one_operators_know(line: str, seed: str) -> None:
    """The log has the words of the seed."""
    assert line == seed
