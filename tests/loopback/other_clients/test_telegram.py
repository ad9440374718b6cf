"""The loopback Telegram as Kurigram reads it, a library that shares no code and no schema with Telethon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.loopback.other_clients.comparison import differences, facts_as_read, facts_in_truth, never_told
from tests.loopback.other_clients.conftest import Control
from tests.loopback.other_clients.telegram_facts import TELEGRAM
from tests.loopback.other_clients.telegram_service_facts import NAMES, NOT_NAMED
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.encryption import key_id
from tidegate.loopback.telegram.world.world import SignIn

PHONE = "+1000001"
GROUP, CHANNEL, FORUM, TOPIC = "Harbour", "News", "Models", "Dragons"
PLACES = (GROUP, CHANNEL, FORUM)

WORLD: dict[str, Any] = {
    "accounts": [{"phone": PHONE, "name": "Ada"}, {"phone": "+1000002", "name": "Bob"}],
    "channels": [
        {"title": GROUP, "messages": 230, "files": 12},
        {"title": CHANNEL, "kind": "channel", "messages": 7, "files": 2},
        {"title": FORUM, "kind": "forum", "messages": 2, "topics": [{"title": TOPIC, "messages": 4, "files": 1}]},
    ],
}

KINDS, KINDS_OF_POSTS = "Kinds", "Kinds of posts"
WORLD_OF_KINDS: dict[str, Any] = {
    "accounts": [{"phone": PHONE, "name": "Ada"}],
    "channels": [{"title": KINDS, "kinds": True}, {"title": KINDS_OF_POSTS, "kind": "channel", "kinds": True}],
}
_FIRST_POST = 2
_DIFFS = "MessageEntityDiff"

FILES: list[dict[str, Any]] = [
    {"name": "two ranges.bin", "size": (1 << 20) + 5},
    {"name": "elsewhere.bin", "size": 3000, "centre": 4},
    {"name": "boat.png", "picture": True, "kind": "photo"},
    {"name": "Überfahrt 🚢.mp4", "size": 5000, "kind": "video", "mime": "video/mp4"},
    {"name": "bell.mp3", "size": 4000, "kind": "audio", "mime": "audio/mpeg"},
]

POSTS: list[dict[str, Any]] = [
    {"text": "plain"},
    {"text": "Ελληνικά, עברית 🚢 and\nlines\n"},
    {"text": "an answer", "reply_to": 3},
    {"text": "a caption", "files": FILES},
    {"text": "an album", "files": FILES[2:4], "album": True},
]


@pytest.fixture
async def control(telegram: TelegramServer, asking: httpx.AsyncClient) -> AsyncIterator[Control]:
    """A world with a group, a channel and a forum; a method it does not know fails the test."""
    control = Control(asking, "telegram")
    await control.make(**WORLD)
    yield control
    assert await control.unknown() == []


def _kind_of(message: dict[str, Any]) -> str:
    """What the messages are called that the test of kinds changes; others are named by their number."""
    raw, media = message["raw"], message["raw"].get("media") or {}
    if any(one["_"].startswith(_DIFFS) for one in raw.get("entities", ())):
        return "formatted"
    if media.get("webpage", {}).get("_") == "WebPagePending":
        return "link_pending"
    if media.get("poll", {}).get("multiple_choice"):
        return "poll"
    if "replies" in raw and "views" in raw:
        return "viewed"
    return "text" if message["id"] == _FIRST_POST else str(message["id"])


def _without_diffs(message: dict[str, Any]) -> dict[str, Any]:
    """The formatting of a message without that of texts that Telegram rewrote, which Kurigram cannot read."""
    return {"entities": [one for one in message["raw"]["entities"] if not one["_"].startswith(_DIFFS)]}


def chat_id(server: TelegramServer, title: str) -> int:
    """A channel's id as clients show it."""
    return int(f"-100{server.world.channel(title).id}")


class TestSigningIn:
    async def test_a_code_and_a_password_let_it_in(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """Key exchange, code and password proof go by the protocol, not by how Telethon does them."""
        await control.change(account=PHONE, password="tide")
        async with kurigram.connected(telegram) as client:
            sent = await client.send_phone_number_code(PHONE)
            account = telegram.world.account_by_phone(PHONE)
            assert account is not None
            with pytest.raises(Exception, match="SESSION_PASSWORD_NEEDED"):
                await client.sign_in(PHONE, sent.phone_code_hash, account.code)
            with pytest.raises(Exception, match="PASSWORD_HASH_INVALID"):
                await client.check_password("ebb")
            assert (await client.check_password("tide")).first_name == "Ada"
            assert (await client.get_me()).id == account.id

    async def test_a_key_that_begins_with_a_zero_byte_is_known_in_full_length(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """One key in 256 begins so: Telethon drops the byte, others keep it, and both are let in."""
        [ada, _] = telegram.world.accounts.values()
        secret = bytes(range(1, 256))
        telegram.world.sign_ins[key_id(secret)] = SignIn(secret, account=ada.id)
        async with kurigram.signed_in(telegram, PHONE, b"\0" + secret) as client:
            assert client.me.first_name == "Ada"


class TestReading:
    @pytest.mark.parametrize("place", PLACES)
    async def test_a_history_is_read_whole(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer, place: str
    ) -> None:
        """Every message with every fact of the table, after posts, edits and deletions; nothing twice."""
        for post in POSTS:
            await control.post(channel=place, **post)
        [edited, deleted] = await control.post(channel=place, count=2)
        await control.edit(channel=place, id=edited, text="changed")
        await control.delete(channel=place, ids=[deleted, 4])
        async with kurigram.signed_in(telegram, PHONE) as client:
            read = [message async for message in client.get_chat_history(chat_id(telegram, place))]
        truth = await control.truth(place)
        assert len(truth) > len(POSTS)
        assert facts_as_read(TELEGRAM, read) == facts_in_truth(TELEGRAM, truth)

    async def test_topics_and_their_messages_are_read(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """A forum's topics by title, and of a message in one: the topic, and what it answers there."""
        [first] = await control.post(channel=FORUM, topic=TOPIC, text="in the topic")
        await control.post(channel=FORUM, topic=TOPIC, text="an answer there", reply_to=first)
        new = (await control.change(channel=FORUM, new_topic="Knights"))["topic"]
        await control.change(channel=FORUM, topic="Knights", topic_title="Sirs", topic_closed=True)
        await control.post(channel=FORUM, topic="Sirs", text="in another topic")
        async with kurigram.signed_in(telegram, PHONE) as client:
            forum = chat_id(telegram, FORUM)
            topics = {topic.title: topic async for topic in client.get_forum_topics(forum)}
            read = [message async for message in client.get_chat_history(forum)]
        assert sorted(topics) == ["Dragons", "General", "Sirs"]
        assert (topics["Sirs"].id, topics["Sirs"].is_closed, topics["Dragons"].is_closed) == (new, True, False)
        assert facts_as_read(TELEGRAM, read) == facts_in_truth(TELEGRAM, await control.truth(FORUM))
        assert {
            message.topic.title for message in read if message.message_thread_id == new and not message.service
        } == {"Sirs"}

    async def test_files_are_downloaded_byte_by_byte(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """Ranges, another data centre and a photo's largest size give the bytes that the platform holds."""
        numbers = await control.post(channel=GROUP, files=FILES)
        async with kurigram.signed_in(telegram, PHONE) as client:
            found = await client.get_messages(chat_id(telegram, GROUP), numbers)
            got = {message.id: await client.download_media(message, in_memory=True) for message in found}
        held = {message["id"]: message["file"]["sha256"] for message in await control.truth(GROUP) if message["file"]}
        digests = {number: sha256(content.getvalue()).hexdigest() for number, content in got.items()}
        assert digests == {number: held[number] for number in numbers}


class TestKinds:
    async def test_a_message_of_every_kind_is_read(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """In a group and a channel, with every fact of the table; also after reactions, votes, views and a pin."""
        await control.make(**WORLD_OF_KINDS)
        held = {_kind_of(message): message for message in await control.truth(KINDS)}
        for emoji in ("👍", "🔥"):
            await control.act("react", channel=KINDS, message=held["text"]["id"], emoji=emoji, count=3)
        await control.act("vote", channel=KINDS, message=held["poll"]["id"], option=1, count=40)
        await control.act("view", channel=KINDS, messages=[held["viewed"]["id"]], views=9000, forwards=77)
        await control.act("pin", channel=KINDS, message=held["text"]["id"])
        await control.act("preview", channel=KINDS, message=held["link_pending"]["id"])
        for place in (KINDS, KINDS_OF_POSTS):
            [formatted] = [message for message in await control.truth(place) if _kind_of(message) == "formatted"]
            await control.edit(channel=place, id=formatted["id"], raw=_without_diffs(formatted))
        async with kurigram.signed_in(telegram, PHONE) as client:
            for place in (KINDS, KINDS_OF_POSTS):
                read = [message async for message in client.get_chat_history(chat_id(telegram, place))]
                truth = await control.truth(place)
                assert len(truth) > len(await control.kinds())
                facts = facts_in_truth(TELEGRAM, truth)
                assert differences(facts, facts_as_read(TELEGRAM, read)) == []
                assert never_told(facts) == {"topic"}

    async def test_every_action_has_a_name_or_is_known_to_have_none(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """The table names each action of the schema once, so that a new one cannot be forgotten."""
        actions = {name for name in vars(kurigram.raw.types) if name.startswith("MessageAction")}
        assert {f"MessageAction{name}" for name in (*NAMES, *NOT_NAMED)} == actions
        assert not NOT_NAMED & set(NAMES)


class TestPushes:
    @pytest.mark.parametrize("place", PLACES)
    async def test_a_post_an_edit_and_a_deletion_are_pushed(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer, place: str
    ) -> None:
        """A client that only listens learns the same facts as one that reads the history."""
        async with kurigram.signed_in(telegram, PHONE) as client:
            for post in POSTS[:3]:
                [number] = await control.post(channel=place, **post)
                read = [await client.next_push("posted")]
                truth = [message for message in await control.truth(place) if message["id"] == number]
                assert facts_as_read(TELEGRAM, read) == facts_in_truth(TELEGRAM, truth)
            await control.edit(channel=place, id=number, text="changed")
            read = [await client.next_push("edited")]
            truth = [message for message in await control.truth(place) if message["id"] == number]
            assert facts_as_read(TELEGRAM, read) == facts_in_truth(TELEGRAM, truth)
            await control.delete(channel=place, ids=[number, 3])
            gone = await client.next_push("deleted")
            assert {(message.chat.id, message.id) for message in gone} == {
                (chat_id(telegram, place), number),
                (chat_id(telegram, place), 3),
            }

    async def test_a_pushed_answer_leads_to_what_it_answers(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """The library asks for the message that another one answers, by naming only the answer."""
        async with kurigram.signed_in(telegram, PHONE) as client:
            await control.post(channel=GROUP, text="an answer", reply_to=9)
            answer = await client.next_push("posted")
        [answered] = [message for message in await control.truth(GROUP) if message["id"] == 9]
        assert (answer.reply_to_message.id, answer.reply_to_message.text) == (9, answered["text"])


class TestSending:
    async def test_what_it_sends_is_what_the_platform_holds(
        self, kurigram: ModuleType, control: Control, telegram: TelegramServer
    ) -> None:
        """The answer to a send, and the history after it, name the author and the message it answers."""
        async with kurigram.signed_in(telegram, PHONE) as client:
            group = chat_id(telegram, GROUP)
            sent = await client.send_message(group, "from Ada")
            read = [message async for message in client.get_chat_history(group, limit=1)]
        truth = (await control.truth(GROUP))[-1:]
        assert truth[0]["sender"] == client.me.id
        assert facts_as_read(TELEGRAM, [sent]) == facts_as_read(TELEGRAM, read) == facts_in_truth(TELEGRAM, truth)
