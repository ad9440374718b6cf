"""one-owner-per-account: a claim that runs out between the lane's look and the wire still stops the call."""

from __future__ import annotations

import pytest

from tests.lanes.conftest import Town
from tests.small_platform import SlowToLeave
from tidegate.core.account import Account
from tidegate.core.errors import NotOurs
from tidegate.core.ids import ChannelId
from tidegate.platforms.interface import SendKey


@pytest.fixture
def platform(town: Town) -> SlowToLeave:
    def frozen() -> None:
        town.deadline = town.clock.ticks()

    made = SlowToLeave(town.clock)
    made.meanwhile = frozen
    return made


async def test_a_read_frozen_on_its_way_does_not_leave(town: Town, account: Account, platform: SlowToLeave) -> None:
    """Nothing arrives, and the ledger says that nothing was sent."""
    lane = await town.lane(account, platform)
    with pytest.raises(NotOurs):
        await lane.page(ChannelId(1), before=None)
    assert platform.received == []
    assert await town.ledgered() == [("page", "not_sent")]


async def test_a_send_frozen_on_its_way_does_not_leave(town: Town, account: Account, platform: SlowToLeave) -> None:
    """The token is lost, the message is not: it is proven not sent, so it may be sent by whoever comes after."""
    lane = await town.lane(account, platform)
    with pytest.raises(NotOurs):
        await town.after(2, lane.send(ChannelId(1), "hello", key=SendKey("k")))
    assert platform.received == []
    assert await town.ledgered() == [("send", "not_sent")]
