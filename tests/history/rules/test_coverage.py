"""Coverage, what a page proves, and which page comes next."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.rules.end_rule import EndRule
from tidegate.core.errors import PlatformError
from tidegate.core.ids import Span
from tidegate.history.rules.coverage import START, Content, Coverage, incomplete_before
from tidegate.history.rules.page_proof import proven, proven_deleted, unbroken
from tidegate.history.rules.page_request import PageAsked, Walk, next_page

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
NEWEST = PageAsked(Walk.NEWEST)
TELEGRAM, DISCORD = EndRule.EMPTY_PAGE, EndRule.SHORT_PAGE

spans = st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
coverages = st.lists(spans, max_size=8).map(Coverage.of)


def before(bound: int, floor: int | None = None) -> PageAsked:
    return PageAsked(Walk.BEFORE, bound, floor)


def after(bound: int) -> PageAsked:
    return PageAsked(Walk.AFTER, bound)


def numbers(coverage: Coverage) -> set[int]:
    return {number for span in coverage.spans for number in range(span.low, span.high + 1)}


class TestCoverage:
    @given(stretches=st.lists(spans, max_size=10))
    def test_it_holds_exactly_what_was_put_in(self, stretches: list[Span]) -> None:
        """One by one or at once, in any order: the same numbers, and stretches that touch are one."""
        at_once = Coverage.of(stretches)
        one_by_one = Coverage()
        for span in stretches:
            one_by_one = one_by_one.with_span(span)
        assert one_by_one == at_once
        assert numbers(at_once) == {number for low, high in stretches for number in range(low, high + 1)}

    @given(coverage=coverages, start=st.integers(0, 70), head=st.integers(0, 80))
    def test_gaps_are_all_that_is_not_covered(self, coverage: Coverage, start: int, head: int) -> None:
        """Coverage and gaps share the line between them without a rest."""
        gaps = coverage.gaps(start=start, head=head)
        assert numbers(Coverage.of(gaps)) == set(range(start, head + 1)) - numbers(coverage)
        assert Coverage.of(gaps).spans == tuple(gaps)

    @given(coverage=coverages, message=st.integers(0, 80))
    def test_a_message_is_covered_or_not(self, coverage: Coverage, message: int) -> None:
        """A channel is idle when its coverage contains its head."""
        assert (message in coverage) == (message in numbers(coverage))

    @pytest.mark.parametrize(
        "spans", [(Span(5, 4),), (Span(1, 3), Span(4, 6)), (Span(5, 6), Span(1, 2)), (Span(-1, 2),)]
    )
    def test_it_refuses_to_be_anything_else(self, spans: tuple[Span, ...]) -> None:
        """A stored value that is out of order is a mistake, not a history."""
        with pytest.raises(ValueError, match="in order"):
            Coverage(spans)


class TestProof:
    @pytest.mark.parametrize(
        ("asked", "messages", "ended", "span"),
        [
            (after(10), [11, 15, 19], False, Span(11, 19)),
            (after(10), [11, 15], True, Span(11, 30)),
            (after(10), [], True, Span(11, 30)),
            (before(20), [12, 15, 19], False, Span(12, 19)),
            (before(20), [15, 19], True, Span(START, 19)),
            (before(90), [28, 29], False, Span(28, 30)),
            (NEWEST, [25, 28, 29], False, Span(25, 30)),
            (NEWEST, [25, 33], False, Span(25, 33)),
            (NEWEST, [28], True, Span(START, 30)),
        ],
    )
    def test_the_table_of_what_a_page_proves(
        self, asked: PageAsked, messages: list[int], ended: bool, span: Span
    ) -> None:
        """Head 30: a deleted head is covered by the page that answers for it, so it is never asked for again."""
        assert proven(asked, messages, head=30, ended=ended, may_read=True) == span

    def test_s26_a_short_page_is_not_the_end(self) -> None:
        """S-26: 37 messages where 100 were asked for prove what they show and no more; only an empty page ends."""
        page = range(64, 101)
        ended = TELEGRAM.ended(received=len(page), limit=100)
        assert proven(before(101), page, head=500, ended=ended, may_read=True) == Span(64, 100)
        assert TELEGRAM.ended(received=0, limit=100)
        assert DISCORD.ended(received=99, limit=100)
        assert not DISCORD.ended(received=100, limit=100)

    def test_an_empty_page_reaches_the_floor_and_no_further(self) -> None:
        """A search down to a watermark says nothing about what lies below it."""
        assert proven(before(50, floor=20), [], head=90, ended=True, may_read=True) == Span(21, 49)

    def test_without_the_right_to_read_nothing_is_proven(self) -> None:
        """platform-ends-history: an empty page behind a closed door is not the end of history."""
        assert proven(NEWEST, [], head=30, ended=True, may_read=False) is None

    @pytest.mark.parametrize(("asked", "page"), [(before(20), [20]), (before(20), [25, 12]), (after(20), [20, 21])])
    def test_a_page_beyond_its_bound_is_an_error(self, asked: PageAsked, page: list[int]) -> None:
        """What was not asked for may hide what was."""
        with pytest.raises(PlatformError, match="nothing is proven"):
            proven(asked, page, head=30, ended=False, may_read=True)

    def test_a_page_that_does_not_move_is_an_error(self) -> None:
        """An empty page that is not the end would be asked for again for ever."""
        with pytest.raises(PlatformError, match="moves on"):
            proven(before(20), [], head=30, ended=False, may_read=True)

    def test_s29_a_search_does_not_vouch_for_the_newest(self) -> None:
        """S-29: what its index may not know yet stays uncovered, and is read again."""
        assert proven(NEWEST, [70, 100], head=90, ended=False, may_read=True, index_lag=10) == Span(70, 90)
        assert proven(NEWEST, [95, 100], head=90, ended=False, may_read=True, index_lag=10) is None

    def test_a_live_message_never_closes_a_gap(self) -> None:
        """live-never-closes-a-gap, H-07: the sequence began at head 40, so what was missed before stays a gap."""
        coverage = Coverage((Span(0, 20),)).with_span(unbroken(40, 43))
        assert coverage.gaps(head=43) == [Span(21, 40)]
        assert unbroken(40, 40) is None


class TestDeletions:
    def test_only_the_proven_stretch_tells(self) -> None:
        """H-31: a stored message below the page, or above the head, is untouched."""
        span = proven(NEWEST, [25, 28], head=30, ended=False, may_read=True)
        assert proven_deleted({10, 25, 27, 28, 30, 31}, {25, 28}, span, Content.MESSAGES) == {27, 30}

    def test_nothing_proven_nothing_deleted(self) -> None:
        """H-21: no right to read, no tombstone."""
        assert proven_deleted({1, 2}, set(), None, Content.MESSAGES) == set()

    def test_a_search_deletes_nothing(self) -> None:
        """An index may lag or leave a file out."""
        assert proven_deleted({25}, set(), Span(1, 30), Content.DOCUMENTS) == set()


class TestNextPage:
    def test_new_messages_first_then_the_newest_gap_then_deeper(self) -> None:
        """What people miss at once comes first."""
        coverage = Coverage.of([(20, 30), (40, 50), (60, 70)])
        assert next_page(coverage, head=80) == PageAsked(Walk.NEWEST, floor=70)
        assert next_page(coverage, head=80, upwards=True) == after(70)
        assert next_page(coverage, head=70) == before(60, floor=50)
        assert next_page(Coverage.of([(20, 70)]), head=70) == before(20)
        assert next_page(Coverage.of([(0, 70)]), head=70) is None

    def test_a_first_fetch_takes_the_newest_page(self) -> None:
        """An empty store begins where people look."""
        assert next_page(Coverage(), head=80, upwards=True) == NEWEST

    def test_a_bound_by_date_stops_there_and_may_go_on_later(self) -> None:
        """H-15: not complete, and a later run without the bound reads on from there."""
        coverage = Coverage((Span(50, 80),))
        assert next_page(coverage, head=80, start=50) is None
        assert not coverage.reached_start
        assert next_page(coverage, head=80) == before(50)


@dataclass
class World:
    """A channel that keeps the truth, and a mirror of it that has only pages and live messages to go by."""

    rule: EndRule
    limit: int = 4
    newest: int = 0
    alive: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    coverage: Coverage = field(default_factory=Coverage)
    live_since: int | None = None

    def post(self, step: int = 1) -> None:
        self.newest += step
        self.alive.add(self.newest)
        if self.live_since is not None:
            self.stored.add(self.newest)
            self.coverage = self.coverage.with_span(unbroken(self.live_since, self.newest))

    def answer(self, asked: PageAsked, shorter: int = 0) -> list[int]:
        """The page as the platform sends it; on Telegram it may be *shorter* than asked for, though never empty."""
        floor = asked.floor if asked.floor is not None and self.rule is TELEGRAM else -1
        fitting = sorted(message for message in self.alive if message > floor)
        if asked.walk is Walk.AFTER:
            return [message for message in fitting if message > (asked.bound or 0)][: self.limit]
        below = [message for message in fitting if asked.bound is None or message < asked.bound][-self.limit :]
        return below[min(shorter, len(below) - 1) :] if below and self.rule is TELEGRAM else below

    def take(self, asked: PageAsked, page: list[int], *, head: int, may_read: bool = True) -> set[int]:
        """Store a page and what it proves; the messages it proves deleted."""
        ended = self.rule.ended(received=len(page), limit=self.limit)
        span = proven(asked, page, head=head, ended=ended, may_read=may_read)
        deleted = proven_deleted(self.stored, page, span, Content.MESSAGES)
        self.stored = (self.stored | set(page)) - deleted
        self.coverage = self.coverage.with_span(span)
        return deleted

    def missed(self) -> set[int]:
        return {message for message in self.alive - self.stored if message in self.coverage}


@given(data=st.data(), rule=st.sampled_from(EndRule))
def test_coverage_never_lies_over_a_missing_message(data: st.DataObject, rule: EndRule) -> None:
    """Pages, live messages, deletions, refusals and races in any order: what is covered is stored."""
    world = World(rule)
    for _ in range(data.draw(st.integers(1, 25))):
        match data.draw(st.sampled_from(["post", "delete", "live", "break", "page", "page", "page"])):
            case "post":
                world.post(data.draw(st.integers(1, 3)))
            case "delete" if world.alive:
                world.alive.discard(data.draw(st.sampled_from(sorted(world.alive))))
            case "live":
                world.live_since = world.newest
            case "break":
                world.live_since = None
            case "page":
                read_a_page(world, data)
        assert not world.missed()


def read_a_page(world: World, data: st.DataObject) -> None:
    """Ask for a page, sensible or not, with messages posted before the answer and between answer and commit."""
    bound = st.integers(1, world.newest + 5)
    floor = st.none() | st.integers(0, world.newest + 2)
    anything = st.one_of(
        st.builds(PageAsked, st.just(Walk.NEWEST), floor=floor),
        st.builds(PageAsked, st.just(Walk.BEFORE), bound, floor),
        st.builds(PageAsked, st.just(Walk.AFTER), bound),
    )
    head = data.draw(st.sampled_from([world.newest, max(0, world.newest - 2)]), label="head known")
    asked = data.draw(anything) if data.draw(st.booleans()) else next_page(world.coverage, head=head)
    if asked is None:
        return
    stored_then, alive_then = set(world.stored), set(world.alive)
    for _ in range(data.draw(st.integers(0, 2))):
        world.post()
    may_read = data.draw(st.integers(0, 5)) > 0
    page = world.answer(asked, data.draw(st.integers(0, 3))) if may_read else []
    for _ in range(data.draw(st.integers(0, 2))):
        world.post()
    live = world.stored - stored_then
    world.stored = stored_then
    deleted = world.take(asked, page, head=head, may_read=may_read)
    world.stored |= live
    assert not deleted & alive_then


@given(
    steps=st.lists(st.integers(1, 9), max_size=60),
    rule=st.sampled_from(EndRule),
    covered=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=4),
    upwards=st.booleans(),
    shorter=st.integers(0, 3),
)
def test_the_walk_ends_with_the_whole_history(
    steps: list[int], rule: EndRule, covered: list[tuple[int, int]], upwards: bool, shorter: int
) -> None:
    """From any coverage the next pages lead to all messages, none asked for twice without need, and then to rest."""
    world = World(rule)
    for step in steps:
        world.post(step)
    head = world.newest
    world.coverage = Coverage.of([(low, min(low + size, head)) for low, size in covered if low <= head])
    world.stored = {message for message in world.alive if message in world.coverage}
    known, gaps, pages = len(world.stored), len(world.coverage.gaps(head=head)), 0
    while (asked := next_page(world.coverage, head=head, upwards=upwards and rule is DISCORD)) is not None:
        world.take(asked, world.answer(asked, shorter), head=head)
        pages += 1
        assert pages <= len(steps) - known + gaps, "each page brings a message or closes a gap"
    assert world.stored == world.alive
    assert world.coverage.gaps(head=head) == []


def catch_up(missed: int, *, limit: int = 100) -> int:
    """How many pages a catch-up takes upwards, where *missed* messages follow what is covered."""
    world = World(DISCORD, limit=limit, coverage=Coverage((Span(0, 1_000),)), newest=1_000)
    for _ in range(missed):
        world.post(step=7)
    pages = 0
    while (asked := next_page(world.coverage, head=world.newest, upwards=True)) is not None:
        world.take(asked, world.answer(asked), head=world.newest)
        pages += 1
    assert world.stored == world.alive
    return pages


@pytest.mark.parametrize(("missed", "pages"), [(0, 0), (1, 1), (99, 1), (100, 1), (101, 2), (5_000, 50)])
def test_h05_h06_a_full_last_page_that_reaches_the_head_needs_no_other(missed: int, pages: int) -> None:
    """H-05, H-06: 100 missed messages are one call, 5,000 are fifty, and no page overlaps another."""
    assert catch_up(missed) == pages


def test_s27_s28_a_walk_that_failed_leaves_a_gap_and_only_that_is_walked() -> None:
    """S-27, S-28: two of six pages are kept; the next cycle reads the other four, and coverage is one stretch."""
    world = World(TELEGRAM, limit=100, coverage=Coverage((Span(0, 1_000),)), newest=1_000)
    for _ in range(600):
        world.post()
    for _ in range(2):
        asked = next_page(world.coverage, head=1_600)
        assert asked is not None
        world.take(asked, world.answer(asked), head=1_600)
    assert world.coverage.gaps(head=1_600) == [Span(1_001, 1_400)]
    pages = []
    while (asked := next_page(world.coverage, head=1_600)) is not None:
        world.take(asked, world.answer(asked), head=1_600)
        pages.append(asked)
    assert pages == [before(bound, floor=1_000) for bound in (1_401, 1_301, 1_201, 1_101)]
    assert world.coverage.spans == (Span(0, 1_600),)


def test_s31_what_is_too_long_to_be_told_stays_a_gap() -> None:
    """S-31: the newest messages that came along are stored as their own stretch; the gap below is found and filled."""
    coverage = Coverage((Span(0, 500),)).with_span(Span(5_490, 5_500))
    assert next_page(coverage, head=5_500) == before(5_490, floor=500)


@pytest.mark.parametrize(
    ("spans", "upto", "known_from"),
    [
        ([], 0, None),
        ([], 1, 2),
        ([(0, 9)], 9, None),
        ([(0, 9)], 0, None),
        ([(0, 9)], 10, 11),
        ([(1, 9)], 9, 1),
        ([(0, 3), (5, 9)], 9, 5),
        ([(0, 3), (5, 9)], 5, 5),
        ([(0, 3), (5, 9)], 4, 5),
        ([(0, 3), (5, 9)], 3, None),
    ],
)
def test_from_where_on_everything_is_known(spans: list[tuple[int, int]], upto: int, known_from: int | None) -> None:
    """Down to the first gap below, ends included; nothing when the message itself is missing."""
    assert incomplete_before(Coverage.of(spans), upto=upto) == known_from
