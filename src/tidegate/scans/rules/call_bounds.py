"""Which calls follow the gate, and how many a cycle can take: the forecast of `tidegate plan` (seed 000)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidegate.archives.rules.retry import calls_to_retry
from tidegate.core.ids import TopicId
from tidegate.scans.rules.scan_decision import GateChange, ScanMemory, judge_topic


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How much one call carries, and how many calls one place gets per cycle.

    ``most_changes``: with more missed events than this, a search is cheaper than the difference. ``pages_a_turn``: the
    maximum number of calls for one place in a cycle, with those for the titles of new topics. It is at least 2, for a
    difference that is refused and the search that replaces it. Listing a forum's topics has as many again.
    """

    gate_batch: int = 100
    heads_batch: int = 100
    most_changes: int = 300
    pages_a_turn: int = 50

    def __post_init__(self) -> None:
        if min(self.gate_batch, self.heads_batch, self.most_changes, self.pages_a_turn) < 1:
            raise ValueError(f"call limits count from 1: {self}")
        if self.pages_a_turn < 2:
            raise ValueError(f"a place gets at least two calls: {self}")


@dataclass(frozen=True, slots=True)
class CallBounds:
    """How many calls something takes; the real number lies between the two, both included."""

    at_least: int = 0
    at_most: int = 0

    def __add__(self, other: CallBounds) -> CallBounds:
        return CallBounds(self.at_least + other.at_least, self.at_most + other.at_most)


class ReadPlan(StrEnum):
    """How a channel is read after the gate."""

    NOTHING = "nothing to read"
    DIFFERENCE = "the changes since the last scan"
    SEARCH = "a search for documents over the whole chat, down to the watermark"


def gate_calls(channels: int, limits: CallLimits) -> CallBounds:
    """The gate's own calls for this number of channels."""
    batches = -(-channels // limits.gate_batch)
    return CallBounds(batches, batches)


def foresee_gate(channels: int, limits: CallLimits) -> CallBounds:
    """What the gate may cost before it is asked.

    A batch with a channel that is gone is asked again in halves until that channel is alone. So a batch takes at most
    twice as many calls as it has channels, less one.
    """
    batches = gate_calls(channels, limits).at_least
    return CallBounds(batches, 2 * channels - batches)


def plan_reading(
    memory: ScanMemory, change: GateChange, *, changes: int | None, limits: CallLimits, its_turn: bool
) -> ReadPlan:
    """How to read a channel, the gate having answered *change* with the counter *changes*.

    The difference is exact but costs calls for every event; a search costs calls for documents only. The search is used
    when there are too many events, or no counter to continue from. Where nothing changed, the operator's request or a
    cold channel's turn is one search beyond the gate. Where the platform refuses a difference as too long, the search
    replaces it, within the same number of pages.
    """
    if not memory.readable:
        return ReadPlan.NOTHING
    if memory.last_scanned_at is None or memory.changes is None:
        return ReadPlan.SEARCH
    if change is GateChange.UNCHANGED:
        return ReadPlan.SEARCH if memory.asked or its_turn else ReadPlan.NOTHING
    missed = 0 if changes is None else changes - memory.changes
    return ReadPlan.SEARCH if missed > limits.most_changes else ReadPlan.DIFFERENCE


def foresee_channel(memory: ScanMemory, limits: CallLimits, *, its_turn: bool) -> CallBounds:
    """What a channel may cost beside the gate, before the gate was asked: whatever it answers lies within."""
    if not memory.readable:
        return CallBounds()
    retries = calls_to_retry(memory.failures_to_retry)
    sure = memory.last_scanned_at is None or memory.changes is None or memory.asked or its_turn
    return CallBounds(retries, retries) + CallBounds(1 if sure else 0, limits.pages_a_turn)


def foresee_guilds(*, guilds: int, channels: int, threads: int, unfinished: int, most_pages: int) -> CallBounds:
    """What a cycle over guilds may cost, before the heads of their channels are known.

    Of the *unfinished* something is missing, so each takes a call. Where the gateway has sent all heads, that costs
    nothing, else two calls a guild. Each channel is read for up to *most_pages*. A thread may be read once more when it
    was archived, and once more when the archived ones are listed.
    """
    return CallBounds(unfinished, 2 * guilds + channels * most_pages + threads * (1 + 2 * most_pages))


@dataclass(frozen=True, slots=True)
class SelectedTopic:
    """A topic that the operator follows on its own, and whether it has its turn in this cycle."""

    memory: ScanMemory
    its_turn: bool = False

    @property
    def is_read_anyway(self) -> bool:
        return self.memory.last_scanned_at is None or self.memory.asked or self.its_turn


@dataclass(frozen=True, slots=True)
class TopicsReading:
    """Which topics' newest messages to ask for, which topics to search whatever those say, and the calls it takes."""

    heads: tuple[TopicId, ...]
    searches: tuple[TopicId, ...]
    calls: CallBounds


def plan_topics(topics: Mapping[TopicId, SelectedTopic], change: GateChange, limits: CallLimits) -> TopicsReading:
    """How to read the selected topics of a forum, the gate having answered *change* for the forum as a whole.

    An unchanged forum has no changed topic. Otherwise the newest message of each, many to a call, shows which changed.
    """
    searches = tuple(sorted(number for number, topic in topics.items() if topic.is_read_anyway))
    heads = () if change is GateChange.UNCHANGED else tuple(sorted(topics.keys() - set(searches)))
    batches = -(-len(heads) // limits.heads_batch)
    most = batches + (len(heads) + len(searches)) * limits.pages_a_turn
    return TopicsReading(heads, searches, CallBounds(batches + len(searches), most))


def topics_to_search(
    topics: Mapping[TopicId, SelectedTopic], asked: Iterable[TopicId], newest: Mapping[TopicId, int]
) -> tuple[TopicId, ...]:
    """Of the topics whose newest message was *asked* for, those to search: each that moved, or got no answer."""
    return tuple(
        number for number in asked if judge_topic(topics[number].memory, newest.get(number)) is not GateChange.UNCHANGED
    )


def foresee_topics(
    topics: Mapping[TopicId, SelectedTopic], limits: CallLimits, *, wanted: int = 0, asleep: int = 0
) -> CallBounds:
    """What the selected topics of a forum may cost, before the gate was asked.

    Further topics are given as counts. Those *wanted* are read anyway. Those *asleep* are read only when they changed,
    for which their heads are requested when the forum changed. The forum's own changes are read in its own turn.
    """
    read_anyway = sum(topic.is_read_anyway for topic in topics.values())
    heads = len(topics) - read_anyway + asleep
    most = -(-heads // limits.heads_batch) + (len(topics) + wanted + asleep + 1) * limits.pages_a_turn
    return CallBounds(read_anyway + wanted, most)
