"""Which pages come next, and that no order of events ever covers a message that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.rules.end_rule import EndRule
from tidegate.core.ids import Span
from tidegate.history.rules.backfill_plan import (
    PAGE,
    WORTH_A_SLICE,
    BackfillPhase,
    HistoryDepth,
    KnownHistory,
    PageDirection,
    PageRound,
    PortionBudget,
    next_round,
    reconciled_newest,
)
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.history.rules.page_proof import proven, proven_deleted, unbroken
from tidegate.history.rules.page_request import PageAsked, Walk

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
DISCORD, TELEGRAM = PageDirection(upwards=True), PageDirection()
ALL = HistoryDepth()


def known(*spans: tuple[int, int], head: int, messages: int = 0, oldest_at: datetime | None = None) -> KnownHistory:
    return KnownHistory(Coverage.of(spans), head, messages, oldest_at)


def after(bound: int) -> PageAsked:
    return PageAsked(Walk.AFTER, bound)


def before(bound: int, floor: int | None = None) -> PageAsked:
    return PageAsked(Walk.BEFORE, bound, floor)


class TestTheOrder:
    def test_the_newest_page_is_fetched_first_of_all(self) -> None:
        """An empty store begins where people look, with one page."""
        assert next_round(known(head=90), ALL, manner=DISCORD, at_once=3) == PageRound(
            BackfillPhase.FIRST, (PageAsked(Walk.NEWEST),)
        )

    def test_what_is_new_comes_before_what_is_old(self) -> None:
        """Catch up first: no deeper page in the same round."""
        asked = next_round(known((40, 60), head=90), ALL, manner=DISCORD, at_once=3)
        assert asked == PageRound(BackfillPhase.CATCH_UP, (after(60),))

    def test_one_new_message_right_above_is_new_too(self) -> None:
        """Numbers may follow each other without a gap between, as on Telegram."""
        assert next_round(known((0, 89), head=90), ALL, manner=DISCORD, at_once=1) == PageRound(
            BackfillPhase.CATCH_UP, (after(89),)
        )

    def test_h30_with_overlap_a_catch_up_takes_the_newest_page(self) -> None:
        """H-30: the same one call shows what was edited or deleted among the newest hundred."""
        manner = PageDirection(upwards=True, overlap=True)
        asked = next_round(known((40, 60), head=90), ALL, manner=manner, at_once=3)
        assert asked == PageRound(BackfillPhase.CATCH_UP, (PageAsked(Walk.NEWEST),))

    def test_several_gaps_are_read_at_once_the_newest_first(self) -> None:
        """Parallel batches are really parallel; the depth beyond them gets a hand when one is free."""
        state = known((20, 30), (40, 50), (60, 70), head=70)
        assert next_round(state, ALL, manner=DISCORD, at_once=2) == PageRound(
            BackfillPhase.DEEPEN, (after(50), after(30))
        )
        assert next_round(state, ALL, manner=TELEGRAM, at_once=3) == PageRound(
            BackfillPhase.DEEPEN, (before(60, floor=50), before(40, floor=30), before(20))
        )

    def test_h04_depth_closes_no_gap(self) -> None:
        """H-04: a channel that holds its target still catches up and still fills its gaps."""
        deep = HistoryDepth(messages=10)
        missed = next_round(known((0, 60), head=90, messages=50_000), deep, manner=DISCORD, at_once=3)
        assert missed == PageRound(BackfillPhase.CATCH_UP, (after(60),))
        broken = next_round(known((20, 30), (40, 50), head=50, messages=50_000), deep, manner=DISCORD, at_once=3)
        assert broken == PageRound(BackfillPhase.CATCH_UP, (after(30),))

    def test_h14_the_target_ends_the_walk_and_not_the_history(self) -> None:
        """H-14: nothing further is asked for, and the start of history is not claimed; a higher target goes on."""
        state = known((50, 90), head=90, messages=40)
        assert next_round(state, HistoryDepth(messages=40), manner=DISCORD, at_once=1) is None
        assert not state.coverage.reached_start
        assert next_round(state, HistoryDepth(messages=41), manner=DISCORD, at_once=1) == PageRound(
            BackfillPhase.DEEPEN, (before(50),)
        )

    def test_h15_a_date_ends_the_walk_where_a_page_has_passed_it(self) -> None:
        """H-15: one message older than the date is proof that all since then is there."""
        wanted = HistoryDepth(since=NOON)
        reached = known((50, 90), head=90, messages=40, oldest_at=NOON - timedelta(seconds=1))
        assert next_round(reached, wanted, manner=DISCORD, at_once=1) is None
        short = known((50, 90), head=90, messages=40, oldest_at=NOON)
        assert next_round(short, wanted, manner=DISCORD, at_once=3) == PageRound(BackfillPhase.DEEPEN, (before(50),))
        assert next_round(reached, ALL, manner=DISCORD, at_once=1) == PageRound(BackfillPhase.DEEPEN, (before(50),))

    def test_all_of_a_history_ends_by_the_platform_s_word_alone(self) -> None:
        """However many messages are stored, only coverage down to the start ends it."""
        assert next_round(known((1, 90), head=90, messages=10**9), ALL, manner=TELEGRAM, at_once=1) is not None
        assert next_round(known((0, 90), head=90), ALL, manner=TELEGRAM, at_once=1) is None


class TestSlices:
    def test_h16_a_huge_channel_is_cut_into_slices_of_equal_width(self) -> None:
        """H-16: several walks at once, each down to where the next began."""
        huge = KnownHistory(Coverage((Span(900_001, 1_000_000),)), 1_000_000, messages=100_000)
        asked = next_round(huge, ALL, manner=DISCORD, at_once=3)
        assert asked == PageRound(BackfillPhase.DEEPEN, (before(900_001), before(600_001), before(300_001)))

    def test_a_small_channel_is_not_cut(self) -> None:
        """Each cut may cost a page more, so it has to be worth twenty."""
        small = KnownHistory(Coverage((Span(901, 1_000),)), 1_000, messages=100)
        assert next_round(small, ALL, manner=DISCORD, at_once=8) == PageRound(BackfillPhase.DEEPEN, (before(901),))

    def test_only_what_the_target_asks_for_is_cut(self) -> None:
        """Slices lie where the missing messages are expected, not all over the history."""
        huge = KnownHistory(Coverage((Span(900_001, 1_000_000),)), 1_000_000, messages=100_000)
        asked = next_round(huge, HistoryDepth(messages=110_000), manner=DISCORD, at_once=2)
        assert asked == PageRound(BackfillPhase.DEEPEN, (before(900_001), before(895_001)))

    def test_nothing_is_cut_below_the_birth_of_the_channel(self) -> None:
        """On Discord a channel's number says when it was made: a slice below would be one empty page."""
        born = KnownHistory(Coverage((Span(900_001, 1_000_000),)), 1_000_000, messages=100_000, earliest=800_001)
        asked = next_round(born, ALL, manner=DISCORD, at_once=2)
        assert asked == PageRound(BackfillPhase.DEEPEN, (before(900_001), before(850_001)))

    @pytest.mark.parametrize("earliest", [900_001, 950_000])
    def test_a_history_that_reaches_down_to_the_birth_is_not_cut(self, earliest: int) -> None:
        """Nothing lies between the lowest page and the birth of the channel, or less than nothing: one walk ends it."""
        whole = KnownHistory(Coverage.of([(900_001, 1_000_000)]), 1_000_000, 100_000, None, earliest)
        assert next_round(whole, ALL, manner=TELEGRAM, at_once=8) == PageRound(BackfillPhase.DEEPEN, (before(900_001),))

    def test_a_slice_is_cut_off_only_where_twenty_pages_are_expected(self) -> None:
        """As many messages as numbers: 3,999 below are one slice, 4,000 are two."""
        for below, slices in ((3_999, 1), (4_000, 2), (6_000, 3), (16_000, 4)):
            found = known((below, below + 99), head=below + 99, messages=100)
            asked = next_round(found, ALL, manner=TELEGRAM, at_once=4)
            assert asked is not None
            assert asked.pages == tuple(before(below - below * part // slices) for part in range(slices))

    def test_by_a_date_nothing_is_cut(self) -> None:
        """How many messages lie above a date is anybody's guess."""
        found = known((900_001, 1_000_000), head=1_000_000, messages=100_000, oldest_at=NOON)
        asked = next_round(found, HistoryDepth(since=NOON - timedelta(days=9)), manner=TELEGRAM, at_once=8)
        assert asked == PageRound(BackfillPhase.DEEPEN, (before(900_001),))

    def test_the_limits_of_a_turn(self) -> None:
        """A page is a hundred messages; a portion has ten rounds of three pages, or a thousand messages."""
        budget = PortionBudget()
        assert (PAGE, WORTH_A_SLICE, budget.most_pages) == (100, 2_000, 30)
        assert [budget.pages(rounds=rounds, fetched=0) for rounds in (0, 9, 10)] == [3, 3, 0]
        assert [budget.pages(rounds=0, fetched=some) for some in (700, 701, 800, 899, 900, 999, 1_000, 1_001)] == [
            3, 3, 2, 2, 1, 1, 0, 0,
        ]  # fmt: skip

    def test_h19_slices_that_are_under_way_are_not_cut_again(self) -> None:
        """H-19: after a crash only unfinished slices go on, each where its gap begins."""
        sliced = KnownHistory(Coverage.of([(500_000, 599_999), (900_001, 1_000_000)]), 1_000_000, messages=200_000)
        asked = next_round(sliced, ALL, manner=TELEGRAM, at_once=8)
        assert asked == PageRound(BackfillPhase.DEEPEN, (before(900_001, floor=599_999), before(500_000)))


class TestTheBudget:
    def test_h06_a_turn_ends_after_so_many_messages_or_rounds(self) -> None:
        """H-06: ten full pages are a portion's thousand; the last page may go beyond it, none begins beyond it."""
        budget = PortionBudget(rounds=10, batches=3, messages=1_000)
        assert budget.pages(rounds=0, fetched=0) == 3
        assert budget.pages(rounds=3, fetched=900) == 1
        assert budget.pages(rounds=3, fetched=1_000) == 0
        assert budget.pages(rounds=10, fetched=0) == 0

    def test_a_limit_of_nothing_is_refused(self) -> None:
        """The seed divided by zero."""
        with pytest.raises(ValueError, match="count from 1"):
            PortionBudget(batches=0)


@dataclass
class World:
    """A channel that keeps the truth, and a mirror that restarts, loses pages and hears live events."""

    rule: EndRule
    limit: int = 4
    newest: int = 0
    alive: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    coverage: Coverage = field(default_factory=Coverage)
    live_since: int | None = None
    pages: int = 0

    @property
    def manner(self) -> PageDirection:
        return PageDirection(upwards=self.rule is EndRule.SHORT_PAGE)

    def post(self, step: int = 1) -> None:
        self.newest += step
        self.alive.add(self.newest)
        if self.live_since is not None:
            self.stored.add(self.newest)
            self.coverage = self.coverage.with_span(unbroken(self.live_since, self.newest))

    def known(self, head: int) -> KnownHistory:
        return KnownHistory(self.coverage, head, len(self.stored))

    def answer(self, asked: PageAsked) -> list[int]:
        self.pages += 1
        if asked.walk is Walk.AFTER:
            return sorted(one for one in self.alive if one > (asked.bound or 0))[: self.limit]
        return sorted(one for one in self.alive if asked.bound is None or one < asked.bound)[-self.limit :]

    def take(self, asked: PageAsked, page: list[int], *, head: int) -> None:
        ended = self.rule.ended(received=len(page), limit=self.limit)
        span = proven(asked, page, head=head, ended=ended, may_read=True)
        self.stored -= proven_deleted(self.stored, page, span, Content.MESSAGES)
        self.stored |= set(page)
        self.coverage = self.coverage.with_span(span)

    def missed(self) -> set[int]:
        return {one for one in self.alive - self.stored if one in self.coverage}


@given(data=st.data(), rule=st.sampled_from(EndRule), overlap=st.booleans(), at_once=st.integers(1, 4))
def test_no_order_of_events_covers_a_missing_message(
    data: st.DataObject, rule: EndRule, overlap: bool, at_once: int
) -> None:
    """Pages answered in any order or lost, live events, lost sessions, deletions: what is covered is stored."""
    world = World(rule)
    for _ in range(data.draw(st.integers(1, 25))):
        match data.draw(st.sampled_from(["post", "delete", "live", "break", "round", "round", "round"])):
            case "post":
                world.post(data.draw(st.integers(1, 5)))
            case "delete" if world.alive:
                world.alive.discard(data.draw(st.sampled_from(sorted(world.alive))))
            case "live":
                world.live_since = world.newest
            case "break":
                world.live_since = None
            case "round":
                read_a_round(world, data, overlap=overlap, at_once=at_once)
        assert not world.missed()


def read_a_round(world: World, data: st.DataObject, *, overlap: bool, at_once: int) -> None:
    """One round: some pages are lost (a crash, a refusal), the others arrive in any order with posts in between."""
    head = world.newest
    manner = PageDirection(world.manner.upwards, overlap and world.manner.upwards)
    wanted = HistoryDepth(data.draw(st.none() | st.integers(1, 30)))
    asked = next_round(world.known(head), wanted, manner=manner, at_once=at_once)
    if asked is None:
        return
    answers = []
    for page in asked.pages:
        answers.append((page, world.answer(page)))
        if data.draw(st.booleans()):
            world.post()
    for page, answer in data.draw(st.permutations(answers)):
        if data.draw(st.integers(0, 4)):
            arrived = {one for one in world.stored if one > head}
            world.take(page, answer, head=head)
            world.stored |= arrived & world.alive
        if data.draw(st.booleans()):
            world.post()


@given(
    steps=st.lists(st.integers(1, 9), max_size=80),
    rule=st.sampled_from(EndRule),
    covered=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=4),
    at_once=st.integers(1, 4),
    overlap=st.booleans(),
)
def test_the_rounds_end_with_the_whole_history(
    steps: list[int], rule: EndRule, covered: list[tuple[int, int]], at_once: int, overlap: bool
) -> None:
    """From any coverage the rounds lead to all messages, then to rest; each page brings one or closes a gap."""
    world = World(rule)
    for step in steps:
        world.post(step)
    head = world.newest
    world.coverage = Coverage.of([(low, min(low + size, head)) for low, size in covered if low <= head])
    world.stored = {one for one in world.alive if one in world.coverage}
    missing, gaps = len(world.alive - world.stored), len(world.coverage.gaps(head=head))
    manner = PageDirection(world.manner.upwards, overlap and world.manner.upwards)
    while (asked := next_round(world.known(head), ALL, manner=manner, at_once=at_once)) is not None:
        for page in asked.pages:
            world.take(page, world.answer(page), head=head)
        assert world.pages <= missing + gaps + 2
    assert world.stored == world.alive
    assert world.coverage.gaps(head=head) == []


@given(count=st.integers(3 * WORTH_A_SLICE, 12 * WORTH_A_SLICE), slices=st.integers(1, 8), step=st.integers(1, 40))
def test_h16_slices_cost_at_most_a_page_each(count: int, slices: int, step: int) -> None:
    """H-16: the same messages as with one cursor, and at most ceil(n / 100) pages and one a slice."""
    numbers = range(step, count * step + 1, step)
    coverage, pages, head = Coverage(), 0, numbers[-1]
    while (
        asked := next_round(KnownHistory(coverage, head, pages * PAGE), ALL, manner=DISCORD, at_once=slices)
    ) is not None:
        for page in asked.pages:
            shown = page_of(numbers, page, step)
            span = proven(page, shown, head=head, ended=len(shown) < PAGE, may_read=True)
            coverage, pages = coverage.with_span(span), pages + 1
    assert coverage == Coverage((Span(0, head),))
    assert pages <= -(-count // PAGE) + slices


def page_of(numbers: range, asked: PageAsked, step: int) -> range:
    """What the platform shows of evenly spread messages, oldest first."""
    if asked.bound is None:
        return numbers[-PAGE:]
    if asked.walk is Walk.AFTER:
        first = asked.bound // step
        return numbers[first : first + PAGE]
    last = (asked.bound - 1) // step
    return numbers[max(0, last - PAGE) : last]


def test_h05_h06_a_catch_up_takes_no_page_too_many() -> None:
    """H-05, H-06: without overlap 100 missed messages are one call and 5,000 are fifty, live messages above or not."""
    for missed, pages in ((1, 1), (99, 1), (100, 1), (101, 2), (5_000, 50)):
        for live in (0, 3):
            world = World(EndRule.SHORT_PAGE, limit=PAGE, coverage=Coverage((Span(0, 1_000),)), newest=1_000)
            for _ in range(missed):
                world.post(step=7)
            world.live_since = world.newest
            for _ in range(live):
                world.post(step=7)
            while (asked := next_round(world.known(world.newest), ALL, manner=DISCORD, at_once=3)) is not None:
                for page in asked.pages:
                    world.take(page, world.answer(page), head=world.newest)
            assert (world.stored, world.pages) == (world.alive, pages)


def test_h07_a_live_message_does_not_move_the_gap() -> None:
    """H-07, H-09: the session began at head 40; what was missed before it is still asked for, and nothing else."""
    state = KnownHistory(Coverage((Span(0, 20),)).with_span(unbroken(40, 43)), 43, messages=24)
    assert next_round(state, ALL, manner=DISCORD, at_once=3) == PageRound(BackfillPhase.CATCH_UP, (after(20),))


def test_only_what_was_shown_without_a_gap_counts_as_compared() -> None:
    """A page further down compares nothing between; a history shown down to its start is compared as a whole."""
    shown = {*range(100, 200), *range(300, 400)}
    assert reconciled_newest(Coverage.of([(100, 199), (300, 400)]), shown) == 100
    assert reconciled_newest(Coverage.of([(100, 400)]), shown) == 200
    assert reconciled_newest(Coverage.of([(0, 400)]), {7}) >= 10**9
    assert reconciled_newest(Coverage(), set()) == 0
