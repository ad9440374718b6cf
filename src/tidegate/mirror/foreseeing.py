"""What the next cycle would decide and spend, without spending anything (``tidegate plan``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.guilds import verdict_of
from tidegate.rules.planning import Calls, SelectedTopic, foresee_channel, foresee_gate, foresee_guilds, foresee_topics
from tidegate.rules.retrying import FailureState, calls_to_retry, state_of
from tidegate.rules.scanning import Verdict, decide_scan, takes_turn
from tidegate.store import channels, cycles, due, failures, guilds, histories
from tidegate.store.database import Connection
from tidegate.store.due import Moment, Sleepers
from tidegate.store.places import Memory, Place
from tidegate.words import Account, Platform


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
    """The plan of an account's next full cycle, from its memory alone.

    Of guilds it says what the channels known now may take, if none of them is lost meanwhile.
    """
    async with _as_if_begun(connection, account):
        if account.platform is Platform.DISCORD:
            return await _foresee_guilds(connection, account, habits)
        return await _foresee(connection, account, habits)


@asynccontextmanager
async def _as_if_begun(connection: Connection, account: Account) -> AsyncIterator[None]:
    """Channels that nobody reads a cycle would make its own; here they are given back in the end."""
    claiming = connection.transaction()
    await claiming.start()
    try:
        await channels.claim_readers(connection, account.id)
        yield
    finally:
        await claiming.rollback()


# Guilds


async def _foresee_guilds(connection: Connection, account: Account, habits: CycleHabits) -> Plan:
    cycle, _ = await cycles.current(connection, account.id)
    known = await guilds.extent(connection, account.id)
    unfinished = await histories.unfinished(connection, account.id, habits.history.target)
    verdicts = Counter(verdict_of(one) for one in unfinished)
    asked = known.channels + known.threads - len(unfinished) + verdicts.pop(Verdict.UNCHANGED, 0)
    calls = foresee_guilds(
        guilds=known.guilds,
        channels=known.channels,
        threads=known.threads,
        unfinished=len(unfinished),
        most_pages=habits.history.turn.most_pages,
    )
    return Plan(account.name, cycle + 1, calls, verdicts + Counter({Verdict.GATE: asked}))


# Channels that are gated many to a call


async def _foresee(connection: Connection, account: Account, habits: CycleHabits) -> Plan:
    memory, asleep = await _memory(connection, account, habits)
    cycle = memory.cycle + 1
    verdicts = Counter(
        decide_scan(place.memory, habits.scans, now=memory.now, turn=cycle + place.turn_offset)
        for place in memory.places
    )
    for topics in memory.wanted.values():
        verdicts.update(topics.values())
    verdicts = sum(asleep.values(), verdicts)
    messages = await _messages_to_retry(connection, memory, habits)
    return Plan(account.name, cycle, _calls(memory, asleep, habits, messages), verdicts)


async def _memory(
    connection: Connection, account: Account, habits: CycleHabits
) -> tuple[Memory, Mapping[int, Counter[Verdict]]]:
    """What the cycle would start from, and the verdicts of sleeping topics by the key of their forum."""
    memory = await due.load_awake(connection, account.id, habits.scans, habits.retries)
    forums = {place.key for place in memory.places if place.is_whole and place.by_topic}
    sleepers = Sleepers(forums, {(place.key, place.topic) for place in memory.places})
    moment = Moment(memory.now, memory.cycle + 1, whole=True)
    return memory, await due.count_asleep(connection, sleepers, habits.scans, moment)


def _calls(
    memory: Memory, asleep: Mapping[int, Counter[Verdict]], habits: CycleHabits, messages: Counter[int]
) -> Calls:
    cycle = memory.cycle + 1
    topics: dict[int, dict[int, SelectedTopic]] = {}

    def turn(place: Place) -> bool:
        return takes_turn(place.memory, habits.scans, now=memory.now, turn=cycle + place.turn_offset)

    for place in memory.places:
        if not place.is_whole:
            topics.setdefault(place.key, {})[place.topic] = SelectedTopic(place.memory, its_turn=turn(place))
    whole = [place for place in memory.places if place.is_whole]
    total = foresee_gate(sum(place.memory.readable for place in whole), habits.limits)
    for place in whole:
        others = {"wanted": len(memory.wanted.get(place.key, ())), "asleep": asleep.get(place.key, Counter()).total()}
        selected = foresee_topics(topics.get(place.key, {}), habits.limits, **others)
        total += _channel(place, selected, habits, its_turn=turn(place))
        fetches = calls_to_retry(messages[place.key])
        total += Calls(min(fetches, 1), fetches)  # what fails on the way is left for the next cycle
    return total


async def _messages_to_retry(connection: Connection, memory: Memory, habits: CycleHabits) -> Counter[int]:
    """How many messages the failures that are due have, by our numbers of their channels."""
    to_retry = {
        one.archive: one.key
        for one in memory.failed
        if not one.in_hand and state_of(one.failure, habits.retries, memory.now) is FailureState.DUE
    }
    parts = await failures.messages_of(connection, list(to_retry))
    counted: Counter[int] = Counter()
    for archive, key in to_retry.items():
        counted[key] += max(1, len(parts.get(archive, ())))
    return counted


def _channel(place: Place, selected: Calls, habits: CycleHabits, *, its_turn: bool) -> Calls:
    """What reading a channel takes, or its *selected* topics. Lost on the way it ends early: one call is certain."""
    limits = habits.limits
    if not place.memory.readable:
        return Calls()
    if place.by_topic:
        found = selected
    else:
        found = foresee_channel(replace(place.memory, failures_to_retry=0), limits, its_turn=its_turn)
    listing = limits.pages_a_turn if place.memory.last_scanned_at is None else 0  # it may be a forum by now
    history = habits.history.turn.most_pages if place.lacks_history else 0
    return Calls(min(found.at_least, 1), found.at_most + listing + history)
