"""Which verdict a channel or topic gets, and what is remembered of it (scenarios A, C and I of the scans)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scans.rules.scan_memories import MINUTE, NOON, counts, memories
from tidegate.channels.rules.cold_turns import free_offsets
from tidegate.scans.rules.scan_decision import (
    INDEX_LAG,
    SKIPS,
    GateChange,
    ScanMemory,
    ScanOutcome,
    ScanPolicy,
    Verdict,
    after_scan,
    cycles_until_turn,
    decide_scan,
    is_truly_idle,
    judge_change,
    judge_topic,
    search_above,
    takes_turn,
    verdict_after_gate,
)

SECOND = timedelta(seconds=1)
POLICY = ScanPolicy()
IDLE = ScanMemory(last_scanned_at=NOON - 60 * MINUTE, watermark=500, newest_seen=510, changes=900)
NOT_ITS_TURN = 3

outcomes = st.builds(
    ScanOutcome,
    complete=st.booleans(),
    newest=st.none() | counts,
    changes=st.none() | st.integers(1, 400),
    archives_found=st.integers(0, 2),
    archives_failed=st.integers(0, 2),
    failures_pending=st.integers(0, 2),
    by_search=st.booleans(),
)


def decide(memory: ScanMemory, turn: int = NOT_ITS_TURN) -> Verdict:
    return decide_scan(memory, POLICY, now=NOON, turn=turn)


class TestVerdicts:
    def test_s01_a_place_never_scanned_is_scanned(self) -> None:
        """S-01: new places wait for nothing, and even an empty first scan is remembered."""
        assert decide(ScanMemory()) is Verdict.FIRST
        stored = after_scan(ScanMemory(), ScanOutcome(complete=True, newest=7), now=NOON)
        assert (stored.last_scanned_at, stored.consecutive_empty_scans, stored.watermark) == (NOON, 1, 7)

    def test_s02_a_restart_skips_what_was_just_scanned_and_idle(self) -> None:
        """S-02: a minute after a clean cycle the memory is all that is asked."""
        assert decide(replace(IDLE, last_scanned_at=NOON - MINUTE)) is Verdict.FRESH
        assert Verdict.FRESH == "skip: recently scanned and idle"

    def test_s03_a_find_a_minute_ago_does_not_count_as_idle(self) -> None:
        """S-03: where something was found, more may follow."""
        assert decide(replace(IDLE, last_scanned_at=NOON - MINUTE, last_scan_found_archives=True)) is Verdict.GATE

    def test_s04_a_due_failure_outranks_the_window(self) -> None:
        """S-04: the reason names the failure."""
        assert decide(replace(IDLE, last_scanned_at=NOON - MINUTE, failures_to_retry=1)) is Verdict.RETRY
        assert "failed archives" in Verdict.RETRY

    def test_s05_the_window_is_strictly_less_than_its_length(self) -> None:
        """S-05: exactly five minutes later the place is looked at."""
        scanned = replace(IDLE, last_scanned_at=NOON - POLICY.fresh_for)
        assert decide(scanned) is Verdict.GATE
        just_under = replace(IDLE, last_scanned_at=NOON - POLICY.fresh_for + timedelta(microseconds=1))
        assert decide(just_under) is Verdict.FRESH

    @pytest.mark.parametrize(
        ("empty_scans", "turn", "verdict"),
        [(4, NOT_ITS_TURN, Verdict.GATE), (5, NOT_ITS_TURN, Verdict.COLD), (5, 10, Verdict.GATE)],
        ids=["S-06 not yet cold", "S-07 cold, not its turn", "S-08 cold, its turn"],
    )
    def test_cold_places_take_turns(self, empty_scans: int, turn: int, verdict: Verdict) -> None:
        """S-06, S-07, S-08: five empty scans make a place cold; then every fifth cycle is its own."""
        assert decide(replace(IDLE, consecutive_empty_scans=empty_scans), turn) is verdict

    def test_s12_a_wish_is_granted_a_minute_after_a_scan(self) -> None:
        """S-12: the operator's own wish is not answered with a saving."""
        asked = replace(IDLE, last_scanned_at=NOON - MINUTE, consecutive_empty_scans=47, asked=True)
        assert decide(asked) is Verdict.ASKED
        assert Verdict.ASKED == "scan: asked by hand"

    def test_s36_a_retry_by_hand_is_seen_in_the_coldest_place(self) -> None:
        """S-36: 47 empty scans and a scan a minute ago hide no failure that a person asked for."""
        cold = replace(IDLE, last_scanned_at=NOON - MINUTE, consecutive_empty_scans=47, failures_to_retry=1)
        assert decide(cold) is Verdict.RETRY

    def test_a_failure_that_rests_keeps_its_place_awake(self) -> None:
        """Below the cap and not yet due it forces no scan, but neither window nor coldness applies."""
        for place in (replace(IDLE, last_scanned_at=NOON - MINUTE), replace(IDLE, consecutive_empty_scans=47)):
            assert decide(place) in SKIPS
            assert decide(replace(place, failures_pending=1)) is Verdict.GATE

    def test_s46_a_place_nobody_can_read_says_so(self) -> None:
        """S-46: it is shown, not silently skipped."""
        assert decide(ScanMemory(readable=False, failures_to_retry=1)) is Verdict.UNREADABLE

    @pytest.mark.parametrize("ahead", [timedelta(microseconds=1), timedelta(hours=1), timedelta(days=400)])
    def test_s73_a_scan_in_the_future_hides_nothing(self, ahead: timedelta) -> None:
        """S-73: after the clock stepped back the age is negative, which is no proof of freshness."""
        assert decide(replace(IDLE, last_scanned_at=NOON + ahead)) is Verdict.GATE

    def test_the_keys_are_those_that_scripts_count(self) -> None:
        """The contract names ten verdicts."""
        keys = "retry first fresh cold gate unchanged changed unknown asked unreadable"
        assert {verdict.key for verdict in Verdict} == set(keys.split())

    @given(memory=memories, turn=st.integers(0, 1_000))
    def test_a_pending_failure_is_never_skipped(self, memory: ScanMemory, turn: int) -> None:
        """due-failure-never-skipped: no saving may hide a failure that could still succeed."""
        assert not (memory.failures_to_retry and decide(memory, turn) in SKIPS)

    @given(memory=memories, turn=st.integers(0, 1_000))
    def test_what_is_not_idle_is_never_skipped(self, memory: ScanMemory, turn: int) -> None:
        """A skip needs a scan in the past, nobody asking, and no failure that may yet succeed."""
        if decide(memory, turn) in SKIPS:
            assert memory.last_scanned_at is not None
            assert (memory.asked, memory.failures_pending, memory.failures_to_retry) == (False, 0, 0)

    def test_habits_refuse_what_would_starve_a_place(self) -> None:
        """A turn every zero cycles never comes."""
        with pytest.raises(ValueError, match="count from 1"):
            ScanPolicy(cold_every_nth_cycle=0)


class TestTurns:
    def test_s09_each_cold_topic_has_its_turn_once_in_five_cycles(self) -> None:
        """S-09: no herd, no cycle above its share of 1,086 topics."""
        cold = replace(IDLE, consecutive_empty_scans=47)
        turns = Counter(
            cycle
            for offset in free_offsets([], 1_086)
            for cycle in range(100, 105)
            if takes_turn(cold, POLICY, now=NOON, turn=cycle + offset)
        )
        assert sum(turns.values()) == 1_086
        assert max(turns.values()) <= 218

    def test_s58_restarts_do_not_starve_a_cold_topic(self) -> None:
        """S-58: the cycle number is stored, so 20 cycles are four turns however often the worker restarts."""
        cold = replace(IDLE, consecutive_empty_scans=47)
        for offset in free_offsets([], 23):
            its = [cycle for cycle in range(20) if takes_turn(cold, POLICY, now=NOON, turn=cycle + offset)]
            assert len(its) == 4

    def test_a_fresh_place_lets_its_turn_pass(self) -> None:
        """S-57: a restart a minute after a clean cycle searches nothing, whosever turn it is."""
        cold = replace(IDLE, consecutive_empty_scans=47)
        assert takes_turn(cold, POLICY, now=NOON, turn=10)
        assert not takes_turn(replace(cold, last_scanned_at=NOON - MINUTE), POLICY, now=NOON, turn=10)

    @given(taken=st.sets(st.integers(0, 50)), wanted=st.integers(0, 60), every=st.integers(1, 12))
    def test_offsets_spread_evenly_whatever_the_turn(self, taken: set[int], wanted: int, every: int) -> None:
        """New places fill what was left free, so an account's offsets share any number of cycles evenly."""
        new = free_offsets(taken, wanted)
        assert len(set(new) - taken) == wanted
        if not taken:
            shares = Counter(offset % every for offset in new)
            assert max(shares.values(), default=0) <= -(-wanted // every)

    @given(empty_scans=counts, turn=st.integers(0, 1_000), every=st.integers(1, 9))
    def test_the_wait_for_a_turn_is_told_in_cycles(self, empty_scans: int, turn: int, every: int) -> None:
        """`channel show` says when a cold channel is next looked at: never later than the habit, and then it is."""
        cold, policy = replace(IDLE, consecutive_empty_scans=empty_scans), ScanPolicy(cold_every_nth_cycle=every)
        wait = cycles_until_turn(cold, policy, turn=turn)
        assert 0 <= wait < every
        assert decide_scan(cold, policy, now=NOON, turn=turn + wait) is Verdict.GATE
        assert all(decide_scan(cold, policy, now=NOON, turn=turn + n) is Verdict.COLD for n in range(wait))

    @given(memory=memories, turn=st.integers(0, 1_000))
    def test_a_turn_and_the_verdict_agree(self, memory: ScanMemory, turn: int) -> None:
        """What is skipped as cold or fresh has no turn."""
        if takes_turn(memory, POLICY, now=NOON, turn=turn):
            assert decide(memory, turn) not in SKIPS


class TestGate:
    @pytest.mark.parametrize("verdict", [Verdict.COLD, Verdict.FRESH, Verdict.GATE])
    def test_s10_a_reported_change_wakes_every_place(self, verdict: Verdict) -> None:
        """S-10: the gate covers all channels, and its word outranks fresh and cold."""
        change = judge_change(IDLE, changes=901, newest=511)
        assert verdict_after_gate(verdict, change) is Verdict.CHANGED
        assert Verdict.CHANGED == "gate: changed"

    @pytest.mark.parametrize("verdict", [Verdict.COLD, Verdict.FRESH, Verdict.GATE])
    def test_s11_a_channel_left_out_is_unknown(self, verdict: Verdict) -> None:
        """S-11: no answer is no proof, and never counts as idle."""
        change = judge_change(IDLE, changes=None, newest=None)
        assert change is GateChange.UNKNOWN
        assert verdict_after_gate(verdict, change) is Verdict.UNKNOWN
        assert not is_truly_idle(ScanOutcome(complete=False))

    def test_s13_an_equal_counter_means_unchanged(self) -> None:
        """S-13: scan time and empty counter move on, nothing else is asked."""
        change = judge_change(IDLE, changes=900, newest=510)
        assert verdict_after_gate(Verdict.GATE, change) is Verdict.UNCHANGED
        stored = after_scan(IDLE, ScanOutcome(complete=True, newest=510, changes=900), now=NOON)
        assert (stored.last_scanned_at, stored.consecutive_empty_scans, stored.changes) == (NOON, 1, 900)

    def test_a_skip_stays_a_skip_where_nothing_changed(self) -> None:
        """S-07: the reason an operator reads is the saving itself."""
        assert verdict_after_gate(Verdict.COLD, GateChange.UNCHANGED) is Verdict.COLD
        assert verdict_after_gate(Verdict.FRESH, GateChange.UNCHANGED) is Verdict.FRESH

    def test_s17_talk_that_was_seen_is_not_new(self) -> None:
        """S-17: the newest message may be text above the last archive."""
        talked = after_scan(IDLE, ScanOutcome(complete=True, newest=530, changes=905), now=NOON)
        assert judge_change(talked, changes=905, newest=530) is GateChange.UNCHANGED
        assert judge_topic(talked, 530) is GateChange.UNCHANGED

    def test_s18_a_deleted_head_is_nothing_new(self) -> None:
        """S-18: the top goes down; watermark and newest seen do not."""
        assert judge_topic(IDLE, 505) is GateChange.UNCHANGED
        stored = after_scan(IDLE, ScanOutcome(complete=True, newest=505, changes=901), now=NOON)
        assert (stored.newest_seen, stored.watermark) == (510, 510)

    def test_a_lower_counter_is_a_stale_answer(self) -> None:
        """S-74: an answer from the past proves nothing."""
        assert judge_change(IDLE, changes=899, newest=510) is GateChange.UNKNOWN

    def test_s72_a_topic_without_an_answer_is_unknown(self) -> None:
        """S-72: a missing field never means idle."""
        assert judge_topic(IDLE, None) is GateChange.UNKNOWN

    @given(memory=memories, changes=st.none() | st.integers(1, 400), newest=st.none() | counts)
    def test_only_an_equal_counter_is_unchanged(
        self, memory: ScanMemory, changes: int | None, newest: int | None
    ) -> None:
        """Null, missing, lower or merely quiet: all of it is less than the platform's word."""
        unchanged = judge_change(memory, changes=changes, newest=newest) is GateChange.UNCHANGED
        assert unchanged == (changes is not None and changes == memory.changes)

    @given(verdict=st.sampled_from(Verdict), change=st.sampled_from(GateChange))
    def test_the_gate_never_silences_a_reason_to_scan(self, verdict: Verdict, change: GateChange) -> None:
        """Retry, first and asked keep their reason; whatever is skipped was unchanged for certain."""
        settled = verdict_after_gate(verdict, change)
        if verdict in {Verdict.RETRY, Verdict.FIRST, Verdict.ASKED, Verdict.UNREADABLE}:
            assert settled is verdict
        if settled in SKIPS:
            assert change is GateChange.UNCHANGED
        assert settled is not Verdict.GATE


class TestAfterAScan:
    def test_s22_an_empty_scan_counts(self) -> None:
        """S-22: counter up, watermark at the newest id read before the scan."""
        stored = after_scan(IDLE, ScanOutcome(complete=True, newest=540, changes=930), now=NOON)
        assert (stored.consecutive_empty_scans, stored.watermark) == (1, 540)
        assert (stored.last_scan_found_archives, stored.changes) == (False, 930)

    @pytest.mark.parametrize(
        "outcome",
        [
            ScanOutcome(complete=True, newest=540, archives_found=1),
            ScanOutcome(complete=True, newest=540, archives_failed=1, failures_pending=1),
            ScanOutcome(complete=True, newest=540, failures_pending=1),
        ],
        ids=["S-23 found", "S-24 failed", "pending"],
    )
    def test_whatever_happened_wakes_the_place(self, outcome: ScanOutcome) -> None:
        """S-23, S-24: the counter is 0, and the watermark moves past a failure all the same."""
        stored = after_scan(replace(IDLE, consecutive_empty_scans=4), outcome, now=NOON)
        assert (stored.consecutive_empty_scans, stored.last_scan_found_archives, stored.watermark) == (0, True, 540)

    def test_s27_an_unfinished_walk_moves_nothing(self) -> None:
        """S-27: watermark, newest seen and counter stay, so the gate sends the next cycle back."""
        stored = after_scan(IDLE, ScanOutcome(complete=False, newest=540, changes=930, archives_found=2), now=NOON)
        assert (stored.watermark, stored.newest_seen, stored.changes) == (500, 510, 900)
        assert judge_change(stored, changes=930, newest=540) is GateChange.CHANGED

    def test_s20_the_counter_is_the_one_read_before_the_walk(self) -> None:
        """S-20: what arrives during a search is found by the next gate."""
        stored = after_scan(ScanMemory(), ScanOutcome(complete=True, newest=9, changes=400, by_search=True), now=NOON)
        assert stored.changes == 400 - INDEX_LAG
        assert judge_change(stored, changes=401, newest=10) is GateChange.CHANGED

    def test_s29_what_the_index_did_not_know_is_read_again(self) -> None:
        """S-29: after a search the last changes are read again, and a next search reaches below the watermark."""
        stored = after_scan(IDLE, ScanOutcome(complete=True, newest=999, changes=6_000, by_search=True), now=NOON)
        assert judge_change(stored, changes=6_000, newest=999) is GateChange.CHANGED
        assert search_above(stored) == 999 - INDEX_LAG
        assert search_above(replace(stored, last_scanned_at=None)) == 999

    def test_a_search_in_an_unchanged_channel_costs_nothing_later(self) -> None:
        """A cold channel's turn must not make it look changed in the next cycle."""
        stored = after_scan(IDLE, ScanOutcome(complete=True, newest=510, changes=900, by_search=True), now=NOON)
        assert judge_change(stored, changes=900, newest=510) is GateChange.UNCHANGED

    def test_a_wish_is_kept_until_it_was_granted(self) -> None:
        """An unfinished walk has not done what the operator asked for."""
        asked = replace(IDLE, asked=True)
        assert after_scan(asked, ScanOutcome(complete=False), now=NOON).asked
        assert not after_scan(asked, ScanOutcome(complete=True), now=NOON).asked

    @given(memory=memories, history=st.lists(outcomes, max_size=8))
    def test_nothing_remembered_ever_goes_back(self, memory: ScanMemory, history: list[ScanOutcome]) -> None:
        """The watermark never goes down, nor do newest seen and counter, whatever the scans report."""
        for outcome in history:
            after = after_scan(memory, outcome, now=NOON)
            assert after.watermark >= memory.watermark
            assert after.newest_seen >= memory.newest_seen
            assert (after.changes or 0) >= (memory.changes or 0)
            memory = after

    @pytest.mark.parametrize("unquiet", ["archives_found", "archives_failed", "failures_pending"])
    def test_one_find_or_failure_is_not_idle(self, unquiet: str) -> None:
        """Each alone keeps a place awake; so does a walk that did not reach its end."""
        assert is_truly_idle(ScanOutcome(complete=True))
        assert not is_truly_idle(ScanOutcome(complete=True, **{unquiet: 1}))
        assert not is_truly_idle(ScanOutcome(complete=False))

    def test_after_a_search_fifty_are_read_once_more(self) -> None:
        """An index is slow to know the newest: both the next search and the next difference begin 50 below."""
        found = after_scan(IDLE, ScanOutcome(complete=True, newest=700, changes=1_000, by_search=True), now=NOON)
        assert (found.watermark, found.newest_seen, found.changes, search_above(found)) == (700, 700, 950, 650)
        exact = after_scan(IDLE, ScanOutcome(complete=True, newest=700, changes=1_000), now=NOON)
        assert exact.changes == 1_000
        first = after_scan(ScanMemory(), ScanOutcome(complete=True, newest=9, changes=20, by_search=True), now=NOON)
        assert (first.changes, search_above(first)) == (1, 0)
        assert search_above(ScanMemory(watermark=500)) == 500

    @given(memory=memories, outcome=outcomes)
    def test_idle_is_decided_in_one_place(self, memory: ScanMemory, outcome: ScanOutcome) -> None:
        """The counter and the flag tell the same story, and the counter grows by one or is 0."""
        after = after_scan(memory, outcome, now=NOON)
        idle = is_truly_idle(outcome)
        assert after.last_scan_found_archives is not idle
        assert after.consecutive_empty_scans == (memory.consecutive_empty_scans + 1 if idle else 0)

    @given(memory=memories, outcome=outcomes)
    def test_the_counter_never_runs_ahead_of_what_was_read(self, memory: ScanMemory, outcome: ScanOutcome) -> None:
        """S-21: a counter newer than the one read before the scan would jump a message."""
        after = after_scan(memory, outcome, now=NOON)
        assert (after.changes or 0) <= max(memory.changes or 0, outcome.changes or 0)


class TestTheSeedsKnobs:
    def test_five_minutes_five_empty_scans_and_every_fifth_cycle(self) -> None:
        """The operator's three knobs have the seed's values, and each counts to the scan and to the instant."""
        just, past = (
            replace(IDLE, last_scanned_at=NOON - 5 * MINUTE + SECOND),
            replace(IDLE, last_scanned_at=NOON - 5 * MINUTE),
        )
        assert decide_scan(just, POLICY, now=NOON, turn=0) is Verdict.FRESH
        assert decide_scan(replace(IDLE, last_scanned_at=NOON), POLICY, now=NOON, turn=0) is Verdict.FRESH
        assert decide_scan(past, POLICY, now=NOON, turn=0) is Verdict.GATE
        for empty_scans, verdict in ((4, Verdict.GATE), (5, Verdict.COLD)):
            memory = replace(IDLE, consecutive_empty_scans=empty_scans)
            assert decide_scan(memory, POLICY, now=NOON, turn=NOT_ITS_TURN) is verdict
        cold = replace(IDLE, consecutive_empty_scans=5)
        assert [turn for turn in range(11) if takes_turn(cold, POLICY, now=NOON, turn=turn)] == [0, 5, 10]
        assert not takes_turn(replace(cold, readable=False), POLICY, now=NOON, turn=0)
        assert not takes_turn(replace(cold, failures_pending=1), POLICY, now=NOON, turn=0)

    @pytest.mark.parametrize("wrong", ["cold_after_empty_scans", "cold_every_nth_cycle"])
    def test_knobs_count_from_one(self, wrong: str) -> None:
        """Nought would make everything cold, or divide by nothing; a window of no time at all is allowed."""
        with pytest.raises(ValueError, match="count from 1"):
            ScanPolicy(**{wrong: 0})
        with pytest.raises(ValueError, match="look back"):
            ScanPolicy(fresh_for=-SECOND)
        assert ScanPolicy(timedelta(), 1, 1).fresh_for == timedelta()
