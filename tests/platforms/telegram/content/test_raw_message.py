"""What Telegram sent, as JSON: small, and equal whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from telethon.tl import types

from tests.platforms.telegram.content.posted import ADA, NOON, message, read, service
from tests.platforms.telegram.sample_objects import ACTIONS, MEDIA, sample
from tidegate.history.raw_json import pack
from tidegate.platforms.telegram.content.raw_message import encoded

PER_READER = {
    "access_hash",
    "file_reference",
    "dc_id",
    "views",
    "out",
    "min",
    "recent_voters",
    "total_voters",
    "chosen",
}


def names_in(value: Any) -> Iterator[str]:
    """Every name within JSON."""
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from names_in(one)


def size(found: Any) -> int:
    """How many bytes are stored of what Telegram sent."""
    return len(pack(read(found).raw) or b"")


def photo(dice: Random) -> types.Photo:
    """A photo with the sizes that Telegram makes of one from a phone, and its tiny preview."""
    sizes = [
        types.PhotoStrippedSize("i", b"\x01\x28\x1e" + dice.randbytes(dice.randrange(150, 450))),
        types.PhotoSize("m", 320, 240, dice.randrange(10_000, 30_000)),
        types.PhotoSize("x", 800, 600, dice.randrange(60_000, 120_000)),
        types.PhotoSizeProgressive("y", 1280, 960, sorted(dice.sample(range(9_000, 300_000), 5))),
    ]
    return types.Photo(dice.getrandbits(62), dice.getrandbits(62), dice.randbytes(41), NOON, sizes, 4)


class TestSizes:
    def test_a_short_text_takes_nothing(self) -> None:
        """All of it has columns, also when it is forwarded, answered, seen and reacted to."""
        told = types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 9)])
        plain = message(from_id=ADA, views=100, reactions=told, pinned=True, silent=True, post_author="Eve")
        header = types.MessageReplyHeader(reply_to_msg_id=3)
        formatted = message(entities=[types.MessageEntityBold(0, 2)], reply_to=header, via_bot_id=4, edit_date=NOON)
        forwarded = message(fwd_from=types.MessageFwdHeader(NOON, from_id=ADA, channel_post=5))
        assert [size(plain), size(formatted), size(forwarded)] == [0, 0, 0]

    @pytest.mark.parametrize(
        "found",
        [
            message(legacy=True, from_boosts_applied=3, from_rank="Captain", effect=2**62),
            message(entities=[types.MessageEntityBlockquote(0, 2, collapsed=True)]),
            message(fwd_from=types.MessageFwdHeader(NOON, from_id=ADA, saved_from_peer=ADA, saved_from_msg_id=2**30)),
            service(types.MessageActionChatAddUser([2**40 + 5])),
        ],
    )
    def test_an_unusual_text_takes_little(self, found: Any) -> None:
        """At most 150 bytes."""
        assert size(found) <= 150

    def test_a_photo_takes_little(self) -> None:
        """At most 700 bytes on average, with its tiny preview."""
        dice = Random(1)
        sizes = [size(message(media=types.MessageMediaPhoto(photo=photo(dice)))) for _ in range(200)]
        assert sum(sizes) / len(sizes) <= 700


class TestContent:
    @pytest.mark.parametrize("kind", [*MEDIA, *ACTIONS], ids=lambda kind: kind.__name__)
    def test_nothing_that_depends_on_the_reader_is_in_it(self, kind: Any) -> None:
        """Access hashes, references, results and one's own choices are left out at any depth."""
        found = message(media=sample(kind)) if kind in MEDIA else service(sample(kind))
        assert not PER_READER & set(names_in(read(found).raw))

    def test_numbers_that_javascript_rounds_are_text(self) -> None:
        """Whatever reads JSON has to read every number exactly."""
        assert [encoded(number) for number in (2**53, 2**53 + 1, -(2**63))] == [2**53, str(2**53 + 1), str(-(2**63))]
        assert [encoded(number) for number in (0.5, float("nan"), float("inf"))] == [0.5, "nan", "inf"]

    def test_bytes_and_times_are_text(self) -> None:
        """In forms that every language reads."""
        assert encoded([b"\x00\xff", NOON, None, True]) == ["AP8=", "2026-03-01T12:00:00+00:00", None, True]

    def test_deep_nesting_is_cut(self) -> None:
        """A page nested a thousand times is stored without its depths, and stops nothing."""
        text: Any = types.TextPlain("deep")
        for _ in range(1_000):
            text = types.TextBold(text)
        found = read(message(rich_message=types.RichMessage([types.PageBlockParagraph(text)], [], [])))
        assert found.content.texts == ("deep",)
        assert 100 < len(json.dumps(found.raw)) < 10_000

    def test_what_a_linked_page_says_is_not_part_of_the_message(self) -> None:
        """The preview is; Telegram's copy of the page behind it is not."""
        page = sample(types.WebPage)
        assert page.cached_page is not None
        found = read(message(media=types.MessageMediaWebPage(page)))
        assert found.content.preview is not None
        assert found.content.preview.title == page.title
        assert "cached_page" not in set(names_in(found.raw))
