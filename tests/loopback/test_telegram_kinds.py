"""Every kind of message that the schema knows: posted through the control address, read with the real client."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from telethon import TelegramClient
from telethon.tl import TLObject, functions, types

from tests.held import NOON
from tests.loopback.clients import peer
from tests.platforms.telegram.sample_objects import ACTIONS, ENTITIES, MEDIA, content, sample
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.tl_objects.tl_json import as_plain, from_plain
from tidegate.loopback.telegram.truth import shown_message
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.content.kind_posts import merged
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.telegram.world.schema import ChangeSpec, PinSpec, PostSpec, ReactSpec, ViewSpec, WorldSpec
from tidegate.loopback.telegram.world.world_builder import make_world
from tidegate.loopback.telegram.world.world_changes import change, pin, post, react, view
from tidegate.loopback.telegram.world.world_snapshot import from_plain as world_from_plain
from tidegate.loopback.telegram.world.world_snapshot import to_plain


@pytest.fixture
def news(telegram: TelegramServer) -> Channel:
    return telegram.world.add_channel("News")


TYPE = {"Content-Type": "application/json"}


async def ask(asking: httpx.AsyncClient, path: str, **body: Any) -> Any:
    answer = await asking.post(f"/telegram/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def read(client: TelegramClient, server: TelegramServer, channel: Channel, *numbers: int) -> list[Any]:
    return list(await client.get_messages(peer(server, channel), ids=list(numbers)))


def as_json(value: TLObject) -> Any:
    """The object as the library itself writes it."""
    return json.loads(value.to_json())


class TestRaw:
    @pytest.mark.parametrize("kind", MEDIA, ids=lambda kind: kind.__name__)
    async def test_media_is_read_as_it_was_posted(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel, kind: Any
    ) -> None:
        """Each class of media with every argument, alone and in a whole message; hashes are each account's own."""
        media = sample(kind)
        whole = types.Message(1, types.PeerChannel(1), None, "caption", media=media, views=7)
        raw = as_json(whole) | {"id": None}
        ids = (await ask(asking, "post", channel="News", raw=as_json(media)))["ids"]
        ids += (await ask(asking, "post", channel="News", raw=raw))["ids"]
        alone, inside = await read(client, telegram, news, *ids)
        expected = None if kind is types.MessageMediaEmpty else content(media)  # Telethon itself reads it as none
        assert content(alone.media) == expected
        assert (content(inside.media), inside.message, inside.views) == (expected, "caption", 7)

    @pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.__name__)
    async def test_an_action_is_read_as_it_was_posted(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel, kind: Any
    ) -> None:
        """Each class of service message with every argument."""
        action = sample(kind)
        ids = (await ask(asking, "post", channel="News", raw={"action": as_json(action)}))["ids"]
        [found] = await read(client, telegram, news, *ids)
        assert isinstance(found, types.MessageService)
        assert content(found.action) == content(action)

    async def test_formatting_is_read_as_it_was_posted(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Each class of formatting with every argument."""
        entities = [sample(kind) for kind in ENTITIES]
        raw = {"message": "harbour", "entities": [as_json(entity) for entity in entities]}
        ids = (await ask(asking, "post", channel="News", raw=raw))["ids"]
        [found] = await read(client, telegram, news, *ids)
        assert (found.message, content(found.entities)) == ("harbour", content(entities))

    @pytest.mark.parametrize(
        "field",
        [
            ("fwd_from", types.MessageFwdHeader),
            ("reply_to", types.MessageReplyHeader),
            ("reply_to", types.MessageReplyStoryHeader),
            ("reactions", types.MessageReactions),
            ("replies", types.MessageReplies),
            ("reply_markup", types.ReplyInlineMarkup),
            ("factcheck", types.FactCheck),
            ("suggested_post", types.SuggestedPost),
            ("rich_message", types.RichMessage),
        ],
    )
    async def test_other_fields_are_read_as_they_were_posted(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, field: tuple[str, Any]
    ) -> None:
        """Headers, reactions and all else a message can have."""
        (name, kind), news = field, telegram.world.add_channel("News")
        held = sample(kind)
        ids = (await ask(asking, "post", channel="News", raw={"message": "x", name: as_json(held)}))["ids"]
        [found] = await read(client, telegram, news, *ids)
        assert content(getattr(found, name)) == content(held)

    async def test_ids_dates_and_hashes_are_filled_in(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """A short description is enough; the bytes of its files can be given beside it."""
        document = {"_": "Document", "mime_type": "text/plain", "size": 0, "attributes": []}
        raw = {"_": "MessageMediaDocument", "document": document}
        files = [{"name": "a.txt", "base64": "aGFyYm91cg=="}]
        ids = (await ask(asking, "post", channel="News", raw=raw, files=files))["ids"]
        [found] = await read(client, telegram, news, *ids)
        assert await client.download_media(found, bytes) == b"harbour"
        truth = (await asking.get("/truth/telegram/News")).json()[-1]
        assert [file["sha256"] for file in truth["files"]] == [sha256(b"harbour").hexdigest()]
        assert "access_hash" not in str(truth)
        assert "file_reference" not in str(truth)

    @pytest.mark.parametrize(
        ("raw", "problem"),
        [
            ({"_": "MessageMediaWeather"}, "no MessageMediaWeather"),
            ({"_": "Poll"}, "neither a message"),
            ({"_": "MessageMediaDice", "value": 1}, "raw.media.emoticon"),
            ({"_": "MessageMediaDice", "value": "one", "emoticon": "x"}, "raw.media.value"),
            ({"_": "MessageMediaDice", "value": 1 << 40, "emoticon": "x"}, "cannot be sent"),
            ({"media": {"_": "PeerUser", "user_id": 1}}, "does not belong here"),
            ({"mesage": "typo"}, "raw.mesage"),
            ({"id": 1}, "gave the id 1 already"),
            ({"views": True}, "raw.views"),
            ({"message": "\ud800"}, "cannot be sent"),
        ],
    )
    async def test_what_cannot_be_gets_a_sentence(
        self, asking: httpx.AsyncClient, news: Channel, raw: dict[str, Any], problem: str
    ) -> None:
        """bad-input-gets-a-sentence: it names the place, and nothing is posted."""
        answer = await asking.post("/telegram/post", content=json.dumps({"channel": "News", "raw": raw}), headers=TYPE)
        assert answer.status_code == 422, answer.text
        assert problem in answer.json()["problem"]
        assert len(news.messages) == 1


class TestNamed:
    async def test_every_kind_can_be_posted_and_read(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Each name makes a message that the client reads as the truth shows it, and whose file it can load."""
        assert (await asking.get("/telegram/kinds")).json() == kind_names()
        posted = [
            number for kind in kind_names() for number in (await ask(asking, "post", channel="News", kind=kind))["ids"]
        ]
        truth = {row["id"]: row for row in (await asking.get("/truth/telegram/News")).json()}
        for found in await read(client, telegram, news, *posted):
            assert content(found) == truth[found.id]["raw"]
            if found.file and truth[found.id]["files"]:
                loaded = await client.download_media(found, bytes)
                assert sha256(loaded).hexdigest() in [file["sha256"] for file in truth[found.id]["files"]]

    async def test_a_kind_can_be_overridden(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Raw fields lie over those of the kind, field by field; text and author are given by name."""
        await ask(asking, "change", new_person={"name": "Bo", "usernames": ["bo"]})
        ids = (
            await ask(
                asking, "post", channel="News", kind="poll", author="@bo", text="vote",
                raw={"media": {"poll": {"closed": True, "question": {"text": "Lunch?"}}}, "views": 3},
            )
        )["ids"]  # fmt: skip
        [found] = await read(client, telegram, news, *ids)
        assert (found.media.poll.closed, found.media.poll.question.text, found.views) == (True, "Lunch?", 3)
        assert (found.message, (await found.get_sender()).username) == ("vote", "bo")
        assert len(found.media.poll.answers) == 3

    async def test_a_message_becomes_another_by_an_edit(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """By kind or raw; the difference has it as an edit."""
        pts = news.pts
        [number] = (await ask(asking, "post", channel="News", text="plain"))["ids"]
        await ask(asking, "edit", channel="News", id=number, kind="photo", text="now a photo")
        [found] = await read(client, telegram, news, number)
        assert (found.message, type(found.media), found.edit_hide) == ("now a photo", types.MessageMediaPhoto, False)
        await ask(asking, "edit", channel="News", id=number, raw={"entities": [as_json(types.MessageEntityBold(0, 3))]})
        [found] = await read(client, telegram, news, number)
        assert (found.message, type(found.media), len(found.entities)) == ("now a photo", types.MessageMediaPhoto, 1)
        assert news.pts == pts + 3
        answer = await asking.post("/telegram/edit", json={"channel": "News", "id": 1, "text": "no"})
        assert "service message" in answer.json()["problem"]

    async def test_an_edit_that_changes_nothing_is_none(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Telegram answers it with MESSAGE_NOT_MODIFIED: the message has no edit date, and no counter moves."""
        [number] = (await ask(asking, "post", channel="News", kind="contact"))["ids"]
        moved = news.pts
        assert (await ask(asking, "edit", channel="News", id=number, kind="contact"))["ids"] == [number]
        [found] = await read(client, telegram, news, number)
        assert (found.edit_date, news.pts) == (None, moved)
        await ask(asking, "edit", channel="News", id=number, kind="photo")
        [found] = await read(client, telegram, news, number)
        assert found.edit_date is not None
        assert news.pts > moved

    async def test_who_writes_is_named(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """People, bots, deleted accounts and anonymous admins; renaming shows with the next answer."""
        kinds = ["by_person", "by_bot", "by_deleted", "anonymous"]
        ids = [(await ask(asking, "post", channel="News", kind=kind))["ids"][0] for kind in kinds]
        person, bot, gone, nameless = await read(client, telegram, news, *ids)
        assert ((await person.get_sender()).username, (await bot.get_sender()).bot) == ("mira", True)
        left = await gone.get_sender()
        assert (left.deleted, left.first_name) == (True, None)
        assert nameless.from_id == types.PeerChannel(news.id)
        await ask(asking, "change", person="@mira", last_name="Lind", usernames=["mira", "mira2"])
        [person] = await read(client, telegram, news, ids[0])
        seen = person.sender
        assert (seen.last_name, [name.username for name in seen.usernames]) == ("Lind", ["mira", "mira2"])
        [asked] = await client(functions.users.GetUsersRequest([types.InputUser(seen.id, seen.access_hash)]))
        assert content(asked) == content(seen)
        await ask(asking, "change", person="@mira", person_deleted=True)
        [asked] = await client(functions.users.GetUsersRequest([types.InputUser(seen.id, seen.access_hash)]))
        assert (asked.deleted, asked.first_name) == (True, None)
        shown = {row["id"]: row for row in (await asking.get("/telegram/people")).json()}
        assert shown[seen.id] == {"id": seen.id, "name": "", "usernames": [], "bot": False, "deleted": True}

    async def test_a_search_finds_each_kind_of_file(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """The filters of the platform know the kinds apart."""
        filters = {
            "photo": types.InputMessagesFilterPhotos(),
            "video": types.InputMessagesFilterVideo(),
            "round": types.InputMessagesFilterRoundVideo(),
            "voice": types.InputMessagesFilterVoice(),
            "audio": types.InputMessagesFilterMusic(),
            "animation": types.InputMessagesFilterGif(),
            "document": types.InputMessagesFilterDocument(),
            "poll": types.InputMessagesFilterPoll(),
            "link": types.InputMessagesFilterUrl(),
            "contact": types.InputMessagesFilterContacts(),
            "geo": types.InputMessagesFilterGeo(),
            "pinned": types.InputMessagesFilterPinned(),
        }
        ids = {kind: (await ask(asking, "post", channel="News", kind=kind))["ids"] for kind in filters}
        for kind, wanted in filters.items():
            found = [message.id async for message in client.iter_messages(peer(telegram, news), filter=wanted)]
            assert (kind, found) == (kind, ids[kind])

    async def test_a_forward_says_where_it_comes_from(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Media and formatting go along, and the answer names the channel it came from."""
        source = telegram.world.add_channel("Source", broadcast=True)
        [number] = (await ask(asking, "post", channel="Source", kind="link"))["ids"]
        named, target = peer(telegram, source), peer(telegram, news)
        await client(functions.messages.ForwardMessagesRequest(named, [number], target, random_id=[5]))
        [found] = await read(client, telegram, news, news.top)
        assert (found.fwd_from.from_id, found.fwd_from.channel_post) == (types.PeerChannel(source.id), number)
        assert (type(found.media), len(found.entities)) == (types.MessageMediaWebPage, 1)
        assert found.forward.chat.title == "Source"


class TestWorlds:
    @settings(max_examples=3, deadline=None)
    @given(seed=st.integers(0, 10_000))
    def test_a_world_of_every_kind_is_equal_and_survives(self, seed: int) -> None:
        """With "kinds" a channel has one of each; equal input gives an equal world, and so does a restart."""
        channels = [{"title": "A", "kinds": True}, {"title": "B", "kind": "channel", "kinds": ["poll", "album"]}]
        people = [{"name": "Bo", "bot": True}]
        spec = WorldSpec.model_validate({"seed": seed, "telegram": {"channels": channels, "people": people}})
        world = make_world(spec, HeldClock(NOON))
        text = json.dumps(to_plain(world, 1))
        assert text == json.dumps(to_plain(make_world(spec, SystemClock()), 1))
        again, _ = world_from_plain(json.loads(text), SystemClock())
        assert json.dumps(to_plain(again, 1)) == text
        for title in ("A", "B"):
            assert truth(again, title) == truth(world, title)
        held = {type(message.fields.get("media")) for message in world.channel("A").messages.values()}
        assert held >= set(MEDIA) - {types.MessageMediaEmpty}
        said = {type(message.fields.get("action")) for message in world.channel("A").messages.values()}
        assert said >= set(ACTIONS)
        assert len(world.channel("B").messages) == 1 + 1 + 3
        assert all(message.date < NOON for message in world.channel("A").messages.values())

    def test_what_people_did_survives_a_restart(self) -> None:
        """Reactions, views, votes, pins, edits and renamed people, whatever kind of message they were done to."""
        spec = WorldSpec.model_validate({"telegram": {"channels": [{"title": "A", "kinds": True}]}})
        world = make_world(spec, HeldClock(NOON))
        for number in list(world.channel("A").messages):
            react(world, ReactSpec(channel="A", message=number, custom_emoji=number, as_edit=True))
            view(world, ViewSpec(channel="A", messages=[number]))
            pin(world, PinSpec(channel="A", message=number))
        change(world, ChangeSpec(channel="A", about="all kinds", person="@mira", first_name="Miriam"))
        text = json.dumps(to_plain(world, 1))
        again, _ = world_from_plain(json.loads(text), HeldClock(NOON))
        assert json.dumps(to_plain(again, 1)) == text
        assert (truth(again, "A"), again.channel("A").about) == (truth(world, "A"), "all kinds")
        assert again.people == world.people

    def test_an_unknown_kind_is_refused(self) -> None:
        """bad-input-gets-a-sentence: it lists the kinds there are."""
        spec = {"telegram": {"channels": [{"title": "A", "kinds": ["weather"]}]}}
        with pytest.raises(BadInput, match=r'no kind "weather".*geo_live'):
            make_world(WorldSpec.model_validate(spec), HeldClock(NOON))


def truth(world: World, title: str) -> list[dict[str, Any]]:
    channel = world.channel(title)
    return [shown_message(world, channel, message) for message in channel.messages.values()]


NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)


class TestHostile:
    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(
        text=st.text(max_size=40),
        places=st.lists(st.tuples(st.sampled_from(ENTITIES), NUMBERS, NUMBERS), max_size=8),
    )
    def test_broken_offsets_are_held_as_they_are(self, text: str, places: list[tuple[Any, int, int]]) -> None:
        """Negative, beyond the end, overlapping: the platform hands on what it has."""
        world = World(HeldClock(NOON))
        world.add_channel("News")
        entities = [sample(kind, offset=offset, length=length) for kind, offset, length in places]
        raw = {"message": text, "entities": [as_json(entity) for entity in entities]}
        post(world, PostSpec(channel="News", raw=raw))
        message = world.channel("News").messages[2]
        assert (message.text, content(message.fields.get("entities", []))) == (text, content(entities))

    async def test_ten_thousand_entities_reach_the_client(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Far above what the real platform allows, and nothing breaks here."""
        entities = [as_json(types.MessageEntityBold(number, 5)) for number in range(10_000)]
        ids = (await ask(asking, "post", channel="News", raw={"message": "x" * 4096, "entities": entities}))["ids"]
        [found] = await read(client, telegram, news, *ids)
        assert [entity.offset for entity in found.entities] == list(range(10_000))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["_", "a", "b"]), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON)
def test_json_that_is_no_object_is_refused_with_a_sentence(value: Any) -> None:
    """bad-input-gets-a-sentence: whatever is given, it is not a crash."""
    with pytest.raises(BadInput):
        from_plain(value)


@given(seed=st.integers(0, 1000), kind=st.sampled_from([*MEDIA, *ACTIONS]))
@settings(max_examples=100)
def test_json_and_objects_are_the_same_thing(seed: int, kind: Any) -> None:
    """An object as JSON and back is the object, and laid over itself it is unchanged."""
    held = sample(kind, seed)
    plain = as_plain(held)
    assert bytes(from_plain(plain)) == bytes(held)
    assert merged(plain, plain) == plain
