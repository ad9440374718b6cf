"""A forecast of the next cycle: its verdicts and number of calls, computed without a call (``tidegate plan``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from tidegate.archives.queries import failures
from tidegate.archives.rules.retry import FailureState, calls_to_retry, state_of
from tidegate.channels.queries import channels, guilds, message_counts
from tidegate.core.account import Account
from tidegate.core.ids import ChannelKey, CycleNumber, TopicId
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.guild_cycle import verdict_of
from tidegate.cycles.message_count_check import AT_ONCE
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Connection
from tidegate.history.queries import channel_histories
from tidegate.scans.queries import due_topics
from tidegate.scans.queries.due_topics import CycleMoment, IdleTopics
from tidegate.scans.queries.scan_memory import AccountMemory, ScanPlace
from tidegate.scans.rules.call_bounds import (
    CallBounds,
    SelectedTopic,
    foresee_channel,
    foresee_gate,
    foresee_guilds,
    foresee_topics,
)
from tidegate.scans.rules.scan_decision import Verdict, decide_scan, takes_turn


@dataclass(frozen=True, slots=True)
class CycleForecast:
    """What is known before the gate is asked; the number of calls of the real cycle lies between the two bounds."""

    account: str
    cycle: CycleNumber
    calls: CallBounds
    verdicts: Counter[Verdict]

    def as_json(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "cycle": self.cycle,
            "calls_at_least": self.calls.at_least,
            "calls_at_most": self.calls.at_most,
            "verdicts": {verdict.key: count for verdict, count in self.verdicts.items()},
        }


async def foresee(connection: Connection, account: Account, policy: CyclePolicy) -> CycleForecast:
    """The plan of an account's next full cycle, from its memory alone.

    For guilds it covers the channels known now, and assumes that none of them is lost before the cycle.
    """
    async with _as_if_begun(connection, account):
        if account.platform.has_guilds:
            return await _foresee_guilds(connection, account, policy)
        return await _foresee(connection, account, policy)


@asynccontextmanager
async def _as_if_begun(connection: Connection, account: Account) -> AsyncIterator[None]:
    """Take over the channels that no account reads, as a cycle would, and roll that back at the end."""
    claiming = connection.transaction()
    await claiming.start()
    try:
        await channels.claim_readers(connection, account.id)
        yield
    finally:
        await claiming.rollback()


# Guilds


async def _foresee_guilds(connection: Connection, account: Account, policy: CyclePolicy) -> CycleForecast:
    cycle, _ = await cycles.current(connection, account.id)
    known = await guilds.extent(connection, account.id)
    unfinished = await channel_histories.unfinished(connection, account.id, policy.history.target)
    verdicts = Counter(verdict_of(one) for one in unfinished)
    asked = known.channels + known.threads - len(unfinished) + verdicts.pop(Verdict.UNCHANGED, 0)
    calls = foresee_guilds(
        guilds=known.guilds,
        channels=known.channels,
        threads=known.threads,
        unfinished=len(unfinished),
        most_pages=policy.history.budget.most_pages,
    ) + CallBounds(0, 2 * min(AT_ONCE, known.threads))
    return CycleForecast(account.name, CycleNumber(cycle + 1), calls, verdicts + Counter({Verdict.GATE: asked}))


# Channels that are gated, many in one call


async def _foresee(connection: Connection, account: Account, policy: CyclePolicy) -> CycleForecast:
    memory, asleep = await _memory(connection, account, policy)
    cycle = CycleNumber(memory.cycle + 1)
    verdicts = Counter(
        decide_scan(place.memory, policy.scans, now=memory.now, turn=cycle + place.turn_offset)
        for place in memory.places
    )
    for topics in memory.wanted.values():
        verdicts.update(topics.values())
    verdicts = sum(asleep.values(), verdicts)
    messages = await _messages_to_retry(connection, memory, policy)
    unread = any(place.memory.unread_upto is not None for place in memory.places)
    compared = policy.history.reconcile_calls if unread else 0
    histories = await channel_histories.count(connection, account.id)
    counters = histories + len(memory.places)  # one of messages for each history, one of documents for each place
    counted = min(AT_ONCE, counters) + await message_counts.searches_due(connection, account.id)
    calls = _calls(memory, asleep, policy, messages) + CallBounds(0, compared + counted)
    return CycleForecast(account.name, cycle, calls, verdicts)


async def _memory(
    connection: Connection, account: Account, policy: CyclePolicy
) -> tuple[AccountMemory, Mapping[ChannelKey, Counter[Verdict]]]:
    """The memory a cycle would start from, and the verdicts of idle topics by the key of their forum."""
    memory = await due_topics.load_awake(connection, account.id, policy.scans, policy.retries)
    forums = {place.key for place in memory.places if place.is_channel and place.by_topic}
    sleepers = IdleTopics(forums, {(place.key, place.topic) for place in memory.places})
    moment = CycleMoment(memory.now, CycleNumber(memory.cycle + 1), whole=True)
    return memory, await due_topics.count_asleep(connection, sleepers, policy.scans, moment)


def _calls(
    memory: AccountMemory,
    asleep: Mapping[ChannelKey, Counter[Verdict]],
    policy: CyclePolicy,
    messages: Counter[ChannelKey],
) -> CallBounds:
    cycle = memory.cycle + 1
    topics: dict[ChannelKey, dict[TopicId, SelectedTopic]] = {}

    def turn(place: ScanPlace) -> bool:
        return takes_turn(place.memory, policy.scans, now=memory.now, turn=cycle + place.turn_offset)

    for place in memory.places:
        if not place.is_channel:
            topics.setdefault(place.key, {})[place.topic] = SelectedTopic(place.memory, its_turn=turn(place))
    whole = [place for place in memory.places if place.is_channel]
    chats = [place for place in whole if place.private_chat and place.memory.readable]
    whole = [place for place in whole if not place.private_chat]
    gated = sum(place.memory.readable for place in whole) + sum(place.memory.changes is None for place in chats)
    total = _box(chats, policy, gated=gated > 0) + foresee_gate(gated, policy.limits)
    for place in whole:
        others = {"wanted": len(memory.wanted.get(place.key, ())), "asleep": asleep.get(place.key, Counter()).total()}
        selected = foresee_topics(topics.get(place.key, {}), policy.limits, **others)
        total += _channel(place, selected, policy, its_turn=turn(place))
        fetches = calls_to_retry(messages[place.key])
        total += CallBounds(min(fetches, 1), fetches)  # after a failed call, the rest is left for the next cycle
    return total


def _box(chats: list[ScanPlace], policy: CyclePolicy, *, gated: bool) -> CallBounds:
    """The calls for private chats: their account's box, and the histories of those that are not complete.

    Where nothing is *gated*, the box is asked for lost updates. It may lose track of the chats, and then all of them
    are gated.
    """
    if not chats:
        return CallBounds()
    begins = all(place.memory.changes is None for place in chats)
    histories = sum(place.lacks_history for place in chats) * policy.history.budget.most_pages
    lost = foresee_gate(len(chats), policy.limits).at_most
    return CallBounds(int(begins or not gated), policy.limits.pages_a_turn + lost + histories)


async def _messages_to_retry(connection: Connection, memory: AccountMemory, policy: CyclePolicy) -> Counter[ChannelKey]:
    """How many messages the due failures have, by our keys of their channels."""
    to_retry = {
        one.archive: one.key
        for one in memory.failed
        if not one.in_hand and state_of(one.failure, policy.retries, memory.now) is FailureState.DUE
    }
    parts = await failures.messages_of(connection, list(to_retry))
    counted: Counter[ChannelKey] = Counter()
    for archive, key in to_retry.items():
        counted[key] += max(1, len(parts.get(archive, ())))
    return counted


def _channel(place: ScanPlace, selected: CallBounds, policy: CyclePolicy, *, its_turn: bool) -> CallBounds:
    """The calls to read a channel, or its *selected* topics. If the channel is lost, only one call is certain."""
    limits = policy.limits
    if not place.memory.readable:
        return CallBounds()
    if place.by_topic:
        found = selected
    else:
        found = foresee_channel(replace(place.memory, failures_to_retry=0), limits, its_turn=its_turn)
    listing = limits.pages_a_turn if place.memory.last_scanned_at is None else 0  # it may have become a forum
    history = policy.history.budget.most_pages if place.lacks_history else 0
    return CallBounds(min(found.at_least, 1), found.at_most + listing + history)
