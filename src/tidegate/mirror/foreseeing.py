"""What the next cycle would decide and spend, without spending anything (``tidegate plan``)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tidegate.mirror.cycle import CycleHabits
from tidegate.rules.planning import Calls, SelectedTopic, foresee_channel, foresee_topics, gate_calls
from tidegate.rules.scanning import Verdict, decide_scan, takes_turn
from tidegate.store import places
from tidegate.store.database import Connection
from tidegate.store.places import Memory, Place
from tidegate.words import Account


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known before the gate is asked; the real cycle's calls lie between the two bounds."""

    account: str
    cycle: int
    calls: Calls
    verdicts: Counter[Verdict]

    def as_json(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "cycle": self.cycle,
            "calls_at_least": self.calls.at_least,
            "calls_at_most": self.calls.at_most,
            "verdicts": {verdict.key: count for verdict, count in self.verdicts.items()},
        }


async def foresee(connection: Connection, account: Account, habits: CycleHabits) -> Plan:
    """The plan of an account's next full cycle, from its memory alone."""
    memory = await places.load(connection, account.id, habits.retries)
    cycle = memory.cycle + 1
    verdicts = Counter(
        decide_scan(place.memory, habits.scans, now=memory.now, turn=cycle + place.turn_offset)
        for place in memory.places
    )
    return Plan(account.name, cycle, _calls(memory, cycle, habits), verdicts)


def _calls(memory: Memory, cycle: int, habits: CycleHabits) -> Calls:
    topics: dict[int, dict[int, SelectedTopic]] = {}

    def turn(place: Place) -> bool:
        return takes_turn(place.memory, habits.scans, now=memory.now, turn=cycle + place.turn_offset)

    for place in memory.places:
        if not place.is_whole:
            topics.setdefault(place.key, {})[place.topic] = SelectedTopic(place.memory, its_turn=turn(place))
    whole = [place for place in memory.places if place.is_whole]
    gated = gate_calls(sum(place.memory.readable for place in whole), habits.limits)
    # A batch with a channel that is gone is asked again in halves, until that one is alone.
    total = Calls(gated.at_least, gated.at_most + 2 * sum(place.memory.readable for place in whole))
    for place in whole:
        total += _channel(place, topics.get(place.key, {}), habits, its_turn=turn(place))
    return total


def _channel(place: Place, topics: dict[int, SelectedTopic], habits: CycleHabits, *, its_turn: bool) -> Calls:
    """A channel's calls. One lost on the way ends early, so only those before its first reading are certain."""
    limits = habits.limits
    if not place.memory.readable:
        return Calls()
    retries = -(-place.memory.failures_to_retry // 100)
    if place.by_topic:
        found = foresee_topics(topics, limits)
        return Calls(min(found.at_least, 1), found.at_most + retries * limits.pages_a_turn + limits.pages_a_turn)
    found = foresee_channel(place.memory, limits, its_turn=its_turn)
    listing = limits.pages_a_turn if place.forum else 0  # titles of topics that are new
    too_long = limits.pages_a_turn  # a difference that is refused as too long becomes a search
    history = habits.history.turn.most_pages if place.lacks_history else 0
    return Calls(found.at_least, found.at_most + listing + too_long + history + retries * limits.pages_a_turn)
