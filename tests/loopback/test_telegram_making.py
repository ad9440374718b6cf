"""Worlds made to order, and kept over a restart."""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telethon.sessions import MemorySession
from telethon.tl import functions

from tests.held import NOON
from tests.loopback.clients import make_client, peer, sign_in
from tests.loopback.conftest import PHONE
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import BadInput
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import topic_of
from tidegate.loopback.telegram.world.schema import FileSpec, WorldSpec
from tidegate.loopback.telegram.world.world_builder import SMALL_WORLD, make_file, make_world
from tidegate.loopback.telegram.world.world_snapshot import from_plain, to_plain


def kept(world: World) -> str:
    """A world as text: equal worlds are equal text."""
    return json.dumps(to_plain(world, 1))


def order(**telegram: object) -> WorldSpec:
    return WorldSpec.model_validate({"seed": 5, "telegram": telegram})


class TestMaking:
    @settings(max_examples=10)
    @given(seed=st.integers(0, 10_000))
    def test_equal_input_gives_an_equal_world(self, seed: int) -> None:
        """Two runs of a test see the same ids, dates, bytes and codes, whatever the time."""
        spec = SMALL_WORLD.model_copy(update={"seed": seed})
        one = kept(make_world(spec, HeldClock(NOON)))
        assert one == kept(make_world(spec, SystemClock()))
        assert one != kept(make_world(spec.model_copy(update={"seed": seed + 1}), HeldClock(NOON)))

    def test_a_forum_has_what_was_asked_for(self) -> None:
        """Topics, messages and files are as many as ordered, all dated before the world began."""
        world = make_world(
            order(channels=[{"title": "F", "kind": "forum", "topics": 1086, "messages": 300, "files": 40}]),
            HeldClock(NOON),
        )
        forum = world.channel("F")
        assert len(forum.topics) == 1087  # with General
        assert len(forum.messages) == 1 + 1086 + 300
        assert sum(message.file is not None for message in forum.messages.values()) == 40
        assert all(message.date < NOON for message in forum.messages.values())

    def test_topics_can_be_told_one_by_one(self) -> None:
        """Each with its own messages, files, pin and lock."""
        topics = [{"title": "one", "messages": 5, "files": 2, "pinned": True}, {"title": "two", "closed": True}]
        forum = make_world(
            order(channels=[{"title": "F", "kind": "forum", "topics": topics}]), HeldClock(NOON)
        ).channel("F")
        one, two = (topic for topic in forum.topics.values() if topic.id != 1)
        inside = [message for message in forum.messages.values() if topic_of(message) == one.id and not message.action]
        assert (one.pinned, two.closed, len(inside), sum(bool(m.file) for m in inside)) == (True, True, 5, 2)

    def test_generated_archives_are_real(self) -> None:
        """A demo can look inside; every file of the small world opens as a zip."""
        world = make_world(SMALL_WORLD, HeldClock(NOON))
        for file in world.files.values():
            assert zipfile.ZipFile(io.BytesIO(file.read(0, file.size))).testzip() is None
        assert len(world.files) == 46

    def test_a_sparse_zip_can_be_listed(self) -> None:
        """Its directory is true to names and sizes, and its 2 GiB cost nothing."""
        world = World(HeldClock(NOON))
        small = make_file(
            world,
            FileSpec.model_validate(
                {"name": "s.zip", "zip": [{"name": "a/b.stl", "size": 70_000}, {"name": "ü.stl", "size": 3}]}
            ),
        )
        listed = zipfile.ZipFile(io.BytesIO(small.read(0, small.size))).infolist()
        assert [(entry.filename, entry.file_size) for entry in listed] == [("a/b.stl", 70_000), ("ü.stl", 3)]
        large = make_file(
            world, FileSpec.model_validate({"name": "l.zip", "zip": [{"name": "big.stl", "size": 2 << 30}]})
        )
        assert large.size > 2 << 30
        assert sum(len(piece) for piece in large.pieces.values()) < 1000

    @pytest.mark.parametrize(
        ("file", "problem"),
        [
            ({"name": "x"}, "exactly one of"),
            ({"name": "x", "size": 1, "base64": "AA=="}, "exactly one of"),
            ({"name": "x", "size": 1, "length": 3}, "length"),
        ],
    )
    def test_a_file_that_cannot_be_is_refused(self, file: dict[str, object], problem: str) -> None:
        """A misspelt or contradictory order is told as such."""
        with pytest.raises(ValueError, match=problem):
            FileSpec.model_validate(file)

    @pytest.mark.parametrize(
        ("telegram", "problem"),
        [
            ({"channels": [{"title": "A"}, {"title": "A"}]}, "Two channels"),
            ({"accounts": [{"phone": "+1 23"}, {"phone": "123"}]}, "Two accounts"),
            ({"channels": [{"title": "A", "topics": 3}]}, "no forum"),
            ({"channels": [{"title": "A", "members": ["+999"]}]}, "no account"),
        ],
    )
    def test_a_world_that_contradicts_itself_is_refused(self, telegram: dict[str, object], problem: str) -> None:
        """bad-input-gets-a-sentence: with a sentence."""
        with pytest.raises(BadInput, match=problem):
            make_world(order(**telegram), HeldClock(NOON))


class TestKeeping:
    async def test_a_sign_in_and_all_that_happened_survive_a_restart(self) -> None:
        """With --state the same truth is there again: sign-ins, messages, files, random ids and the record."""
        world = make_world(SMALL_WORLD, SystemClock())
        world.add_account(PHONE)
        channel = world.channel("Vault")
        channel.members = set(world.accounts)
        world.post(channel, file=make_file(world, FileSpec(name="a", base64=b64encode(b"bytes"))))
        world.edit(channel, channel.top, text="edited")
        make_file(world, FileSpec(name="cover.png", picture=True))
        world.rename_topic(world.channel("Dragon Hoard"), 3, "Renamed")
        world.delete_topic(world.channel("Dragon Hoard"), 4)
        first = TelegramServer(world, world.clock)
        await first.start()
        session = MemorySession()
        client = await sign_in(make_client(first, session), first, PHONE)
        account = world.account_by_phone(PHONE)
        assert account is not None
        named = peer(first, channel, account.id)
        await client(functions.messages.SendMessageRequest(named, "before", random_id=1))
        await client.disconnect()
        await first.close()
        text = kept(world)

        again, port = from_plain(json.loads(text), SystemClock())
        assert port == 1
        assert kept(again) == text
        second = TelegramServer(again, again.clock)
        await second.start()
        client = make_client(second, session)
        await client.connect()
        await client(functions.messages.SendMessageRequest(named, "after", random_id=2))
        assert [message.text for message in again.channel("Vault").messages.values()][-3:] == [
            "edited",
            "before",
            "after",
        ]
        assert again.record.by_method()["messages.sendMessage"] == 2
        await client.disconnect()
        await second.close()
