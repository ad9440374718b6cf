"""How a search finds its messages: by looking at the newest ones, or by the index of words, and how far back.

The index of words has no order in time: of a common word it would return all messages to be sorted. Looking at message
after message has one, but for a rare word it would look at all. So each search is surveyed first: how many of the
newest messages fit, and how many of a fixed sample, and since when. ``docs/decisions/0010`` explains the choice.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from tidegate.core.ids import ChannelKey
from tidegate.search.rules.query_language import Query

RANKED = 2_000
"""Maximum number of the newest matches that are ranked by relevance; older ones are found by newest first."""

LOOKED = 500
"""How many of the newest messages a survey looks at."""

DENSE = 20
"""When this number of them fits, a sample is not needed: the matches lie close enough to be met on the way back."""

SAMPLED_OF = 256
"""One of this number of messages is in the sample, chosen by a hash of its number."""

PART_SAMPLED = 1_000
"""Up to this number the sampled messages with each single word are counted."""

_LOOK, _FIND, _KEY, _ENTRY = 0.5, 2.5, 0.03, 0.3
"""What it costs, in microseconds as measured: to look at a message, to read one that the index names, and to read an
entry of the index, of an exact key and of a word's beginning."""

_SPARE = 4  # it ends as soon as there are enough; only when it finds too few does all of it cost time
_LONGEST_WALK = 40_000
_LONG = 35_000  # microseconds, after which relevance ranks fewer matches
_MOST_KEYS = 40
_MOST_CHANNELS = 16
_TIMES = ((86_400, 0), (1_382_400, 1_000_000_000), (22_118_400, 2_000_000_000))
"""Spans of time that the index knows, in seconds, and where their numbers begin; ``search_keys`` makes them in SQL."""


class HitOrder(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search and its bounds. *channels* are our numbers of those to look in; None looks everywhere.

    *hidden* are those that are not looked in.
    """

    query: Query
    channels: Collection[ChannelKey] | None
    order: HitOrder
    most: int
    hidden: Collection[ChannelKey] = ()

    @property
    def depth(self) -> int:
        """How many of the newest matches have to be known."""
        return self.most + 1 if self.order is HitOrder.NEWEST else max(RANKED, self.most + 1)

    @property
    def only_channel(self) -> ChannelKey | None:
        """The one channel whose messages are looked at in the order of their numbers, which is that of time."""
        return next(iter(self.channels)) if self.channels and len(self.channels) == 1 and self._to_the_newest else None

    @property
    def channel_keys(self) -> list[int]:
        """The channels as the index knows them, unless they are too many to be asked for."""
        return [-one for one in self.channels or ()] if len(self.channels or ()) <= _MOST_CHANNELS else []

    @property
    def indexed(self) -> bool:
        """Whether the index of words can find it: something has to be there, not only to be missing."""
        return bool(self.query.parts or self.channel_keys or self.query.topic is not None)

    @property
    def sample_edges(self) -> tuple[int, int]:
        """Since which of its newest sampled matches a search most likely has enough matches, for a page and in all."""
        return self.most // SAMPLED_OF + 2, max(self.depth // SAMPLED_OF + 3, 8)

    @property
    def _to_the_newest(self) -> bool:
        return self.query.before is None


@dataclass(frozen=True, slots=True)
class Survey:
    """What a survey saw: of the newest messages *looked* at, those *fitting*; and of the sample, those that match.

    *lows* are when the matches at the request's ``sample_edges`` were posted, None where there are fewer; *newer* how
    many sampled messages there are since then, of *total* in all; *newest* is the newest message of the span. *parts*
    are the sampled messages with each word alone, *in_channel* those of the only channel.
    """

    looked: int
    fitting: int
    sampled: int = 0
    lows: tuple[datetime | None, ...] = ()
    newer: tuple[int, ...] = ()
    newest: datetime | None = None
    parts: tuple[int, ...] = ()
    in_channel: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How messages are found.

    Without *by_index* the newest *rows* messages are looked at, None is all of them. By the index, only messages since
    *low* are read, as the index knows them by *time_keys*; it is asked for *words*, which other words narrow further.
    """

    by_index: bool
    words: str = ""
    rows: int | None = None
    low: datetime | None = None
    time_keys: tuple[int, ...] = ()

    @property
    def is_bounded(self) -> bool:
        """Whether older matches may have been left out."""
        return self.rows is not None or self.low is not None


class _Lookup(NamedTuple):
    """What the index may be asked for: *words*, how many of its *entries* that reads, how many messages it names."""

    words: str
    entries: int
    named: int


def unbounded(asked: SearchRequest, survey: Survey) -> SearchPlan:
    """The plan that leaves nothing out, whatever it costs."""
    if not asked.indexed:
        return SearchPlan(by_index=False)
    everywhere = {_everywhere(one): _cost(one, one.named) for one in _lookups(asked, survey)}
    return min(everywhere, key=lambda plan: everywhere[plan])


def decide_plan(asked: SearchRequest, survey: Survey) -> SearchPlan:
    """The cheapest way by what the survey saw. A bounded plan may find too few; then ``unbounded`` follows.

    Relevance ranks fewer matches where it would take too long to find as many as it may rank.
    """
    if survey.looked < LOOKED:
        return SearchPlan(by_index=False)
    if survey.fitting >= DENSE:
        return _walk(asked.depth * survey.looked / survey.fitting)
    if not asked.indexed:
        return unbounded(asked, survey)
    costs = _costs(asked, survey)
    if asked.order is HitOrder.RELEVANCE and min(costs.values()) > _LONG:
        costs |= _windows(asked, survey, 0)
    return min(costs, key=lambda plan: costs[plan])


def _costs(asked: SearchRequest, survey: Survey) -> dict[SearchPlan, float]:
    costs = {_everywhere(one): _cost(one, one.named) for one in _lookups(asked, survey)}
    if asked.only_channel is not None:
        costs[SearchPlan(by_index=False)] = survey.in_channel * SAMPLED_OF * _LOOK
    if asked.order is HitOrder.NEWEST:
        costs |= _windows(asked, survey, 0)
    return costs | _windows(asked, survey, 1)


def _everywhere(lookup: _Lookup) -> SearchPlan:
    return SearchPlan(by_index=True, words=lookup.words)


def _windows(asked: SearchRequest, survey: Survey, edge: int) -> dict[SearchPlan, float]:
    """What it costs to read only as far back as an edge of the sample, one way and the other."""
    low = survey.lows[edge] if survey.lows else None
    if low is None or survey.newest is None:
        return {}
    costs = {}
    matches = asked.sample_edges[edge] * SAMPLED_OF
    apart = max(newer / matched for newer, matched in zip(survey.newer, asked.sample_edges, strict=True))
    walk = min(asked.depth, matches) * apart
    if walk <= _LONGEST_WALK and asked.only_channel is None:
        costs[_walk(walk)] = walk * _LOOK
    keys = time_keys(low, survey.newest)
    share = min(1.0, survey.newer[edge] / max(1, survey.total))
    for one in _lookups(asked, survey) if keys else ():
        found = matches if one.words == asked.query.row_query else max(matches, one.named * share)
        plan = SearchPlan(by_index=True, words=one.words, low=low, time_keys=keys)
        costs[plan] = _cost(one, found) + min(survey.newer[edge] * SAMPLED_OF, 3 * one.entries) * _KEY
    return costs


def _cost(lookup: _Lookup, found: float) -> float:
    return lookup.entries * _ENTRY + found * _FIND


def _lookups(asked: SearchRequest, survey: Survey) -> list[_Lookup]:
    """The index asked for all words that have to be there, and for the rarest alone.

    It reads the entries of every word that it is asked for, also those of one that nearly all messages have. Without
    such a word in it, messages are named that do not fit, and tested.
    """
    parts = asked.query.parts
    counted = dict(zip(parts, survey.parts, strict=True)) if survey.parts else dict.fromkeys(parts, 0)
    known = {part: count for part, count in counted.items() if count < PART_SAMPLED} or counted
    rarest = min(known, key=lambda part: known[part], default="")
    lookups = []
    for chosen in ([*known], [rarest] if rarest else []):
        words = " & ".join(chosen)
        named = min((known[part] for part in chosen), default=survey.in_channel)
        named = survey.sampled if len(chosen) == len(parts) else named
        named = named if asked.only_channel is None else min(named, survey.in_channel)
        lookups.append(_Lookup(words, sum(known[part] for part in chosen) * SAMPLED_OF, named * SAMPLED_OF))
    return lookups


def time_keys(low: datetime, high: datetime) -> tuple[int, ...]:
    """The time from *low* to *high* as the index knows it, by the shortest spans that are few enough; else nothing."""
    for seconds, begin in _TIMES:
        first, last = (int(one.timestamp() // seconds) for one in (low, high))
        if last - first < _MOST_KEYS:
            return tuple(range(begin + first, begin + last + 1))
    return ()


def _walk(rows: float) -> SearchPlan:
    return SearchPlan(by_index=False, rows=min(int(_SPARE * rows) + LOOKED, _LONGEST_WALK))
