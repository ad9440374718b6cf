"""Which calls follow the gate, and whether a cycle stays within what was foretold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scans.rules.scan_memories import memories
from tidegate.archives.rules.retry import calls_to_retry
from tidegate.scans.rules.call_bounds import (
    CallBounds,
    CallLimits,
    ReadPlan,
    SelectedTopic,
    foresee_channel,
    foresee_gate,
    foresee_guilds,
    foresee_topics,
    gate_calls,
    plan_reading,
    plan_topics,
    topics_to_search,
)
from tidegate.scans.rules.scan_decision import (
    INDEX_LAG,
    GateChange,
    ScanMemory,
    ScanOutcome,
    ScanPolicy,
    after_scan,
    judge_change,
    search_above,
    takes_turn,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
LIMITS = CallLimits()
KNOWN = ScanMemory(last_scanned_at=NOON, watermark=500, newest_seen=510, changes=900)

selections = st.dictionaries(
    st.integers(1, 400), st.builds(SelectedTopic, memory=memories, its_turn=st.booleans()), max_size=30
)


def read(memory: ScanMemory, changes: int | None, *, its_turn: bool = False) -> ReadPlan:
    change = judge_change(memory, changes=changes, newest=None)
    return plan_reading(memory, change, changes=changes, limits=LIMITS, its_turn=its_turn)


def test_s13_s14_an_unchanged_channel_costs_the_gate_alone() -> None:
    """S-13, S-14: 1,086 topics with nothing new are one call."""
    reading = read(KNOWN, 900)
    assert reading is ReadPlan.NOTHING
    assert gate_calls(1, LIMITS) == CallBounds(1, 1)


@pytest.mark.parametrize("missed", [1, 15, 150, 300])
def test_s15_s16_a_few_changes_are_read_as_a_difference(missed: int) -> None:
    """S-15, S-16: exact, with the platform's own end."""
    assert read(KNOWN, 900 + missed) is ReadPlan.DIFFERENCE


@pytest.mark.parametrize("missed", [301, 5_000])
def test_s19_too_much_talk_is_searched(missed: int) -> None:
    """S-19: one search instead of 50 pages of chatter."""
    assert read(KNOWN, 900 + missed) is ReadPlan.SEARCH


def test_s20_without_a_counter_the_whole_chat_is_searched() -> None:
    """S-20: a new channel has nothing to read on from."""
    assert read(ScanMemory(), 5_000) is ReadPlan.SEARCH
    assert read(replace(KNOWN, changes=None), 5_000) is ReadPlan.SEARCH


def test_s11_a_channel_without_an_answer_is_read_all_the_same() -> None:
    """S-11: unknown is not unchanged; the stored counter is enough to ask."""
    assert read(KNOWN, None) is ReadPlan.DIFFERENCE
    assert read(KNOWN, 899) is ReadPlan.DIFFERENCE


def test_s12_s74_a_wish_and_a_turn_look_beyond_the_gate() -> None:
    """S-12, S-74: the gate may be stale; a person's wish and a cold channel's turn do not rely on it."""
    assert read(replace(KNOWN, asked=True), 900) is ReadPlan.SEARCH
    assert read(KNOWN, 900, its_turn=True) is ReadPlan.SEARCH


def test_s46_nothing_is_read_where_nobody_can() -> None:
    """S-46: a place without a reader costs no call."""
    unreadable = ScanMemory(readable=False)
    assert read(unreadable, 5) is ReadPlan.NOTHING
    assert foresee_channel(unreadable, LIMITS, its_turn=True) == CallBounds(0, 0)


@pytest.mark.parametrize(("channels", "calls"), [(0, 0), (1, 1), (100, 1), (101, 2), (1_000, 10)])
def test_the_gate_asks_for_a_hundred_channels_a_call(channels: int, calls: int) -> None:
    """The gate is shared: many channels, one call."""
    assert gate_calls(channels, LIMITS) == CallBounds(calls, calls)


@given(
    memory=memories, changes=st.none() | st.integers(1, 900), newest=st.none() | st.integers(0, 60), turn=st.booleans()
)
def test_the_real_cycle_lies_within_what_was_foretold(
    memory: ScanMemory, changes: int | None, newest: int | None, turn: bool
) -> None:
    """`tidegate plan`: whatever the gate answers, the channel's calls lie between the two numbers."""
    foretold = foresee_channel(memory, LIMITS, its_turn=turn)
    change = judge_change(memory, changes=changes, newest=newest)
    reading = plan_reading(memory, change, changes=changes, limits=LIMITS, its_turn=turn)
    retries = calls_to_retry(memory.failures_to_retry) if memory.readable else 0
    pages = CallBounds() if reading is ReadPlan.NOTHING else CallBounds(1, LIMITS.pages_a_turn)
    real = CallBounds(retries, retries) + pages
    assert foretold.at_least <= real.at_least
    assert real.at_most <= foretold.at_most


@given(memory=memories, changes=st.none() | st.integers(1, 900))
def test_nothing_is_read_only_where_nothing_changed_for_certain(memory: ScanMemory, changes: int | None) -> None:
    """A readable channel is left alone only on the platform's word."""
    if read(memory, changes) is ReadPlan.NOTHING and memory.readable:
        assert changes is not None
        assert changes == memory.changes


@pytest.mark.parametrize(
    ("memory", "its_turn", "at_least"),
    [
        (KNOWN, False, 0),
        (KNOWN, True, 1),
        (replace(KNOWN, asked=True), False, 1),
        (replace(KNOWN, changes=None), False, 1),
        (replace(KNOWN, last_scanned_at=None), False, 1),
        (replace(KNOWN, failures_to_retry=1), False, 1),
        (replace(KNOWN, failures_to_retry=101, asked=True), False, 3),
    ],
)
def test_what_is_read_for_certain_is_foretold_for_certain(memory: ScanMemory, its_turn: bool, at_least: int) -> None:
    """Never scanned, asked for, without a counter, or its turn: one call at least; failures by the hundred besides."""
    retries = calls_to_retry(memory.failures_to_retry)
    assert foresee_channel(memory, LIMITS, its_turn=its_turn) == CallBounds(at_least, retries + 50)


@pytest.mark.parametrize(
    ("channels", "foretold"),
    [(0, CallBounds(0, 0)), (1, CallBounds(1, 1)), (100, CallBounds(1, 199)), (101, CallBounds(2, 200))],
)
def test_a_gate_that_meets_a_channel_that_is_gone_asks_in_halves(channels: int, foretold: CallBounds) -> None:
    """At least a call a batch. At most twice as many calls as channels, less one a batch."""
    assert foresee_gate(channels, LIMITS) == foretold


def test_what_a_pass_over_guilds_may_cost() -> None:
    """A call for each history that is unfinished; at most two a guild, a turn a channel, and two turns a thread."""
    foretold = foresee_guilds(guilds=3, channels=20, threads=7, unfinished=5, most_pages=30)
    assert foretold == CallBounds(5, 2 * 3 + 20 * 30 + 7 * 61)


def test_the_limits_that_operators_are_told() -> None:
    """What the documents say of a cycle: a hundred to a call, 300 changes, 50 pages a turn."""
    assert CallLimits() == CallLimits(gate_batch=100, heads_batch=100, most_changes=300, pages_a_turn=50)


def forum(*, moved: int = 0) -> tuple[dict[int, SelectedTopic], dict[int, int]]:
    """1,086 selected topics, all scanned before, and their newest messages, of which *moved* are new."""
    topics = {number: SelectedTopic(KNOWN) for number in range(1, 1_087)}
    return topics, {number: 511 if number <= moved else 510 for number in topics}


class TestSelectedTopics:
    def test_an_unchanged_forum_asks_for_no_topic(self) -> None:
        """One call when nothing changed: the gate's."""
        topics, _ = forum()
        plan = plan_topics(topics, GateChange.UNCHANGED, LIMITS)
        assert (plan.heads, plan.searches, plan.calls) == ((), (), CallBounds(0, 0))

    def test_a_changed_forum_asks_for_heads_and_searches_what_moved(self) -> None:
        """12 + 2 x active: the gate, eleven calls for the heads, and two for each topic that moved."""
        topics, newest = forum(moved=50)
        plan = plan_topics(topics, GateChange.CHANGED, LIMITS)
        assert plan.calls.at_least == 11
        assert topics_to_search(topics, plan.heads, newest) == tuple(range(1, 51))

    def test_s72_a_topic_that_got_no_answer_is_searched(self) -> None:
        """S-72: a missing row is not an idle topic."""
        topics, newest = forum()
        del newest[17]
        plan = plan_topics(topics, GateChange.UNKNOWN, LIMITS)
        assert topics_to_search(topics, plan.heads, newest) == (17,)

    def test_topics_read_anyway_are_searched_and_the_others_asked_about(self) -> None:
        """Never scanned, asked for by hand, or its turn: searched whatever the forum says. The rest costs one call."""
        topics = {
            1: SelectedTopic(KNOWN),
            2: SelectedTopic(replace(KNOWN, last_scanned_at=None)),
            3: SelectedTopic(replace(KNOWN, asked=True)),
            4: SelectedTopic(KNOWN, its_turn=True),
        }
        still = plan_topics(topics, GateChange.UNCHANGED, LIMITS)
        assert (still.heads, still.searches, still.calls) == ((), (2, 3, 4), CallBounds(3, 150))
        moved = plan_topics(topics, GateChange.CHANGED, LIMITS)
        assert (moved.heads, moved.searches, moved.calls) == ((1,), (2, 3, 4), CallBounds(4, 201))
        assert foresee_topics(topics, LIMITS) == CallBounds(3, 1 + 5 * 50), "and the forum's own changes"
        assert foresee_topics(topics, LIMITS, wanted=2, asleep=100) == CallBounds(5, 2 + 107 * 50)

    @given(topics=selections, change=st.sampled_from(GateChange))
    def test_a_topic_is_asked_for_once(self, topics: dict[int, SelectedTopic], change: GateChange) -> None:
        """What is searched anyway needs no head, and in a changed forum none is forgotten."""
        plan = plan_topics(topics, change, LIMITS)
        assert not set(plan.heads) & set(plan.searches)
        if change is not GateChange.UNCHANGED:
            assert {*plan.heads, *plan.searches} == set(topics)

    @given(topics=selections, change=st.sampled_from(GateChange))
    def test_the_forecast_holds_whatever_the_gate_says(
        self, topics: dict[int, SelectedTopic], change: GateChange
    ) -> None:
        """`tidegate plan` over selected topics."""
        foretold, real = foresee_topics(topics, LIMITS), plan_topics(topics, change, LIMITS).calls
        assert foretold.at_least <= real.at_least <= real.at_most <= foretold.at_most


@dataclass
class Chat:
    """A channel that counts its changes, and a mirror that scans it by the rules alone.

    ``posts`` holds the counter's value at which each message came, and whether it is a document.
    """

    changes: int = 1
    posts: list[tuple[int, bool]] = field(default_factory=list)
    found: set[int] = field(default_factory=set)
    memory: ScanMemory = field(default_factory=ScanMemory)
    cycle: int = 0

    @property
    def documents(self) -> set[int]:
        return {message for message, (_, document) in enumerate(self.posts, 1) if document}

    def post(self, count: int, *, document: bool) -> None:
        for _ in range(count):
            self.changes += 1
            self.posts.append((self.changes, document))

    def edit(self, count: int) -> None:
        self.changes += count

    def scan(self, *, answer: tuple[int, int] | None, lag: int = 0, meanwhile: int = 0, breaks: bool = False) -> None:
        """One cycle with the gate's *answer*; posts arrive *meanwhile*, the index lacks the last *lag* changes."""
        now = NOON + self.cycle * timedelta(hours=1)
        changes, newest = answer or (None, None)
        change = judge_change(self.memory, changes=changes, newest=newest)
        its_turn = takes_turn(self.memory, ScanPolicy(), now=now, turn=self.cycle)
        reading = plan_reading(self.memory, change, changes=changes, limits=LIMITS, its_turn=its_turn)
        self.post(meanwhile, document=True)
        shown: set[int] = set()
        if reading is ReadPlan.DIFFERENCE:
            since, changes = self.memory.changes or 0, self.changes
            shown = {message for message in self.documents if self.posts[message - 1][0] > since}
        elif reading is ReadPlan.SEARCH:
            known = {message for message in self.documents if self.posts[message - 1][0] <= self.changes - lag}
            shown = {message for message in known if message > search_above(self.memory)}
        if breaks:
            shown = {message for message in shown if message % 2}
        new, self.found = shown - self.found, self.found | shown
        outcome = ScanOutcome(
            complete=not breaks,
            newest=newest,
            changes=changes,
            archives_found=len(new),
            by_search=reading is ReadPlan.SEARCH,
        )
        self.memory = after_scan(self.memory, outcome, now=now)
        self.cycle += 1


@given(data=st.data())
def test_s21_s29_s74_no_document_is_ever_jumped(data: st.DataObject) -> None:
    """Stale answers, missing answers, a lagging index, posts in mid-scan and broken walks delay a find, no more.

    After two cycles with true answers the mirror has all there is, whatever happened before.
    """
    chat = Chat()
    answers: list[tuple[int, int] | None] = [None]
    for _ in range(data.draw(st.integers(1, 12))):
        match data.draw(st.sampled_from(["talk", "documents", "edits", "scan", "scan"])):
            case "talk":
                chat.post(data.draw(st.sampled_from([1, 5, 400])), document=False)
            case "documents":
                chat.post(data.draw(st.integers(1, 60)), document=True)
            case "edits":
                chat.edit(data.draw(st.sampled_from([1, 30, 400])))
            case "scan":
                answers.append((chat.changes, len(chat.posts)))
                chat.scan(
                    answer=data.draw(st.sampled_from([answers[-1], answers[-1], *answers])),
                    lag=data.draw(st.integers(0, INDEX_LAG)),
                    meanwhile=data.draw(st.integers(0, 3)),
                    breaks=data.draw(st.booleans()),
                )
    for _ in range(2):
        chat.scan(answer=(chat.changes, len(chat.posts)))
    assert chat.found == chat.documents


def test_limits_refuse_what_cannot_be() -> None:
    """A batch of nothing would never end."""
    for limit in ("gate_batch", "heads_batch", "most_changes", "pages_a_turn"):
        with pytest.raises(ValueError, match="count from 1"):
            CallLimits(**{limit: 0})
    with pytest.raises(ValueError, match="at least two calls"):
        CallLimits(pages_a_turn=1)
    assert CallLimits(1, 1, 1, 2).pages_a_turn == 2
