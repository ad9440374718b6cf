"""Sending: one message a random id, copies without a transfer, and what a protected channel forbids."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from telethon import TelegramClient, errors, events
from telethon.tl import functions, types

from tests.loopback.clients import peer
from tests.loopback.conftest import Connects
from tests.loopback.posted_files import posted
from tests.waiting import PATIENCE
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer


def copy_of(message: Any) -> types.InputMediaDocument:
    document = message.media.document
    return types.InputMediaDocument(types.InputDocument(document.id, document.access_hash, document.file_reference))


class TestOnce:
    async def test_a_random_id_is_good_for_one_message(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A repeated send is refused by the name Telethon knows, and nothing is posted twice."""
        channel = telegram.world.add_channel("Destination")
        request = functions.messages.SendMessageRequest(peer(telegram, channel), "once", random_id=42)
        answer = await client(request)
        [told] = [update for update in answer.updates if isinstance(update, types.UpdateMessageID)]
        assert (told.id, told.random_id) == (channel.top, 42)
        with pytest.raises(errors.RandomIdDuplicateError):
            await client(request)
        assert [message.text for message in channel.messages.values()] == ["", "once"]
        [sent] = telegram.world.record.sends
        assert (sent.account, sent.target, sent.key, sent.message) == ("1000001", channel.id, 42, channel.top)

    async def test_a_send_that_was_accepted_and_not_answered_is_there(
        self, connect: Connects, telegram: TelegramServer
    ) -> None:
        """S-51: the connection drops after the platform took the message; the same id again tells that it has it."""
        client = await connect(auto_reconnect=False)
        channel = telegram.world.add_channel("Destination")
        telegram.world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, "messages.sendMessage"))
        request = functions.messages.SendMessageRequest(peer(telegram, channel), "once", random_id=42)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client(request)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.disconnected
        await client.connect()
        with pytest.raises(errors.RandomIdDuplicateError):
            await client(request)
        assert len(telegram.world.record.sends) == 1

    async def test_two_accounts_may_use_the_same_number(self, connect: Connects, telegram: TelegramServer) -> None:
        """Random ids belong to the account that rolled them."""
        other = telegram.world.add_account("+1000002")
        channel = telegram.world.add_channel("Destination")
        first, second = await connect(), await connect("+1000002")
        await first(functions.messages.SendMessageRequest(peer(telegram, channel), "a", random_id=1))
        await second(functions.messages.SendMessageRequest(peer(telegram, channel, other.id), "b", random_id=1))
        assert [sent.account for sent in telegram.world.record.sends] == ["1000001", "1000002"]


class TestCopy:
    async def test_a_copy_moves_no_bytes(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """S-49: one send, no download, no upload, and the destination holds the same document."""
        file = telegram.world.add_file("model.zip", 5000)
        message = await posted(client, telegram, file)
        destination = telegram.world.add_channel("Destination")
        await client(
            functions.messages.SendMediaRequest(peer(telegram, destination), copy_of(message), "copied", random_id=1)
        )
        calls = telegram.world.record.by_method()
        assert [calls[name] for name in ("messages.sendMedia", "upload.getFile", "upload.saveFilePart")] == [1, 0, 0]
        assert destination.messages[destination.top].file is file

    async def test_a_protected_channel_lets_nothing_be_copied(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-50: neither by document nor by forwarding; the channel and its messages say so beforehand."""
        file = telegram.world.add_file("model.zip", 5000)
        message = await posted(client, telegram, file)
        source, destination = telegram.world.channel("Source"), telegram.world.add_channel("Destination")
        source.protected = True
        with pytest.raises(errors.ChatForwardsRestrictedError):
            await client(
                functions.messages.SendMediaRequest(peer(telegram, destination), copy_of(message), "", random_id=1)
            )
        with pytest.raises(errors.ChatForwardsRestrictedError):
            await client.forward_messages(peer(telegram, destination), message.id, peer(telegram, source))
        again = await client.get_messages(peer(telegram, source), ids=message.id)
        assert again.noforwards

    async def test_an_open_channel_can_be_forwarded_from(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """Several messages at once, each with its own random id."""
        world = telegram.world
        source, destination = world.add_channel("Source"), world.add_channel("Destination")
        numbers = [world.post(source, text).id for text in ("one", "two")]
        await client.forward_messages(peer(telegram, destination), numbers, peer(telegram, source))
        assert [message.text for message in destination.messages.values()][1:] == ["one", "two"]


class TestPlace:
    async def test_a_reply_to_the_topic_lands_in_the_topic(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """A file goes into a topic by its reply header; a closed or deleted topic refuses it."""
        world = telegram.world
        forum = world.add_channel("Forum", forum=True)
        topic = world.add_topic(forum, "one")

        def request(random_id: int, **header: int) -> Any:
            reply = types.InputReplyToMessage(**header)
            return functions.messages.SendMessageRequest(
                peer(telegram, forum), "hi", reply_to=reply, random_id=random_id
            )

        await client(request(1, reply_to_msg_id=topic.id))
        first = forum.top
        await client(request(2, reply_to_msg_id=first, top_msg_id=topic.id))
        await client(functions.messages.SendMessageRequest(peer(telegram, forum), "general", random_id=3))
        placed = [(message.topic, message.reply_to) for message in list(forum.messages.values())[2:]]
        assert placed == [(topic.id, 0), (topic.id, first), (0, 0)]
        world.close_topic(forum, topic.id)
        with pytest.raises(errors.BadRequestError, match="TOPIC_CLOSED"):
            await client(request(4, reply_to_msg_id=topic.id))
        world.delete_topic(forum, topic.id)
        with pytest.raises(errors.TopicDeletedError):
            await client(request(5, reply_to_msg_id=topic.id))

    async def test_who_may_not_write_is_told(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A reader of a channel is not its author."""
        channel = telegram.world.add_channel("Read only")
        channel.writers = {999}
        with pytest.raises(errors.ChatWriteForbiddenError):
            await client(functions.messages.SendMessageRequest(peer(telegram, channel), "hi", random_id=1))

    async def test_what_cannot_be_a_message_is_refused(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Nothing, and too much of it; neither uses up its random id."""
        named = peer(telegram, telegram.world.add_channel("Destination"))
        with pytest.raises(errors.MessageEmptyError):
            await client(functions.messages.SendMessageRequest(named, "", random_id=1))
        with pytest.raises(errors.MessageTooLongError):
            await client(functions.messages.SendMessageRequest(named, "x" * 4097, random_id=1))
        await client(functions.messages.SendMessageRequest(named, "x" * 4096, random_id=1))

    async def test_the_other_members_hear_of_it(self, connect: Connects, telegram: TelegramServer) -> None:
        """What one account sends is pushed to the others; the sender has its answer."""
        telegram.world.add_account("+1000002")
        channel = telegram.world.add_channel("Destination")
        first, second = await connect(), await connect("+1000002")
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def hear(event: Any) -> None:
            await heard.put(event.message.message)

        second.add_event_handler(hear, events.NewMessage())
        await first(functions.messages.SendMessageRequest(peer(telegram, channel), "hello", random_id=1))
        assert await asyncio.wait_for(heard.get(), PATIENCE) == "hello"


class TestKept:
    async def test_a_kept_file_is_one_upload_and_belongs_to_its_account(
        self, client: TelegramClient, connect: Connects, telegram: TelegramServer
    ) -> None:
        """D-27, D-29: kept by uploadMedia it can be posted again and again, by the account that uploaded it alone."""
        other = telegram.world.add_account("+1000002")
        destination = telegram.world.add_channel("Destination")
        file = await client.upload_file(b"x" * 3000, file_name="poster.jpg")
        told = await client(
            functions.messages.UploadMediaRequest(types.InputPeerSelf(), types.InputMediaUploadedPhoto(file))
        )
        photo = types.InputPhoto(told.photo.id, told.photo.access_hash, told.photo.file_reference)
        for number in (1, 2):
            await client(
                functions.messages.SendMediaRequest(
                    peer(telegram, destination), types.InputMediaPhoto(photo), "", random_id=number
                )
            )
        assert [(one.name, one.bytes) for one in telegram.world.record.uploads] == [("poster.jpg", 3000)]
        stranger = await connect("+1000002")
        with pytest.raises(errors.FileIdInvalidError):
            await stranger(
                functions.messages.SendMediaRequest(
                    peer(telegram, destination, other.id), types.InputMediaPhoto(photo), "", random_id=3
                )
            )
        assert len(telegram.world.record.sends) == 2
