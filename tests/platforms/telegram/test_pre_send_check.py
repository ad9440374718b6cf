"""one-owner-per-account: a claim that runs out between the lane's look and Telegram's wire still stops the call."""

from __future__ import annotations

import asyncio

import pytest

from tests.platforms.telegram.conftest import all_channels
from tests.waiting import PATIENCE
from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.errors import NotOurs, NotSent
from tidegate.core.ids import ChannelId
from tidegate.database.pool import Database
from tidegate.lanes import CallGate, Lane, ReadLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.interface import ChecksBeforeSend, SendKey
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.client import TelegramAccount

GATE = "messages.getPeerDialogs"


class Frozen:
    """A look that lets *left* packets pass and then refuses."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise NotOurs("The claim ran out.")


def models(world: World) -> ChannelId:
    return ChannelId(world.channel("Models").id)


async def test_the_lane_gives_its_look_and_a_call_frozen_on_its_way_does_not_leave(
    client: TelegramAccount, world: World, database: Database
) -> None:
    """Nothing arrives at Telegram, and the ledger says that nothing was sent."""
    async with database.transaction() as connection:
        await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback=None)
        found = (await accounts.find(connection, "reader")).account
    clock, looks = SystemClock(), 0
    call_log = CallLog(database, clock)

    def claim() -> Claim:
        nonlocal looks
        looks += 1  # loading the lane, the lane's own look before the call, and then the one at the wire
        return Claim(found.id, 0, float("inf") if looks <= 2 else clock.ticks())

    reads = ReadLimits(per_second=1_000, at_once=2)
    gate = CallGate(found, client, claim=claim, database=database, call_log=call_log, clock=clock)
    await gate.load()
    lane = Lane(gate, reads=reads)
    with pytest.raises(NotOurs):
        await lane.heads([models(world)])
    await call_log.close()
    assert world.record.by_method()[GATE] == 0
    ledgered = await database.pool.fetch("SELECT method, outcome FROM calls")
    assert [tuple(row) for row in ledgered] == [(GATE, "not_sent")]


async def test_a_send_frozen_on_its_way_does_not_leave(client: TelegramAccount, world: World) -> None:
    """It is proven not sent, so it may be sent by whoever comes after; the connection stands."""
    assert isinstance(client, ChecksBeforeSend)
    client.pre_send_check = Frozen(0)
    with pytest.raises(NotOurs):
        await client.send(models(world), "hello", key=SendKey("k"))
    client.pre_send_check = Frozen(1)
    assert models(world) in await client.heads([models(world)])
    assert world.record.by_method()["messages.sendMessage"] == 0
    assert len(world.record.sessions) == 1


async def test_what_left_before_stays_under_way(client: TelegramAccount, world: World) -> None:
    """Only what has not left is called off: the answer to an earlier call still comes."""
    client.pre_send_check = Frozen(1)
    first = asyncio.ensure_future(client.heads([models(world)]))
    async with asyncio.timeout(PATIENCE):
        while client.pre_send_check.left:
            await asyncio.sleep(0)
    with pytest.raises(NotOurs):
        await client.page(models(world), before=None)
    assert models(world) in await first


async def test_nobody_reconnects_without_a_claim(
    client: TelegramAccount, world: World, telegram: TelegramServer
) -> None:
    """A worker that thaws does not greet Telegram with a key that may be in use elsewhere, until it may again."""
    looked, allowed = asyncio.Event(), False

    def look() -> None:
        looked.set()
        if not allowed:
            raise NotOurs("The claim ran out.")

    client.pre_send_check = look
    telegram.disconnect_all()
    async with asyncio.timeout(PATIENCE):
        await looked.wait()
    assert len(world.record.sessions) == 1
    allowed = True
    async with asyncio.timeout(PATIENCE):
        while (await client.hints(most=1))[0].channel is not None:
            pass
    assert len(world.record.sessions) == 2
    assert await all_channels(client)


async def test_another_data_centre_is_not_greeted_without_a_claim(client: TelegramAccount, world: World) -> None:
    """Files may lie elsewhere; the way there is looked at like the way home."""
    file = world.add_file("far.zip", 1_000, centre=4)
    posted = world.post(world.channel("Models"), file=file)
    message = (await client.messages(models(world), [posted.id]))[posted.id]  # type: ignore[list-item, index]
    assert message is not None
    client.pre_send_check = Frozen(0)
    with pytest.raises((NotOurs, NotSent)):
        await client.read_file(message.files[0].handle, offset=0, length=1 << 12)
    assert world.record.by_method()["upload.getFile"] == 0
