"""How a run ended, and the sentence about it."""

from __future__ import annotations

from collections import Counter
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.reminders.rules.run_summary import LeftOutReason, RunStatus, is_at_capacity, sum_up
from tidegate.reminders.rules.send_states import SendState

WINDOW = SendWindow(6, 18, ZoneInfo("Asia/Kuala_Lumpur"))

tallies = st.dictionaries(st.sampled_from(SendState), st.integers(0, 1_000), min_size=1).map(Counter)


def test_the_sentence_is_the_seeds_when_the_pace_was_to_blame():
    """Operators know these words; they stay as they were."""
    counts = Counter({SendState.SENT: 412, SendState.SKIPPED: 588})
    summary = sum_up(counts, LeftOutReason.WINDOW_CLOSED, WINDOW, at_capacity=True)
    assert summary.status is RunStatus.PARTIAL
    assert summary.sentence == (
        "Delivery window closed at 18:00 (Asia/Kuala_Lumpur). 412 of 1000 groups delivered. This account is at "
        "capacity for this fan-out — consider sending the remainder from another paired account."
    )


def test_another_cause_gets_its_own_sentence():
    """Who paused the run all afternoon is not told that the account is at capacity."""
    counts = Counter({SendState.SENT: 412, SendState.SKIPPED: 588})
    told = sum_up(counts, LeftOutReason.WINDOW_CLOSED, WINDOW, cause="The run was paused for 3 hours of it.").sentence
    assert told.endswith("412 of 1000 groups delivered. The run was paused for 3 hours of it.")
    assert "capacity" not in told


def test_a_success_needs_no_sentence_and_a_failure_is_counted():
    """Whoever got everything reads nothing more, also when the window closed; failed groups are named by number."""
    assert sum_up(Counter({SendState.SENT: 9}), LeftOutReason.WINDOW_CLOSED, WINDOW).sentence == ""
    counts = Counter({SendState.SENT: 7, SendState.FAILED: 2})
    assert sum_up(counts, LeftOutReason.ALL_TRIED, WINDOW).sentence == "7 of 9 groups delivered. 2 failed."
    assert sum_up(counts, LeftOutReason.CANCELLED, WINDOW).sentence == "Cancelled. 7 of 9 groups delivered."
    told = sum_up(counts, LeftOutReason.ALL_TRIED, WINDOW, at_capacity=True, cause="It was paused.").sentence
    assert told == "7 of 9 groups delivered. 2 failed."


@given(counts=tallies, ending=st.sampled_from(LeftOutReason))
def test_the_status_says_what_arrived(counts, ending):
    """Success only when every target has it all; failed when none has; a cancelled run says so whatever arrived."""
    status = sum_up(counts, ending, WINDOW).status
    sent, total = counts[SendState.SENT], counts.total()
    if ending is LeftOutReason.CANCELLED:
        assert status is RunStatus.CANCELLED
    else:
        assert (status is RunStatus.SUCCESS) == (sent == total)
        assert (status is RunStatus.FAILED) == (sent == 0 and total > 0)


def test_capacity_is_the_cause_only_for_a_run_that_was_busy_all_the_time():
    """A run that stood still for half of its window was short of something else."""
    assert is_at_capacity(412, 420)
    assert [is_at_capacity(claimed, 1_000) for claimed in (899, 900, 901)] == [False, True, True]
    assert is_at_capacity(1, 1)
    assert not is_at_capacity(200, 420)
    assert not is_at_capacity(0, 0)
