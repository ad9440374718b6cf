"""Slots of reads: everybody gets one in turn, and work in the background comes last."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from tests.lanes.conftest import Town
from tests.small_platform import SmallPlatform
from tidegate.core.account import Account
from tidegate.core.ids import ChannelId, MessageId
from tidegate.lanes import ReadLimits
from tidegate.lanes.read_slots import ReadSlots
from tidegate.platforms.interface import Message


async def hold(slots: ReadSlots, order: list[str], name: str, release: asyncio.Event) -> None:
    async with slots.slot(background=name.startswith("b")):
        order.append(name)
        await release.wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_background_leaves_a_slot_free_and_comes_last() -> None:
    """Of two slots the background uses one; whoever else comes is served before it."""
    slots, order, release = ReadSlots(2), list[str](), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for name in ("b1", "b2", "f1", "f2"):
            tasks.create_task(hold(slots, order, name, release))
            await settled()
        assert order == ["b1", "f1"]
        release.set()
    assert order == ["b1", "f1", "f2", "b2"]


@pytest.mark.parametrize("name", ["f", "b"])
async def test_a_cancelled_call_gives_its_place_up(name: str) -> None:
    """Cancelled while it waits, or in the moment it got its slot, it takes no slot with it."""
    slots, order, release = ReadSlots(2), list[str](), asyncio.Event()
    first = [asyncio.create_task(hold(slots, order, one, release)) for one in ("f1", "f2")]
    await settled()
    waiting = asyncio.create_task(hold(slots, order, name, release))
    await settled()
    waiting.cancel()
    release.set()
    await asyncio.gather(*first)
    last = asyncio.create_task(hold(slots, order, name, release))
    last.cancel()
    await asyncio.wait([waiting, last])
    async with slots.slot(background=False), slots.slot(background=False):
        assert not slots.is_wanted


class WithMessages(SmallPlatform):
    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]:
        await self._take("messages", channel)
        return dict.fromkeys(ids)


async def test_a_lane_serves_the_background_when_nobody_else_waits(town: Town, account: Account) -> None:
    """Calls for messages in the background take no place in the pace of a cycle's calls."""
    platform = WithMessages(town.clock)
    lane = await town.lane(account, platform, reads=ReadLimits(per_second=1, at_once=3))
    town.opened.clear()
    ids = [MessageId(1)]
    later = [asyncio.create_task(lane.messages(ChannelId(1), ids, background=True)) for _ in range(5)]
    await town.clock.advance(timedelta(seconds=1))
    pages = [asyncio.create_task(lane.page(ChannelId(1), before=None)) for _ in range(4)]
    begun = platform.count("messages")
    await town.clock.advance(timedelta())
    assert platform.count("page") == 1  # the background has left a token of the pace
    await town.clock.advance(timedelta(seconds=5))
    assert platform.count("page") == 4
    assert platform.count("messages") <= begun + 1
    await town.clock.advance(timedelta(seconds=30))
    await asyncio.gather(*later, *pages)


async def test_a_call_in_the_background_gives_its_only_slot_away(town: Town, account: Account) -> None:
    """With one slot, a call that waits for the pace in the background never stops the one that it yields to."""
    platform = WithMessages(town.clock)
    lane = await town.lane(account, platform, reads=ReadLimits(per_second=1, at_once=1))
    town.opened.clear()
    later = [asyncio.create_task(lane.messages(ChannelId(1), [MessageId(1)], background=True)) for _ in range(3)]
    await town.clock.advance(timedelta(milliseconds=500))
    pages = [asyncio.create_task(lane.page(ChannelId(1), before=None)) for _ in range(3)]
    await town.clock.advance(timedelta(seconds=5))
    assert platform.count("page") == 3
    await town.clock.advance(timedelta(seconds=10))
    assert all(task.done() for task in (*later, *pages))
    await asyncio.gather(*later, *pages)
