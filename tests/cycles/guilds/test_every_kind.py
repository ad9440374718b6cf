"""Every type of message, embed, sticker and component that discord.py knows: posted as JSON, mirrored, found again.

The types are those of the installed library, so that a new one is tested without anybody naming it here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import discord
import pytest

from tests.cycles.guilds.conftest import PAGES, GuildMirror
from tests.platforms.discord.sample_messages import (
    COMPONENT_TYPES,
    EMBED_TYPES,
    EVERY_KIND,
    MESSAGE_TYPES,
    STICKER_FORMATS,
    raw_sample,
)
from tests.waiting import until
from tidegate.core.message_content import MessageKind
from tidegate.history.newest_reconciliation import reconcile
from tidegate.history.raw_json import unpack
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.messages.raw_messages import post_raw
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.platforms.discord.messages.raw_fields import WRITTEN
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query

READ = frozenset({"content", "title", "description", "name", "value", "label", "placeholder", "text", "filename"})
"""Fields whose text people read, at any depth."""

UNREAD = (
    ".emoji.name",  # a reaction is counted, not searched for
    ".application.description",  # of the application, not of the message
    ".attachments.0.placeholder",  # a blurred picture in code
)
CHOICE = re.compile(r"\.options\.[0-9]+\.value$")
"""What a menu tells its bot."""


@dataclass
class Stock:
    """Posts one message of each kind; texts that people read get one word more, which stands nowhere else."""

    world: World
    channel: Channel
    posted: dict[str, int] = field(default_factory=dict)
    words: dict[str, dict[str, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10_001))

    def post(self, kind: str) -> None:
        raw = raw_sample(self.world, self.channel, kind)
        raw.pop("id", None)
        self.words[kind] = self.worded(raw, "")
        self.posted[kind] = post_raw(self.world, self.channel, raw).id

    def worded(self, value: Any, path: str) -> dict[str, str]:
        words: dict[str, str] = {}
        rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, one in list(rows):
            where = f"{path}.{name}"
            if isinstance(one, str) and one and name in READ:
                words[where] = f"word{next(self.numbers)}"
                value[name] = f"{one} {words[where]}"
            else:
                words |= self.worded(one, where)
        return words


@pytest.fixture
def stock(world: World, guild: Guild) -> Stock:
    made = Stock(world, world.add_channel(guild, "general"))
    world.post(made.channel, "the first message, which others refer to")
    for kind in EVERY_KIND:
        made.post(kind)
    return made


async def mirrored(mirror: GuildMirror, stock: Stock) -> dict[str, Any]:
    """What one cycle stores of each kind."""
    await mirror.connect()
    await mirror.cycle()
    query = "SELECT m.* FROM messages m JOIN channels c ON c.id = m.channel WHERE c.number = $1 AND deleted_at IS NULL"
    rows = {row["id"]: row for row in await mirror.rows(query, stock.channel.id)}
    assert rows.keys() == {message.id for message in stock.channel.history}
    return {kind: rows[number] for kind, number in stock.posted.items()}


async def found_by(mirror: GuildMirror, word: str) -> list[int]:
    async with mirror.database.connection() as connection:
        query = read_query(word, lambda moment: moment.replace(tzinfo=UTC))
        return [one.id for one in (await search(connection, query, most=5)).found]


async def test_one_of_each_kind_is_mirrored_by_one_cycle(mirror: GuildMirror, stock: Stock) -> None:
    """Every type: its row, a kind that is known, and what has no column as it came."""
    rows = await mirrored(mirror, stock)
    unsupported = {kind: row["content"]["unsupported"] for kind, row in rows.items() if row["kind"] == "unsupported"}
    assert unsupported == {"unknown_type": "message type 99"}
    for kind in (*EMBED_TYPES, "webhook"):
        assert len(rows[kind]["content"]["embeds"]) == len(unpack(rows[kind]["raw"])["embeds"]) > 0
    for kind in STICKER_FORMATS:
        assert (rows[kind]["kind"], len(rows[kind]["content"]["details"]["stickers"])) == (MessageKind.STICKER, 1)
    for kind in COMPONENT_TYPES:
        assert unpack(rows[kind]["raw"])["components"], kind
        assert "unsupported" not in (rows[kind]["content"] or {}), kind
    for kind in MESSAGE_TYPES:
        is_written = discord.MessageType[kind].value in WRITTEN
        assert (rows[kind]["kind"] == MessageKind.SERVICE) == (not is_written), kind
        assert bool((rows[kind]["content"] or {}).get("service")) == (not is_written), kind
        assert (rows[kind]["service"] or kind) == kind


async def test_every_text_of_a_kind_is_found_by_a_search(mirror: GuildMirror, stock: Stock) -> None:
    """A field of an embed, a button, an answer of a poll, a forwarded text: each leads to its message."""
    rows = await mirrored(mirror, stock)
    unfound = [
        f"{kind}{path}"
        for kind, words in stock.words.items()
        for path, word in words.items()
        if not path.endswith(UNREAD) and not CHOICE.search(path) and word not in rows[kind]["words"]
    ]
    assert unfound == []
    for kind in ("embed_rich", "poll", "forward", "component_container", "sticker_lottie", "files", "unknown_type"):
        for path, word in stock.words[kind].items():
            if not path.endswith(UNREAD):
                assert await found_by(mirror, word) == [stock.posted[kind]], path


async def test_a_second_reading_changes_nothing(mirror: GuildMirror, stock: Stock) -> None:
    """The same messages read again are equal in every column, though links have new signatures."""
    before = {kind: dict(row) for kind, row in (await mirrored(mirror, stock)).items()}
    await mirror.pass_time(hours=30)
    await reconcile(mirror.context, [await mirror.history(stock.channel)], limit=1_000)
    after = {row["id"]: dict(row) for row in await mirror.rows("SELECT * FROM messages")}
    changed = {
        kind: [name for name in row if after[row["id"]][name] != row[name]]
        for kind, row in before.items()
        if after[row["id"]] != row
    }
    assert changed == {}
    assert await mirror.rows("SELECT FROM message_revisions") == []


async def test_every_kind_arrives_live_as_it_is_read(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """What the gateway brings is stored without a page, and equals what a page shows in every column."""
    made = Stock(world, world.add_channel(guild, "general"))
    world.post(made.channel, "the first message, which others refer to")
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made.channel))
        async with mirror.counted() as calls:
            for kind in EVERY_KIND:
                made.post(kind)
            await until(lambda: mirror.equals_truth(made.channel))
        assert calls[PAGES] == 0
    query = "SELECT m.* FROM messages m JOIN channels c ON c.id = m.channel WHERE c.number = $1"
    live = {row["id"]: dict(row) for row in await mirror.rows(query, made.channel.id)}
    await mirror.pass_time(hours=1)
    await reconcile(mirror.context, [await mirror.history(made.channel)], limit=1_000)
    read = {row["id"]: dict(row) for row in await mirror.rows(query, made.channel.id)}
    changed = {
        kind: [name for name in live[number] if live[number][name] != read[number][name]]
        for kind, number in made.posted.items()
        if live[number] != read[number]
    }
    assert changed == {}
