"""calls-through-a-lane: what the ledger counts and what the platform counts is the same, method by method."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.held import holding
from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import PHONE, finding, signed_in_before
from tidegate.core.clock import HeldClock
from tidegate.core.errors import AskedToWait, Refused
from tidegate.core.ids import ChannelId, MessageId, TopicId, UploadId
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog, sums
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.interface import CannotAsk, HandleExpired, SendKey, UnknownChannel, Upload, UploadLost
from tidegate.platforms.interface.uploads import Media, MediaKind
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.connector import telegram_opener

QUICK = ReadLimits(per_second=1_000, at_once=100)
BRISK = SendLimits(Allowance(ceiling=1_000, burst=50, floor=1), at_once=5)


@dataclass
class Town:
    """A lane on a loopback Telegram, with one held clock for the lane, the database and the platform."""

    lane: Lane
    clock: HeldClock
    call_log: CallLog
    database: Database
    server: TelegramServer
    models: ChannelId
    file: int

    @property
    def world(self) -> World:
        return self.server.world

    async def after(self, seconds: float, work: object) -> object:
        task = asyncio.ensure_future(work)  # type: ignore[arg-type]
        await self.clock.advance(timedelta(seconds=seconds))
        return await task

    async def ledgered(self) -> Counter[str]:
        await self.call_log.flush()
        async with self.database.connection() as connection:
            counted: Counter[str] = Counter()
            for one in await sums(connection):
                counted[f"{one.method}"] += one.count
        return +counted


@pytest.fixture
async def town(database: Database) -> AsyncIterator[Town]:
    async with holding(database) as clock:
        world = World(clock, seed=7)
        world.add_account(PHONE, "Ada")
        models = world.add_channel("Models", forum=True)
        posted = world.post(models, file=world.add_file("a.zip", 3 << 20))
        server = TelegramServer(world, clock)
        await server.start()
        clock.busy_when(lambda: server.busy)
        call_log = CallLog(database, clock)
        account, drawer = await add_account(database, "reader", TELEGRAM), Drawer()
        signed_in_before(world, drawer)
        note = call_log.connecting(account.id)
        client = await telegram_opener(None, clock, find_loopback=finding(server))(account, drawer, note)
        lane = await open_lane(account, client, call_log, database, clock=clock, sends=BRISK)
        clock.busy_when(lambda: lane.gate.in_flight > 0)
        yield Town(lane, clock, call_log, database, server, ChannelId(models.id), posted.id)
        await lane.close()
        await call_log.close()
        await server.close()


async def test_the_ledger_equals_the_platforms_count_method_by_method(town: Town) -> None:
    """Every verb, with waits, errors, questions that were never asked, and a lost connection on the way.

    Invariant: calls-through-a-lane.
    """
    lane, world, models = town.lane, town.world, town.models
    page = await lane.channels()
    await lane.channels(page.next)
    await lane.me()
    head = (await lane.heads([models]))[models]
    assert head.changes is not None
    await lane.topics(models)
    await lane.topics_by_id(models, [TopicId(1)])
    await lane.page(models, before=None)
    await lane.difference(models, since=head.changes)
    world.faults.add(Fault(FaultKind.ERROR, "messages.search", code="500", count=2))
    await town.after(60, lane.files(models))
    world.faults.add(Fault(FaultKind.WAIT, "channels.getMessages", seconds=7))
    found = await town.after(60, lane.messages(models, [MessageId(town.file)]))
    [file] = found[MessageId(town.file)].files  # type: ignore[index]
    world.faults.add(Fault(FaultKind.EXPIRED_REFERENCE, "upload.getFile"))
    with pytest.raises(HandleExpired):
        await lane.read_file(file.handle, offset=0, length=1 << 20)
    file = (await lane.messages(models, [MessageId(town.file)]))[MessageId(town.file)].files[0]  # type: ignore[union-attr]
    await asyncio.gather(*(lane.read_file(file.handle, offset=at << 20, length=1 << 20) for at in range(3)))
    for upload in (Upload(UploadId(1), "small", 9), Upload(UploadId(2), "big", 11 << 20)):
        for part in range(upload.parts):
            await lane.save_part(upload, part, b"x" * min(upload.part_size, upload.size - part * upload.part_size))
        await town.after(60, lane.send_file(models, upload, key=SendKey(upload.name)))
    poster = Media(b"p", "poster.jpg", "image/jpeg", 9, MediaKind.PICTURE)
    await lane.save_part(Upload(UploadId(3), "poster.jpg", 9), 0, b"x" * 9)
    ref = await lane.register(Upload(UploadId(3), "poster.jpg", 9), poster)
    await town.after(60, lane.post(models, poster, ref, key=SendKey("poster")))
    world.faults.add(Fault(FaultKind.EXPIRED_REFERENCE, "messages.sendMedia"))
    lost = asyncio.ensure_future(lane.post(models, poster, ref, key=SendKey("poster again")))
    await town.clock.advance(timedelta(seconds=60))
    with pytest.raises(UploadLost):
        await lost
    await town.after(60, lane.copy_file(models, file.handle, key=SendKey("copy")))
    await town.after(60, lane.send(models, "hello", key=SendKey("text")))
    await town.after(60, lane.send(models, "hello", key=SendKey("text")))
    world.faults.add(Fault(FaultKind.ERROR, "messages.getHistory", code="400 NO"))
    with pytest.raises(Refused):
        await lane.page(models, before=None)
    with pytest.raises(UnknownChannel):
        await lane.page(ChannelId(5), before=None)
    with pytest.raises(CannotAsk):
        await lane.difference(models, since=0)
    assert await lane.heads([ChannelId(5), ChannelId(6)]) == {}
    with pytest.raises(UnknownChannel):
        await town.after(60, lane.send(ChannelId(5), "hello", key=SendKey("stranger")))
    world.faults.add(Fault(FaultKind.DISCONNECT, "messages.getPeerDialogs"))
    await town.after(60, lane.heads([models]))
    assert await town.ledgered() == +world.record.by_method()
    assert set(_VERBS) <= set(world.record.by_method())


_VERBS = {
    "messages.getDialogs", "users.getUsers", "messages.getPeerDialogs", "messages.getForumTopics",
    "messages.getForumTopicsByID", "messages.getHistory", "updates.getChannelDifference", "messages.search",
    "channels.getMessages", "upload.getFile", "upload.saveFilePart", "upload.saveBigFilePart", "messages.sendMedia",
    "messages.sendMessage", "messages.uploadMedia",
}  # fmt: skip


async def test_s42_s43_a_flood_stops_its_method_and_no_call_goes_out_before_its_end(town: Town) -> None:
    """S-42, S-43: no search reaches the platform for 300 seconds; other calls do, and then it goes on."""
    lane, world, models = town.lane, town.world, town.models
    await lane.channels()
    world.faults.add(Fault(FaultKind.WAIT, "messages.search", seconds=300))
    first = asyncio.ensure_future(lane.files(models))
    await town.clock.advance(timedelta(seconds=1))
    second = asyncio.ensure_future(lane.files(models))
    await town.clock.advance(timedelta(seconds=298))
    assert world.record.by_method()["messages.search"] == 1
    assert models in await lane.heads([models])
    assert not first.done()
    assert not second.done()
    await town.clock.advance(timedelta(seconds=2))
    assert [one.id for one in (await first).messages] == [town.file]
    assert [one.id for one in (await second).messages] == [town.file]
    assert world.record.by_method()["messages.search"] == 3


async def test_slow_mode_stops_its_chat_alone(town: Town) -> None:
    """error-class-says-what-to-do: the next message to that chat waits; another chat does not."""
    lane, world, models = town.lane, town.world, town.models
    news = ChannelId(world.add_channel("News").id)
    await lane.channels()
    world.faults.add(Fault(FaultKind.WAIT, "messages.sendMessage", seconds=30, code="slowmode"))
    with pytest.raises(AskedToWait):
        await town.after(1, lane.send(models, "hello", key=SendKey("a")))
    waiting = asyncio.ensure_future(lane.send(models, "hello", key=SendKey("a")))
    await town.after(1, lane.send(news, "hello", key=SendKey("b")))
    assert not waiting.done()
    await town.clock.advance(timedelta(seconds=30))
    assert (await waiting).message is not None


async def test_one_gone_channel_does_not_blind_the_gate(town: Town) -> None:
    """S-11: Telegram refuses the whole batch for it; the halves are asked until it is alone, all on the ledger."""
    lane, world = town.lane, town.world
    made = [world.add_channel(f"Channel {number}") for number in range(8)]
    await lane.channels()
    made[5].members.clear()
    heads = await lane.heads([ChannelId(channel.id) for channel in made])
    assert set(heads) == {channel.id for channel in made if channel is not made[5]}
    assert world.record.by_method()["messages.getPeerDialogs"] == 7
    assert await town.ledgered() == +world.record.by_method()
