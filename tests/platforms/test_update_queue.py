"""Push updates wait in one bounded queue; what does not fit is read instead."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import PATIENCE
from tidegate.core.errors import NotSent
from tidegate.core.ids import ChannelId
from tidegate.platforms.interface import ChannelUpdates, UpdateHint
from tidegate.platforms.update_queue import UpdateQueue, channels_to_check

NEWS = ChannelUpdates(upto=7)


def hint(channel: int, *, news: bool = True) -> UpdateHint:
    return UpdateHint(ChannelId(channel), NEWS if news else None)


def still_open() -> None:
    """Updates may still come."""


def closed() -> None:
    raise NotSent("closed")


async def drain(queue: UpdateQueue) -> list[UpdateHint]:
    return [*await queue.take(len(queue), still_open)]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=120), st.integers(2, 20))
def test_no_channel_is_forgotten_when_the_queue_is_full(channels: list[int], room: int) -> None:
    """everything-kept-ends, and nothing is lost: each channel has its updates, or a hint that it has to be read."""

    async def run() -> None:
        queue = UpdateQueue(channels_to_check, room=room)
        for channel in channels:
            queue.add(hint(channel))
            assert len(queue) <= room
        waiting = await drain(queue)
        if UpdateHint(None) not in waiting:
            for channel in set(channels):
                of_it = [one for one in waiting if one.channel == channel]
                told = sum(one.updates is not None for one in of_it)
                assert told == channels.count(channel) or hint(channel, news=False) in of_it

    asyncio.run(run())


async def test_a_full_queue_of_one_busy_channel_has_only_that_channel_read() -> None:
    """An overflow costs a look at the channels that had updates, not at all channels of the account."""
    queue = UpdateQueue(channels_to_check, room=4)
    for channel in (1, 1, 2, 1, 1):
        queue.add(hint(channel))
    assert {one.channel for one in await drain(queue)} == {ChannelId(1), ChannelId(2)}


async def test_updates_are_taken_oldest_first_and_no_more_than_wanted() -> None:
    """A batch is bounded; the rest waits for the next one."""
    queue = UpdateQueue(channels_to_check)
    for channel in (1, 2, 3):
        queue.add(hint(channel))
    assert await queue.take(2, still_open) == [hint(1), hint(2)]
    assert await queue.take(2, still_open) == [hint(3)]


async def test_a_waiting_reader_learns_of_the_end() -> None:
    """What has come is still given out; only then the end is raised, also to a reader that waits already."""
    queue = UpdateQueue(channels_to_check)
    queue.add(hint(1))
    assert await queue.take(1, closed) == [hint(1)]
    ended = asyncio.Event()
    waiting = asyncio.ensure_future(queue.take(1, lambda: closed() if ended.is_set() else None))
    await asyncio.sleep(0)
    ended.set()
    queue.wake()
    with pytest.raises(NotSent, match="closed"):
        await asyncio.wait_for(waiting, PATIENCE)
