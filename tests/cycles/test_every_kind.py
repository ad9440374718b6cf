"""Every kind of message that Telegram's schema knows: posted as the library's own object, mirrored, found again.

The kinds are those of the installed library, so that a new one is tested without anybody naming it here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import pytest
from telethon.tl import TLObject, types

from tests.platforms.telegram.sample_objects import ACTIONS, ENTITIES, MEDIA, media, sample
from tests.scenes.telegram_mirror import Mirror
from tidegate.core.message_content import MessageKind, SpanKind
from tidegate.history.raw_json import unpack
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.tl_objects.tl_schema import arguments
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.schema import EditSpec, PostSpec
from tidegate.loopback.telegram.world.world_changes import edit, post
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query

TECHNICAL = frozenset(
    {
        "type", "mime_type", "video_codec", "embed_type",  # forms of files
        "url", "display_url", "embed_url", "domain", "slug", "invoice_slug", "auction_slug", "short_name",  # addresses
        "transaction_id", "start_param", "shipping_option_id", "provider_charge_id", "prepaid_upgrade_hash",  # keys
        "currency", "crypto_currency", "countries_iso2", "emoticon",
    }
)  # fmt: skip
"""Names of fields whose text nobody would search for."""

NOT_THE_MESSAGE = {
    "MessageMediaWebPage": (".webpage.cached_page",),  # a copy of the linked page
    # of the story's own post, kept as it came, and numbers of it
    "MessageMediaStory": (".story.fwd_from", ".story.media_areas", ".story.views"),
    "MessageActionBotAllowed": (".app",),  # the sample's first reason is said: by the attachment menu
    "MessageActionSuggestedPostApproval": (".reject_comment",),  # the sample was held up by the balance, not refused
    # what only the bot itself gets: kept as it came
    "MessageActionPaymentRefunded": (".charge",),
    "MessageActionPaymentSentMe": (".charge", ".info"),
    "MessageActionRequestedPeerSentMe": (".peers.0.username", ".peers.1.username"),
    "MessageActionSecureValuesSentMe": (".values",),
    "MessageActionWebViewDataSentMe": (".data",),
}
"""Texts that are no words of the message, by the beginning of their path."""


@dataclass
class Posted:
    """One message of a kind: its id, and the words in it by their path."""

    id: int
    words: dict[str, str]


@dataclass
class Stock:
    """Posts one message of each kind; each text in it is one word that stands nowhere else."""

    world: World
    channel: Channel
    posted: dict[str, Posted] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10_001))

    def post(self, kind: type[TLObject]) -> None:
        made = media(kind) if kind in MEDIA else sample(kind)
        words = self.worded(made)
        raw = {"action": made} if kind in ACTIONS else {"media": made, "message": self.word()}
        if "message" in raw:
            words["caption"] = raw["message"]
        self._post(kind.__name__, raw, words)

    def post_formatted(self, kind: type[TLObject]) -> None:
        word = self.word()
        self._post(kind.__name__, {"message": word, "entities": [sample(kind)]}, {"text": word})

    def word(self) -> str:
        return f"word{next(self.numbers)}"

    def worded(self, value: Any, path: str = "") -> dict[str, str]:
        """Replace each text within an object by a word; these words by their path."""
        words: dict[str, str] = {}
        for name in arguments(type(value)):
            held, where = getattr(value, name), f"{path}.{name}"
            if isinstance(held, str):
                words[where] = self.word()
                setattr(value, name, words[where])
            elif isinstance(held, TLObject):
                words |= self.worded(held, where)
            elif isinstance(held, list):
                for number, one in enumerate(held):
                    if isinstance(one, TLObject):
                        words |= self.worded(one, f"{where}.{number}")
        return words

    def _post(self, name: str, raw: dict[str, Any], words: dict[str, str]) -> None:
        plain = {key: json.loads(json.dumps(value, default=_as_json)) for key, value in raw.items()}
        [number] = post(self.world, PostSpec(channel=str(self.channel.id), raw=plain))
        self.posted[name] = Posted(number, words)


def _as_json(value: TLObject) -> Any:
    return json.loads(value.to_json())


@pytest.fixture
def stock(world: World) -> Stock:
    made = Stock(world, world.add_channel("News"))
    for kind in (*MEDIA, *ACTIONS):
        made.post(kind)
    for kind in ENTITIES:
        made.post_formatted(kind)
    return made


async def mirrored(mirror: Mirror, stock: Stock) -> dict[str, Any]:
    """What one cycle stores of each kind."""
    await mirror.sync()
    await mirror.enable(stock.channel, in_full=True)
    await mirror.cycle()
    rows = {row["id"]: row for row in await mirror.rows("SELECT * FROM messages WHERE deleted_at IS NULL")}
    assert len(rows) == len(stock.posted) + 1  # and the message that made the channel
    return {name: rows[one.id] for name, one in stock.posted.items()}


async def found_by(mirror: Mirror, word: str) -> list[int]:
    async with mirror.database.connection() as connection:
        query = read_query(word, lambda moment: moment.replace(tzinfo=UTC))
        return [one.id for one in (await search(connection, query, most=5)).found]


def _is_worded(kind: str, path: str) -> bool:
    fields = path.strip(".").split(".")
    named = [one for one in fields if not one.isdigit()][-1]
    return not (named in TECHNICAL or path.startswith(NOT_THE_MESSAGE.get(kind, ("?",))))


async def test_one_of_each_kind_is_mirrored_by_one_cycle(mirror: Mirror, stock: Stock) -> None:
    """Every class of media, action and formatting: its row, a kind that is known, and what has no column as it came."""
    rows = await mirrored(mirror, stock)
    unsupported = {name: row["content"]["unsupported"] for name, row in rows.items() if row["kind"] == "unsupported"}
    assert unsupported == {"MessageMediaUnsupported": "MessageMediaUnsupported"}
    for kind in ACTIONS:
        row = rows[kind.__name__]
        assert (row["kind"], bool(row["content"]["service"]), bool(row["service"])) == ("service", True, True)
    plain = {"MessageMediaEmpty", "MessageMediaWebPage"}
    assert {kind.__name__ for kind in MEDIA if rows[kind.__name__]["kind"] == MessageKind.TEXT} == plain
    for kind in ENTITIES:
        row = rows[kind.__name__]
        marked = [SpanKind(span["kind"]) for span in (row["content"] or {}).get("formatting", [])]
        assert len(marked) == 1, kind
        assert (SpanKind.UNSUPPORTED in marked) == (kind is types.MessageEntityUnknown), kind
    kept = {name: unpack(row["raw"]) for name, row in rows.items()}
    assert kept["MessageMediaDocument"]["media"]["document"]["attributes"]
    assert kept["MessageActionStarGift"]["action"]["_"] == "MessageActionStarGift"


async def test_every_text_of_a_kind_is_found_by_a_search(mirror: Mirror, stock: Stock) -> None:
    """A contact's name, a poll's answer, a preview's title, what an action announces: each leads to its message."""
    rows = await mirrored(mirror, stock)
    unfound = [
        f"{kind}{path}"
        for kind, one in stock.posted.items()
        for path, word in one.words.items()
        if _is_worded(kind, path) and word not in rows[kind]["words"]
    ]
    assert unfound == []
    for kind in ("MessageMediaContact", "MessageMediaPoll", "MessageMediaWebPage", "MessageActionChatEditTitle"):
        one = stock.posted[kind]
        for path, word in one.words.items():
            if _is_worded(kind, path):
                assert await found_by(mirror, word) == [one.id], path


async def test_a_second_reading_changes_nothing(mirror: Mirror, stock: Stock) -> None:
    """The same messages read again are equal in every column: nothing is counted as an edit."""
    before = {name: dict(row) for name, row in (await mirrored(mirror, stock)).items()}
    await mirror.pass_time(hours=1)
    await mirror.compare(stock.channel)
    after = {row["id"]: dict(row) for row in await mirror.rows("SELECT * FROM messages")}
    changed = {name: row["id"] for name, row in before.items() if after[row["id"]] != row}
    assert changed == {}
    assert await mirror.rows("SELECT FROM message_revisions") == []


async def test_a_text_becomes_each_kind_of_media_by_an_edit(mirror: Mirror, world: World) -> None:
    """The edited message has the new kind after one cycle, and is found by its words; the old text is a revision."""
    made = world.add_channel("News")
    numbers = {kind: world.post(made, f"plain {kind.__name__}").id for kind in MEDIA}
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    stock = Stock(world, made)
    made.pushes = False
    expected = {}
    for kind, number in numbers.items():
        one = media(kind)
        stock.worded(one)
        edit(world, EditSpec(channel="News", id=number, text=f"edited {kind.__name__}", raw={"media": _as_json(one)}))
        expected[number] = f"edited {kind.__name__}"
    await mirror.cycle()
    rows = {row["id"]: row for row in await mirror.rows("SELECT * FROM messages")}
    assert {number: rows[number]["text"] for number in numbers.values()} == expected
    kinds = {kind: rows[number]["kind"] for kind, number in numbers.items()}
    assert kinds[types.MessageMediaPoll] == MessageKind.POLL
    assert kinds[types.MessageMediaContact] == MessageKind.CONTACT
    revisions = await mirror.rows("SELECT message, text FROM message_revisions")
    assert {row["message"]: row["text"] for row in revisions} == {
        number: f"plain {kind.__name__}" for kind, number in numbers.items()
    }
