"""Every verb against the platform's own truth."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.held import NOON
from tests.platforms.telegram.conftest import Opens, all_channels
from tidegate.core.clock import HeldClock
from tidegate.core.errors import NotSent, OutcomeUnknown, PlatformError, Refused
from tidegate.core.ids import ChannelId, MessageId, TopicId, UploadId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.platforms.connect_timeout import CONNECT_WITHIN
from tidegate.platforms.interface import (
    CannotAsk,
    Difference,
    File,
    FileKind,
    FileSearch,
    HandleExpired,
    Message,
    SendKey,
    TooLong,
    UnknownChannel,
    Upload,
    UploadLost,
)
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.platforms.telegram.errors import HeldElsewhere
from tidegate.platforms.telegram.files.file_handles import handle_of, location_of

MIB = 1 << 20


@pytest.fixture
def models(client: TelegramAccount, world: World) -> Channel:
    return world.channel("Models")


@pytest.fixture
def where(models: Channel) -> ChannelId:
    return ChannelId(models.id)


async def the_file(client: TelegramAccount, where: ChannelId, number: int) -> File:
    """A message's file as it is now."""
    message = (await client.messages(where, [MessageId(number)]))[MessageId(number)]
    assert message is not None
    [file] = message.files
    return file


async def walk(client: TelegramAccount, where: ChannelId, **bounds: Any) -> list[Message]:
    """All documents within bounds, page by page to the end that is told."""
    found: list[Message] = []
    while True:
        page = await client.files(where, FileSearch(before=found[-1].id if found else None, **bounds))
        found += page.messages
        if page.ended:
            return found


class TestChannels:
    async def test_every_channel_is_listed_once(self, client: TelegramAccount, world: World) -> None:
        """Page by page, archived ones too, with what the gate would say of each."""
        world.limits.page = 7
        made = [world.add_channel(f"Channel {number}") for number in range(30)]
        pages = await all_channels(client)
        listed = [number for page in pages for number in page.heads]
        assert sorted(listed) == sorted(world.channels)
        heads = {number: head for page in pages for number, head in page.heads.items()}
        for channel in made:
            assert (heads[ChannelId(channel.id)].changes, heads[ChannelId(channel.id)].newest) == (channel.pts, 1)

    async def test_a_hundred_channels_are_one_gate(self, client: TelegramAccount, world: World) -> None:
        """One call for all of them, and each channel's counter is the platform's."""
        made = [world.add_channel(f"Channel {number}") for number in range(98)]
        await all_channels(client)
        world.post(made[3], "hello")
        world.record.calls.clear()
        heads = await client.heads([ChannelId(channel.id) for channel in made])
        assert world.record.by_method() == {"messages.getPeerDialogs": 1}
        assert {number: head.changes for number, head in heads.items()} == {one.id: one.pts for one in made}

    async def test_s11_a_channel_nobody_told_us_of_is_unknown(
        self, client: TelegramAccount, where: ChannelId, world: World
    ) -> None:
        """S-11: it is left out and the others are asked for; alone it is gone, and no call is made."""
        stranger = ChannelId(world.add_channel("New").id)
        assert set(await client.heads([where, stranger])) == {where}
        world.record.calls.clear()
        with pytest.raises(UnknownChannel, match="knows none of these channels"):
            await client.heads([stranger])
        with pytest.raises(UnknownChannel, match="list its channels"):
            await client.page(stranger, before=None)
        assert world.record.calls == []

    async def test_s66_forum_mode_comes_with_the_gate(
        self, client: TelegramAccount, models: Channel, where: ChannelId
    ) -> None:
        """S-66: whether a channel is a forum is known each cycle without a call of its own."""
        for forum in (True, False):
            models.forum = forum
            channel = (await client.heads([where]))[where].channel
            assert channel is not None
            assert channel.forum is forum

    async def test_who_we_are(self, client: TelegramAccount, world: World) -> None:
        """Premium decides how large a file may be, so it is asked for when needed, not remembered."""
        assert not (await client.me()).premium
        next(iter(world.accounts.values())).premium = True
        assert (await client.me()).premium


class TestTopics:
    async def test_s69_all_topics_are_listed(self, client: TelegramAccount, models: Channel, world: World) -> None:
        """S-69, S-71: with pages of 63, a pinned old topic first and deleted rows; none is missed."""
        made = [world.add_topic(models, f"Topic {number}") for number in range(300)]
        models.topics[made[5].id].pinned = True
        world.delete_topic(models, made[7].id)
        world.limits.page = 63
        found, after = [], None
        while True:
            page = await client.topics(ChannelId(models.id), after)
            found += page.topics
            after = page.next
            if after is None:
                break
        assert {topic.id for topic in found} == set(models.topics)
        assert {topic.id for topic in found if topic.gone} == {made[7].id}

    async def test_known_topics_are_looked_up_together(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-65: up to 100 a call; a deleted one says so instead of failing the others."""
        cars, trains = world.add_topic(models, "Cars"), world.add_topic(models, "Trains")
        world.post(models, "hello", topic=cars.id)
        world.delete_topic(models, trains.id)
        found = await client.topics_by_id(where, [TopicId(cars.id), TopicId(trains.id)])
        assert (found[TopicId(cars.id)].title, found[TopicId(cars.id)].newest) == ("Cars", models.newest_id)
        assert found[TopicId(trains.id)].gone


class TestReading:
    async def test_history_is_read_to_its_start(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """250 messages in three calls, newest first, with the start told."""
        for number in range(249):
            world.post(models, str(number))
        world.record.calls.clear()
        found: list[Message] = []
        page = await client.page(where, before=None)
        found += page.messages
        while not page.reached_start:
            page = await client.page(where, before=found[-1].id)
            found += page.messages
        assert [message.id for message in found] == list(range(250, 0, -1))
        assert world.record.by_method() == {"messages.getHistory": 3}

    async def test_s16_a_difference_is_read_until_it_is_final(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-15, S-16: 150 events in two calls, each file in its topic."""
        topics = [world.add_topic(models, f"Topic {number}") for number in range(50)]
        since = models.pts
        for topic in topics:
            world.post(models, "text", topic=topic.id)
            for part in (1, 2):
                world.post(models, file=world.add_file(f"x.part{part}.rar", 9), topic=topic.id)
        world.record.calls.clear()
        posted: list[Message] = []
        final = False
        while not final:
            difference = await client.difference(where, since=since)
            assert isinstance(difference, Difference)
            assert difference.updates.upto is not None
            posted += difference.updates.posted
            since, final = difference.updates.upto, difference.final
        assert world.record.by_method() == {"updates.getChannelDifference": 2}
        assert since == models.pts
        files = [(message.topic, file.name) for message in posted for file in message.files]
        assert sorted(files) == sorted((one.id, f"x.part{part}.rar") for one in topics for part in (1, 2))

    async def test_s63_a_new_topic_comes_with_the_difference(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-63, S-64: created, used and renamed inside one difference; no listing is needed."""
        since = models.pts
        cars = world.add_topic(models, "Cars")
        world.post(models, file=world.add_file("a.zip", 9), topic=cars.id)
        world.rename_topic(models, cars.id, "Trains")
        difference = await client.difference(where, since=since)
        assert isinstance(difference, Difference)
        events = [(one.topic, one.topic_event.title) for one in difference.updates.posted if one.topic_event]
        assert events == [(cars.id, "Cars"), (cars.id, "Trains")]
        assert [one.topic for one in difference.updates.posted] == [cars.id] * 3

    async def test_s31_too_long_is_told_with_where_it_stands(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-31: the counter to go on from, and nothing that could be taken for all the news."""
        since = models.pts
        for _ in range(5):
            world.post(models, "x")
        world.forget_events(models)
        found = await client.difference(where, since=since)
        assert isinstance(found, TooLong)
        assert (found.head.changes, found.head.newest) == (models.pts, models.newest_id)

    async def test_no_difference_from_nothing(self, client: TelegramAccount, where: ChannelId, world: World) -> None:
        """Telegram refuses a counter of 0, so no call is spent on it."""
        world.record.calls.clear()
        with pytest.raises(Refused, match="read the channel"):
            await client.difference(where, since=0)
        assert world.record.calls == []

    async def test_s26_a_short_page_does_not_end_a_search(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-26: pages of any length are walked down to the bound; nothing is lost and nothing comes twice."""
        for number in range(150):
            world.post(models, "chatter")
            world.post(models, file=world.add_file(f"{number}.zip", 9))
        world.faults.add(Fault(FaultKind.SHORT_PAGE, "messages.search", count=2))
        found = await walk(client, where, above=MessageId(101))
        truth = [number for number, one in models.messages.items() if one.file and number > 101]
        assert [message.id for message in found] == sorted(truth, reverse=True)

    async def test_a_search_can_be_of_one_topic_and_of_photos(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """Selected topics are searched alone; previews are photos."""
        from tidegate.loopback.telegram.world.file_content import FileKind as Shown

        cars = world.add_topic(models, "Cars")
        inside = world.post(models, file=world.add_file("a.zip", 9), topic=cars.id)
        world.post(models, file=world.add_file("b.zip", 9))
        picture = world.post(models, file=world.add_file("", 9, kind=Shown.PHOTO), topic=cars.id)
        assert [one.id for one in await walk(client, where, topic=TopicId(cars.id))] == [inside.id]
        found = await walk(client, where, kind=FileKind.PHOTO)
        assert [(one.id, one.files[0].kind) for one in found] == [(picture.id, FileKind.PHOTO)]

    async def test_s39_a_message_that_is_gone_is_told_apart(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-37, S-39: a hundred by number in one call; None is Telegram's word that a message is gone."""
        kept, gone = world.post(models, "kept"), world.post(models, "gone")
        world.delete(models, [gone.id])
        found = await client.messages(where, [MessageId(kept.id), MessageId(gone.id)])
        assert found[MessageId(gone.id)] is None
        message = found[MessageId(kept.id)]
        assert message is not None
        assert message.text == "kept"


class TestFiles:
    async def test_any_stretch_of_a_file_can_be_read(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """Whole mebibytes, the odd kibibytes of a tail, and an end that cuts it short: byte for byte."""
        kept = world.add_file("a.zip", 3 * MIB + 5_000)
        file = await the_file(client, where, world.post(models, file=kept).id)
        for offset, length in [(0, MIB), (MIB, 4096), (2 * MIB + 3072, 5120), (3 * MIB, 8192), (4 * MIB, 4096)]:
            assert await client.read_file(file.handle, offset=offset, length=length) == kept.read(offset, length)
        with pytest.raises(CannotAsk, match="whole KiB"):
            await client.read_file(file.handle, offset=MIB - 1024, length=2048)

    async def test_s48_an_expired_handle_asks_for_the_message(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-48: the class says what to do; the fresh handle reads on at the same place."""
        kept = world.add_file("a.zip", MIB)
        number = world.post(models, file=kept).id
        old = await the_file(client, where, number)
        world.faults.add(Fault(FaultKind.EXPIRED_REFERENCE, "upload.getFile"))
        with pytest.raises(HandleExpired):
            await client.read_file(old.handle, offset=4096, length=4096)
        fresh = await the_file(client, where, number)
        assert fresh.id == old.id
        assert await client.read_file(fresh.handle, offset=4096, length=4096) == kept.read(4096, 4096)

    @pytest.mark.parametrize("told", [4, 2])
    async def test_a_file_of_another_data_centre_is_read_there(
        self, client: TelegramAccount, models: Channel, world: World, noted: list[str], told: int
    ) -> None:
        """Over a connection whose calls are counted; sent to the wrong centre first, the next try goes to that one."""
        kept = world.add_file("a.zip", MIB, centre=4)
        file = await the_file(client, ChannelId(models.id), world.post(models, file=kept).id)
        handle = handle_of(location_of(file.handle)[0], told)
        noted.clear()
        world.record.calls.clear()
        if told == 2:
            with pytest.raises(HeldElsewhere, match="centre 4"):
                await client.read_file(handle, offset=0, length=4096)
        for offset in (0, 4096):
            assert await client.read_file(handle, offset=offset, length=4096) == kept.read(offset, 4096)
        assert noted == ["help.getConfig", "auth.exportAuthorization", "auth.importAuthorization"]
        reads = ["upload.getFile"] * (3 if told == 2 else 2)
        assert sorted(world.record.by_method().elements()) == sorted([*noted, *reads])

    @pytest.mark.parametrize("kind", [FaultKind.TIMEOUT, FaultKind.WAIT, FaultKind.ERROR])
    async def test_a_data_centre_that_cannot_be_reached_was_not_asked(
        self, opens: Opens, world: World, kind: FaultKind
    ) -> None:
        """The read itself never went out, so it is not counted and may be tried again; then it works."""
        clock = HeldClock(NOON)
        client = await opens(clock=clock)
        channel = world.add_channel("Far away")
        await all_channels(client)
        posted = world.post(channel, file=world.add_file("a.zip", MIB, centre=4))
        file = await the_file(client, ChannelId(channel.id), posted.id)
        world.faults.add(Fault(kind, "auth.exportAuthorization", seconds=9))
        reading = asyncio.ensure_future(client.read_file(file.handle, offset=0, length=4096))
        while not world.record.by_method()["auth.exportAuthorization"]:
            await asyncio.sleep(0)
        await clock.advance(CONNECT_WITHIN)
        with pytest.raises(NotSent, match="centre 4"):
            await reading
        assert world.record.by_method()["upload.getFile"] == 0
        assert len(await client.read_file(file.handle, offset=0, length=4096)) == 4096


class TestSending:
    async def test_a_text_is_sent_once_under_its_key(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-51: a repetition is told as delivered, without a number, and the channel holds it once."""
        receipt = await client.send(where, "hello", key=SendKey("a"))
        assert receipt.message == models.newest_id
        again = await client.send(where, "hello", key=SendKey("a"))
        assert (again.message, again.at) == (None, None)
        assert [one.text for one in models.messages.values()].count("hello") == 1

    async def test_s51_a_send_whose_answer_is_lost_is_unknown_and_then_delivered(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-51: the connection breaks after it was accepted; sent again under its key it is there exactly once."""
        world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, "messages.sendMessage"))
        with pytest.raises(OutcomeUnknown):
            await client.send(where, "hello", key=SendKey("a"))
        await client.hints(most=1)  # of our own message or of the new connection
        while True:
            try:
                receipt = await client.send(where, "hello", key=SendKey("a"))
            except PlatformError:
                await client.hints(most=1)
            else:
                break
        assert receipt.message is None
        assert len(world.record.sends) == 1

    async def test_telegrams_own_trouble_leaves_a_send_unknown(
        self, client: TelegramAccount, where: ChannelId, world: World
    ) -> None:
        """error-class-says-what-to-do: an internal error does not say whether the message was taken before it."""
        world.faults.add(Fault(FaultKind.ERROR, "messages.sendMessage", code="500"))
        with pytest.raises(OutcomeUnknown):
            await client.send(where, "hello", key=SendKey("a"))

    @pytest.mark.parametrize("size", [0x100, 524_288 + 1, 12_000_000])
    async def test_s52_a_file_is_uploaded_and_posted(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World, size: int
    ) -> None:
        """S-52: byte for byte, under its name, in as many parts as the size asks for."""
        content = world.add_file("", size).read(0, size)
        upload = Upload(UploadId(77), "x.zip", size)
        world.record.calls.clear()
        for part in range(upload.parts):
            start = part * upload.part_size
            await client.save_part(upload, part, content[start : start + upload.part_size])
        receipt = await client.send_file(where, upload, key=SendKey("a"))
        method = "upload.saveBigFilePart" if size > 10 * MIB else "upload.saveFilePart"
        assert world.record.by_method() == {method: -(-size // 524_288), "messages.sendMedia": 1}
        assert receipt.message is not None
        posted = models.messages[receipt.message]
        assert posted.file is not None
        assert (posted.text, posted.file.name) == ("", "x.zip")
        assert posted.file.read(0, size) == content

    async def test_a_lost_part_starts_the_upload_again(
        self, client: TelegramAccount, where: ChannelId, world: World
    ) -> None:
        """Telegram forgets parts after a while; that is told apart from a refusal."""
        upload = Upload(UploadId(78), "x.zip", 600_000)
        await client.save_part(upload, 0, b"x" * upload.part_size)
        with pytest.raises(UploadLost):
            await client.send_file(where, upload, key=SendKey("a"))

    async def test_s49_s50_a_copy_moves_no_bytes_and_protection_is_a_refusal(
        self, client: TelegramAccount, models: Channel, where: ChannelId, world: World
    ) -> None:
        """S-49, S-50: one send and no transfer; from a protected channel it is refused for good."""
        news = world.channel("News")
        file = await the_file(client, where, world.post(models, file=world.add_file("a.zip", 9)).id)
        world.record.calls.clear()
        receipt = await client.copy_file(ChannelId(news.id), file.handle, key=SendKey("a"))
        assert world.record.by_method() == {"messages.sendMedia": 1}
        assert receipt.message is not None
        copied = news.messages[receipt.message].file
        assert copied is not None
        assert copied.id == file.id
        models.protected = True
        with pytest.raises(Refused):
            await client.copy_file(ChannelId(news.id), file.handle, key=SendKey("b"))
