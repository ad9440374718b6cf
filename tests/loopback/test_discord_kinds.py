"""Every kind of message: posted as Discord's JSON or by name, read back by the real client over REST and gateway."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import aiohttp
import discord
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.held import NOON
from tests.loopback.bots import connected, logged_in
from tests.loopback.control_requests import tell
from tests.platforms.discord.sample_messages import (
    COMPONENT_TYPES,
    EMBED_TYPES,
    EVERY_KIND,
    MESSAGE_TYPES,
    OTHERS,
    STICKER_FORMATS,
    Raw,
    raw_sample,
    samples,
    seen_in,
    unnamed_kinds,
)
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord import DiscordServer, World, message_shapes
from tidegate.loopback.discord.truth import truth_of
from tidegate.loopback.discord.world.kinds import KINDS
from tidegate.loopback.discord.world.messages.raw_messages import edit_raw, post_raw
from tidegate.loopback.discord.world.schema import DiscordSpec
from tidegate.loopback.discord.world.world_builder import make_world
from tidegate.loopback.discord.world.world_snapshot import from_plain, to_plain


def differences(posted: Any, read: Any, where: str = "") -> list[str]:
    """Where something that was posted reads otherwise; what only one of them knows is no difference."""
    if isinstance(posted, dict) and isinstance(read, dict):
        common = [name for name in posted if name in read and name not in ("url", "proxy_url")]
        return [one for name in common for one in differences(posted[name], read[name], f"{where}.{name}")]
    if isinstance(posted, list) and isinstance(read, list) and len(posted) == len(read):
        pairs = enumerate(zip(posted, read, strict=True))
        return [one for place, (mine, theirs) in pairs for one in differences(mine, theirs, f"{where}[{place}]")]
    return [] if posted == read or str(posted) == str(read) else [f"{where}: {posted!r} reads {read!r}"]


def missing(posted: Any, read: Any, where: str = "") -> list[str]:
    """Fields that were posted and cannot be read at all."""
    if isinstance(posted, dict) and isinstance(read, dict):
        lost = [f"{where}.{name}" for name in posted if name not in read]
        return lost + [one for name in posted if name in read for one in missing(posted[name], read[name], name)]
    if isinstance(posted, list) and isinstance(read, list):
        return [one for mine, theirs in zip(posted, read, strict=False) for one in missing(mine, theirs, where)]
    return []


def listed_files(raw: Raw) -> Raw:
    """What was posted, with the files that embeds and components show taken from the list, as Discord does."""
    shown = json.dumps([raw.get("embeds"), raw.get("components")])
    kept = [one for one in raw.get("attachments", ()) if f"attachment://{one['filename']}" not in shown]
    return raw | ({"attachments": kept} if "attachments" in raw else {})


class TestRaw:
    def test_every_type_of_the_library_has_a_kind(self) -> None:
        """A new type in discord.py fails here first; samples of it are made all the same."""
        assert unnamed_kinds() == []
        assert list(samples()) == EVERY_KIND

    @pytest.mark.parametrize(
        "kinds",
        [MESSAGE_TYPES, EMBED_TYPES, STICKER_FORMATS, COMPONENT_TYPES, OTHERS],
        ids=["messages", "embeds", "stickers", "components", "others"],
    )
    async def test_what_is_posted_is_what_the_client_reads(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, kinds: list[str]
    ) -> None:
        """Over REST, over the gateway and in the truth, by discord.py's own objects: nothing lost, nothing changed."""
        world, general = discord_server.world, discord_server.world.channel("general")
        world.post(general, "earlier")
        posted: dict[int, tuple[str, Raw]] = {}
        async with connected(discord_server) as client:
            for kind in kinds:
                raw = raw_sample(world, general, kind)
                [number] = (await tell(asking, "/discord/post", channel="general", raw=raw))["ids"]
                posted[number] = (kind, listed_files(raw))
            heard = await client.until("message", len(posted))
            channel = client.get_channel(general.id)
            read = {one.id: one async for one in channel.history(limit=None)}
            pushed = {one.id: one for one in heard}
            rows = {int(row["id"]): row for row in await client.http.logs_from(general.id, 100)}
            told = {one["id"]: one["raw"] for one in await tell(asking, "/truth/discord/general", "GET")}
            for number, (kind, raw) in posted.items():
                for reader in (read, pushed):
                    assert differences(raw, seen_in(reader[number])) == [], kind
                for reader in (rows, told):
                    assert differences(raw, reader[number]) == [], kind
                    assert missing(raw, reader[number]) == [], kind
                assert differences(seen_in(read[number]), seen_in(pushed[number])) == [], kind
        assert discord_server.world.record.unknown == []

    async def test_a_raw_message_keeps_its_own_id_author_and_time(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """A recorded message can be posted as it is; the channel stays in order, and an id is used once."""
        author = {"id": "80351110224678912", "username": "nelly", "global_name": "Nelly", "bot": False}
        raw = {"id": "334385199974967042", "author": author, "content": "from 2017", "type": 0}
        await tell(asking, "/discord/post", channel="general", text="now")
        [number] = (await tell(asking, "/discord/post", channel="general", raw=raw))["ids"]
        assert number == 334385199974967042
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(discord_server.world.channel("general").id)
            old, new = [one async for one in channel.history(limit=None, oldest_first=True)]
        assert (old.id, old.content, old.author.global_name) == (number, "from 2017", "Nelly")
        assert (old.created_at.year, new.content) == (2017, "now")
        again = await asking.post("/discord/post", json={"channel": "general", "raw": raw})
        assert (again.status_code, "cannot have the id" in again.json()["problem"]) == (422, True)

    async def test_files_of_a_message_can_be_fetched_and_have_a_hash(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """Those in its list, those that embeds, components and snapshots show, and stickers in all formats."""
        for kind in ("files", "embedded_file", "component_container", "forward", "voice", *STICKER_FORMATS):
            await tell(asking, "/discord/post", channel="general", kind=kind)
        told = await tell(asking, "/truth/discord/general", "GET")
        links = {file["id"]: file["sha256"] for one in told for file in one["files"]}
        found: dict[Any, str] = {}
        async with aiohttp.ClientSession() as session:
            for one in told:
                for number, url in fetched_from(one["raw"], discord_server.address):
                    async with session.get(url) as answer:
                        assert answer.status == 200
                        found[number] = sha256(await answer.read()).hexdigest()
        assert {str(number): link for number, link in links.items()} == found

    async def test_given_bytes_are_those_of_the_attachment_with_that_name(
        self, asking: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """A type with a character set, as Discord sends it, does no harm to the download."""
        rows = [{"filename": "a.txt", "content_type": "text/plain; charset=utf-8", "description": "words"}]
        files = [{"name": "a.txt", "base64": "Ynl0ZXM="}, {"name": "more.bin", "size": 5}]
        await tell(asking, "/discord/post", channel="general", raw={"attachments": rows}, files=files)
        [one] = await tell(asking, "/truth/discord/general", "GET")
        assert [file["name"] for file in one["files"]] == ["a.txt", "more.bin"]
        assert one["files"][0]["sha256"] == sha256(b"bytes").hexdigest()
        first = one["raw"]["attachments"][0]
        assert (first["description"], first["size"]) == ("words", 5)
        async with aiohttp.ClientSession() as session, session.get(first["url"]) as answer:
            assert (await answer.read(), answer.headers["Content-Type"]) == (b"bytes", "text/plain; charset=utf-8")


def fetched_from(raw: Raw, at: str) -> list[tuple[str, str]]:
    """Every file that a message leads to: by its own links, and stickers by their ids."""
    endings = {1: "png", 2: "png", 3: "json", 4: "gif"}
    found = []
    for held in walk(raw):
        number = held.get("attachment_id") or (held.get("id") if "filename" in held else None)
        if number:
            found.append((str(number), held["url"]))
    stickers = raw.get("sticker_items", ())
    return found + [(one["id"], f"{at}/stickers/{one['id']}.{endings[one['format_type']]}") for one in stickers]


def walk(value: Any) -> list[Raw]:
    if isinstance(value, dict):
        return [value, *(one for inner in value.values() for one in walk(inner))]
    return [one for inner in value for one in walk(inner)] if isinstance(value, list) else []


class TestNames:
    async def test_a_kind_is_posted_by_its_name_and_overridden(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """Its contents come from the seed; text, author, fields and raw replace what was generated."""
        names = await tell(asking, "/discord/kinds", "GET")
        assert names == list(KINDS)
        await tell(asking, "/discord/post", channel="general", kind="embed_rich", text="mine", author="Zoe")
        raw = {"poll": {"question": {"text": "?"}, "answers": [], "expiry": "2030-01-01T00:00:00+00:00"}}
        await tell(asking, "/discord/post", channel="general", kind="poll", raw=raw)
        await tell(asking, "/discord/post", channel="general", kind="tts", count=2)
        one, two, *spoken = [row["raw"] for row in await tell(asking, "/truth/discord/general", "GET")]
        assert (one["content"], one["author"]["global_name"], one["embeds"][0]["type"]) == ("mine", "Zoe", "rich")
        assert two["poll"]["question"] == {"text": "?"}
        assert [row["tts"] for row in spoken] == [True, True]
        refused = await asking.post("/discord/post", json={"channel": "general", "kind": "carrier pigeon"})
        assert (refused.status_code, "no kind of message" in refused.json()["problem"]) == (422, True)

    async def test_a_message_is_forwarded_with_files_of_its_own(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """The snapshot stays as it was when the first message is edited and deleted; a forward of it is the same."""
        [first] = (await tell(asking, "/discord/post", channel="general", kind="embedded_file", text="look"))["ids"]
        forward = {"channel": "general", "message": first}
        [second] = (await tell(asking, "/discord/post", channel="general", forward=forward))["ids"]
        await tell(asking, "/discord/edit", channel="general", id=first, text="changed")
        await tell(asking, "/discord/delete", channel="general", ids=[first])
        forward = {"channel": "general", "message": second}
        [third] = (await tell(asking, "/discord/post", channel="general", forward=forward))["ids"]
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(discord_server.world.channel("general").id)
            for number in (second, third):
                message = await channel.fetch_message(number)
                [snapshot] = message.message_snapshots
                assert message.flags.forwarded
                assert message.reference.type is discord.MessageReferenceType.forward
                assert (snapshot.content, [file.filename for file in snapshot.attachments]) == ("look", ["listed.png"])
                async with aiohttp.ClientSession() as session:
                    for url in (snapshot.attachments[0].url, snapshot.embeds[0].image.url):
                        async with session.get(url) as answer:
                            assert answer.content_type == "image/png"

    async def test_an_edit_takes_raw_and_kinds(self, discord_server: DiscordServer, asking: httpx.AsyncClient) -> None:
        """Words, components and files are dated as an edit; an embed that arrives later is not, nor is a pin."""
        [number] = (await tell(asking, "/discord/post", channel="general", text="a link"))["ids"]
        async with connected(discord_server) as client:
            await tell(asking, "/discord/edit", channel="general", id=number, raw={"embeds": [{"type": "link"}]})
            [unfurled] = await client.until("raw_message_edit")
            assert (unfurled.data["edited_timestamp"], len(unfurled.data["embeds"])) == (None, 1)
            await tell(asking, "/discord/edit", channel="general", id=number, kind="component_text_display")
            changed = (await client.until("raw_message_edit", 2))[1]
            assert changed.data["edited_timestamp"] is not None
            assert (changed.data["content"], changed.data["components"][0]["type"]) == ("", 10)
            raw = {"content": "quietly", "edited_timestamp": None}
            await tell(asking, "/discord/edit", channel="general", id=number, raw=raw)
            assert (await client.until("raw_message_edit", 3))[2].data["edited_timestamp"] is None

    async def test_an_edit_that_changes_nothing_is_none(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """A person's client does not send it: the message is not marked as edited."""
        channel = discord_server.world.channel("general")
        [number] = (await tell(asking, "/discord/post", channel="general", kind="markdown"))["ids"]
        posted = discord_server.world.message(channel, number)
        await tell(asking, "/discord/edit", channel="general", id=number, kind="markdown")
        assert discord_server.world.message(channel, number) == posted
        await tell(asking, "/discord/edit", channel="general", id=number, raw={"content": "another text"})
        assert discord_server.world.message(channel, number).edited_at is not None

    async def test_a_reply_to_a_deleted_message_says_so(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """``referenced_message`` is null, whether it was deleted before or after; a thread names its first message."""
        [first] = (await tell(asking, "/discord/post", channel="general", text="first"))["ids"]
        [reply] = (await tell(asking, "/discord/post", channel="general", kind="reply"))["ids"]
        [thread] = (await tell(asking, "/discord/post", channel="general", kind="thread_started"))["ids"]
        [lost] = (await tell(asking, "/discord/post", channel="general", kind="reply_to_deleted"))["ids"]
        async with connected(discord_server) as client:
            channel = client.get_channel(discord_server.world.channel("general").id)
            assert (await channel.fetch_message(reply)).reference.resolved.content == "first"
            await tell(asking, "/discord/delete", channel="general", ids=[first])
            for number in (reply, lost):
                resolved = (await channel.fetch_message(number)).reference.resolved
                assert isinstance(resolved, discord.DeletedReferencedMessage)
            started = await channel.fetch_message(thread)
            [starter] = [one async for one in started.thread.history()]
            assert (starter.type, starter.reference.resolved.content) == (
                discord.MessageType.thread_starter_message,
                started.content,
            )


class TestContentIntent:
    async def test_without_it_the_fields_are_blank(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """Content, embeds, attachments, components and poll, over REST and gateway; mentions and own messages stay."""
        world = discord_server.world
        [bot] = world.bots.values()
        bot.switched_on.clear()
        intents = discord.Intents.default()
        kinds = ("everything", "poll", "forward", "component_container", "sticker_png")
        async with connected(discord_server, intents=intents) as client:
            for kind in kinds:
                await tell(asking, "/discord/post", channel="general", kind=kind)
            await tell(asking, "/discord/post", channel="general", kind="everything", text=f"<@{bot.id}> hello")
            general = world.channel("general")
            world.post(general, "mine", author=bot.id, fields={"poll": {"question": {}}})
            heard = await client.until("message", 7)
            rows = [*reversed(await client.http.logs_from(general.id, 100))]
            assert [one.content for one in heard] == [row["content"] for row in rows]
            for row in rows[:5]:
                assert (row["content"], row["embeds"], row["attachments"], row["components"]) == ("", [], [], [])
                assert "poll" not in row
            assert rows[2]["message_snapshots"][0]["message"]["content"] == ""
            assert len(rows[4]["sticker_items"]) == 1
            assert (len(rows[5]["embeds"]), len(rows[5]["attachments"]), len(rows[5]["components"])) == (2, 4, 1)
            assert (rows[6]["content"], "poll" in rows[6]) == ("mine", True)


class TestWorlds:
    @settings(max_examples=5)
    @given(seed=st.integers(0, 1000))
    def test_equal_input_gives_an_equal_world_of_kinds(self, seed: int) -> None:
        """One message of each kind, whenever the world is made; it survives being stored."""
        spec = DiscordSpec.model_validate(
            {"guilds": [{"name": "Harbour", "channels": [{"name": "general", "messages": 3, "kinds": True}]}]}
        )
        world = make_world(spec, HeldClock(NOON), seed=seed)
        plain = to_plain(world, 1)
        assert plain == to_plain(make_world(spec, SystemClock(), seed=seed), 1)
        again, _ = from_plain(json.loads(json.dumps(plain)), HeldClock(NOON))
        assert to_plain(again, 1) == plain
        general = world.channel("general")
        assert len(general.history) == 3 + len(KINDS)
        ids = [message.id for channel in world.channels.values() for message in channel.history]
        assert len(ids) == len(set(ids))
        told = [truth_of(again, again.channel("general"), one, "http://127.0.0.1:1") for one in general.history]
        assert told == [truth_of(world, general, one, "http://127.0.0.1:1") for one in general.history]

    async def test_listed_kinds_are_read_by_the_client(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """After the other messages; a kind that does not exist is refused, and so are kinds of a forum."""

        def spec(**channel: Any) -> Any:
            return {"discord": {"guilds": [{"name": "Harbour", "channels": [{"name": "general", **channel}]}]}}

        await tell(asking, "/world", "PUT", **spec(messages=2, kinds=["poll", "thread_started", "voice"]))
        async with connected(discord_server) as client:
            channel = client.get_channel(discord_server.world.channel("general").id)
            read = [one async for one in channel.history(oldest_first=True)]
            assert [thread.id for thread in channel.threads] == [read[3].id]
        assert len(read) == 5
        assert (read[2].poll.total_votes, read[3].flags.has_thread, read[4].flags.voice) == (5, True, True)
        for wrong in ({"kinds": ["pigeon"]}, {"kinds": True, "kind": "forum"}):
            assert (await asking.put("/world", json=spec(**wrong))).status_code == 422


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_FIELDS = st.sampled_from(
    ["embeds", "components", "attachments", "poll", "reactions", "message_snapshots", "sticker_items", "mentions",
     "message_reference", "author", "flags", "type", "content", "pinned", "edited_timestamp", "webhook_id", "nonce"]
)  # fmt: skip


class TestHostile:
    @settings(max_examples=150)
    @given(raw=st.dictionaries(_FIELDS, _JSON, max_size=4))
    def test_any_json_is_passed_on_or_refused_and_stops_nothing(self, raw: Raw) -> None:
        """The world can be read, shown and stored afterwards, whatever was posted into it."""
        world = World(HeldClock(NOON), seed=1)
        bot = world.add_bot("Tidebot")
        general = world.add_channel(world.add_guild("Harbour"), "general")
        message = post_raw(world, general, raw)
        edit_raw(world, general, message.id, raw)
        held = world.message(general, message.id)
        for content in (True, False):
            json.dumps(message_shapes.message(world, general, held, bot, "http://127.0.0.1:1", content=content))
        truth_of(world, general, held, "http://127.0.0.1:1")
        plain = to_plain(world, 1)
        assert to_plain(from_plain(json.loads(json.dumps(plain)), HeldClock(NOON))[0], 1) == plain

    async def test_ten_thousand_fields_and_deep_nesting_reach_the_client(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """They are passed on as they are, so that a client's own limits can be tested."""
        fields = [{"name": str(place), "value": "x" * 20, "inline": False} for place in range(10_000)]
        nested: Raw = {"type": 10, "content": "innermost"}
        for _ in range(40):
            nested = {"type": 17, "components": [nested]}
        raw = {"embeds": [{"type": "rich", "fields": fields}], "components": [nested], "flags": 1 << 15}
        async with connected(discord_server) as client:
            await tell(asking, "/discord/post", channel="general", raw=raw)
            [message] = await client.until("message")
            assert len(message.embeds[0].fields) == 10_000
            inner, depth = message.components[0], 0
            while isinstance(inner, discord.Container):
                inner, depth = inner.children[0], depth + 1
            assert (depth, inner.content) == (40, "innermost")

    @pytest.mark.parametrize("depth", [150, 5000])
    async def test_endless_nesting_is_refused_by_the_control_address(
        self, asking: httpx.AsyncClient, discord_server: DiscordServer, depth: int
    ) -> None:
        """With an answer, not with a crash; nothing is posted."""
        body = '{"channel": "general", "raw": {"components": ' + "[" * depth + "]" * depth + "}}"
        answer = await asking.post("/discord/post", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert len(discord_server.world.channel("general").history) == 0

    def test_what_could_not_be_stored_is_refused(self, discord_server: DiscordServer) -> None:
        """bad-input-gets-a-sentence: endless nesting, numbers that JSON lacks, crowds without end."""
        world, general = discord_server.world, discord_server.world.channel("general")
        nested: Raw = {}
        for _ in range(200):
            nested = {"components": [nested]}
        for raw in (
            nested,
            {"embeds": [{"color": float("nan")}]},
            {"reactions": [{"emoji": {"name": "👍"}, "count": 10**9}]},
        ):
            with pytest.raises(BadInput):
                post_raw(world, general, raw)
        assert len(general.history) == 0
