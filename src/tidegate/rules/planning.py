"""Which calls follow the gate, and how many a cycle can take: what `tidegate plan` foretells (seed 000)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidegate.rules.retrying import calls_to_retry
from tidegate.rules.scanning import Change, ScanMemory, judge_topic


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How much one call carries, and how far one turn goes.

    ``most_changes``: more missed events than this, and a search is cheaper than the difference. ``pages_a_turn``: the
    most calls that reading one place makes in a cycle, those for the titles of new topics included; at least 2, for a
    difference that is refused and the search that takes its place. Listing a forum's topics once has as many again.
    """

    gate_batch: int = 100
    heads_batch: int = 100
    most_changes: int = 300
    pages_a_turn: int = 50

    def __post_init__(self) -> None:
        if min(self.gate_batch, self.heads_batch, self.most_changes, self.pages_a_turn) < 1:
            raise ValueError(f"call limits count from 1: {self}")
        if self.pages_a_turn < 2:
            raise ValueError(f"a turn has at least two calls: {self}")


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls something takes; the real number lies between the two, both included."""

    at_least: int = 0
    at_most: int = 0

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.at_least + other.at_least, self.at_most + other.at_most)


class Reading(StrEnum):
    """How a channel is read after the gate."""

    NOTHING = "nothing to read"
    DIFFERENCE = "the changes since the last scan"
    SEARCH = "a search for documents over the whole chat, down to the watermark"


def gate_calls(channels: int, limits: CallLimits) -> Calls:
    """The gate's own calls for so many channels."""
    batches = -(-channels // limits.gate_batch)
    return Calls(batches, batches)


def foresee_gate(channels: int, limits: CallLimits) -> Calls:
    """What the gate may cost before it is asked.

    A batch with a channel that is gone is asked again in halves until that one is alone, so a batch takes at most twice
    as many calls as it has channels, less one.
    """
    batches = gate_calls(channels, limits).at_least
    return Calls(batches, 2 * channels - batches)


def plan_reading(
    memory: ScanMemory, change: Change, *, changes: int | None, limits: CallLimits, its_turn: bool
) -> Reading:
    """How to read a channel, the gate having answered *change* with the counter *changes*.

    The difference is exact but pays for every event, the search pays for documents only: it is taken when too many
    events would have to be read, or when there is no counter to read on from. Where nothing changed, a person's wish
    or a cold channel's turn is one search beyond the gate. A platform that refuses a difference as too long gets the
    search as well, within the same number of pages.
    """
    if not memory.readable:
        return Reading.NOTHING
    if memory.last_scanned_at is None or memory.changes is None:
        return Reading.SEARCH
    if change is Change.UNCHANGED:
        return Reading.SEARCH if memory.asked or its_turn else Reading.NOTHING
    missed = 0 if changes is None else changes - memory.changes
    return Reading.SEARCH if missed > limits.most_changes else Reading.DIFFERENCE


def foresee_channel(memory: ScanMemory, limits: CallLimits, *, its_turn: bool) -> Calls:
    """What a channel may cost beside the gate, before the gate was asked: whatever it answers lies within."""
    if not memory.readable:
        return Calls()
    retries = calls_to_retry(memory.failures_to_retry)
    sure = memory.last_scanned_at is None or memory.changes is None or memory.asked or its_turn
    return Calls(retries, retries) + Calls(1 if sure else 0, limits.pages_a_turn)


def foresee_guilds(*, guilds: int, channels: int, threads: int, unfinished: int, most_pages: int) -> Calls:
    """What a pass over guilds may cost, before anybody says where their channels stand.

    Of the *unfinished* something is known to be missing, so each takes a call. Where the gateway told where all stand,
    that costs nothing, else two calls a guild. Each channel has a turn of *most_pages*. A thread may be looked at once
    more when it fell asleep, and have another turn when the archived ones are listed.
    """
    return Calls(unfinished, 2 * guilds + channels * most_pages + threads * (1 + 2 * most_pages))


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

    heads: tuple[int, ...]
    searches: tuple[int, ...]
    calls: Calls


def plan_topics(topics: Mapping[int, SelectedTopic], change: Change, limits: CallLimits) -> TopicsReading:
    """How to read the selected topics of a forum, the gate having answered *change* for the forum as a whole.

    An unchanged forum has no changed topic. Otherwise the newest message of each, many to a call, tells which moved.
    """
    searches = tuple(sorted(number for number, topic in topics.items() if topic.is_read_anyway))
    heads = () if change is Change.UNCHANGED else tuple(sorted(topics.keys() - set(searches)))
    batches = -(-len(heads) // limits.heads_batch)
    most = batches + (len(heads) + len(searches)) * limits.pages_a_turn
    return TopicsReading(heads, searches, Calls(batches + len(searches), most))


def topics_to_search(
    topics: Mapping[int, SelectedTopic], asked: Iterable[int], newest: Mapping[int, int]
) -> tuple[int, ...]:
    """Of the topics whose newest message was *asked* for, those to search: each that moved, or got no answer."""
    return tuple(
        number for number in asked if judge_topic(topics[number].memory, newest.get(number)) is not Change.UNCHANGED
    )


def foresee_topics(
    topics: Mapping[int, SelectedTopic], limits: CallLimits, *, wanted: int = 0, asleep: int = 0
) -> Calls:
    """What the selected topics of a forum may cost, before the gate was asked.

    Further ones are told by their number: those *wanted* are read anyway, those *asleep* only when they moved, about
    which they are asked when the forum changed.
    """
    read_anyway = sum(topic.is_read_anyway for topic in topics.values())
    heads = len(topics) - read_anyway + asleep
    most = -(-heads // limits.heads_batch) + (len(topics) + wanted + asleep) * limits.pages_a_turn
    return Calls(read_anyway + wanted, most)
