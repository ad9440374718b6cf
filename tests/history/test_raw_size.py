"""What a platform sent takes little room beside the columns: an archive has many millions of such messages."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from statistics import mean
from typing import Any

from telethon.tl import types

from tidegate.core.message_content import PLAIN
from tidegate.database.pool import Database
from tidegate.history.content_json import content_json
from tidegate.history.raw_json import pack
from tidegate.platforms.discord.translation import message_of as discord_message
from tidegate.platforms.interface import Message
from tidegate.platforms.telegram.translation import message_of as telegram_message

SHORT_TEXT, PHOTO = 150, 700

_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
_WHERE = types.PeerChannel(1_500_000_001)
_TEXT = "The gate opens an hour before high water, see https://example.org/tides"


def telegram(**fields: Any) -> Message:
    found = telegram_message(types.Message(5, _WHERE, _AT, _TEXT, from_id=types.PeerUser(7), **fields), {})
    assert found is not None
    return found


def discord(**fields: Any) -> Message:
    """A message as Discord sends it, with all that it sends of every message."""
    return discord_message(
        {
            "id": "1456050033131520001", "channel_id": "1456047264890880001", "type": 0, "content": _TEXT,
            "timestamp": "2026-03-01T12:00:00.000000+00:00", "edited_timestamp": None, "tts": False, "pinned": False,
            "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "components": [], "flags": 0, "nonce": "1456050033131520000",
            "author": {
                "id": "529449771157422080", "username": "ada", "global_name": "Ada", "discriminator": "0",
                "avatar": "a_8342729096ea3675442027381ff50dfe", "public_flags": 64, "clan": None,
            },
            **fields,
        }
    )  # fmt: skip


def photo(seed: int) -> types.Photo:
    """Like one of a phone: a tiny preview of 60 to 90 bytes, three sizes, and one that gets sharper as it is read."""
    dice = Random(seed)
    sizes = [
        types.PhotoStrippedSize("i", bytes([1, 40, dice.randrange(20, 41)]) + dice.randbytes(dice.randint(60, 90))),
        types.PhotoSize("m", 320, dice.randrange(180, 320), dice.randrange(10_000, 30_000)),
        types.PhotoSize("x", 800, dice.randrange(450, 800), dice.randrange(50_000, 90_000)),
        types.PhotoSizeProgressive("y", 1280, dice.randrange(720, 1280), sorted(dice.sample(range(9_000, 250_000), 5))),
    ]
    return types.Photo(dice.getrandbits(62), dice.getrandbits(62), dice.randbytes(40), _AT, sizes, 2)


def picture(seed: int) -> dict[str, Any]:
    dice = Random(seed)
    number = dice.getrandbits(60)
    path = f"attachments/1456047264890880001/{number}/IMG_{dice.randrange(9_999)}.jpg?ex=6654e&is=6653c&hm={'ab' * 32}"
    return {
        "id": str(number), "filename": f"IMG_{dice.randrange(9_999)}.jpg", "size": dice.randrange(900_000),
        "url": f"https://cdn.discordapp.com/{path}", "proxy_url": f"https://media.discordapp.net/{path}",
        "width": 1280, "height": 960, "content_type": "image/jpeg", "content_scan_version": 1,
        "placeholder": f"{dice.getrandbits(160):040x}"[:28], "placeholder_version": 1,
    }  # fmt: skip


async def room(database: Database, messages: Sequence[Message]) -> float:
    """How many bytes PostgreSQL needs for all but the columns, on average."""
    rows = [(None if one.content is PLAIN else content_json(one.content), pack(one.raw)) for one in messages]
    sizes = [
        await database.pool.fetchval(
            "SELECT coalesce(pg_column_size($1::jsonb), 0) + coalesce(octet_length($2::bytea), 0)", *row
        )
        for row in rows
    ]
    return mean(sizes)


async def test_a_short_text(database: Database) -> None:
    """Plain, with a link and formatting, as a reply, forwarded, with views and reactions, by each platform."""
    link = types.MessageEntityUrl(_TEXT.index("https"), 25)
    reactions = types.MessageReactions([types.ReactionCount(types.ReactionEmoji("👍"), 12)])
    reply = types.MessageReplyHeader(reply_to_msg_id=3, forum_topic=True, reply_to_top_id=2)
    origin = types.MessageFwdHeader(_AT, from_id=types.PeerChannel(1_500_000_002), channel_post=77)
    texts = [
        telegram(entities=[link]),
        telegram(entities=[link], reply_to=reply, views=900, forwards=3),
        telegram(entities=[types.MessageEntityBold(0, 8), link], reactions=reactions, edit_date=_AT),
        telegram(entities=[link], fwd_from=origin),
        discord(),
        discord(type=19, message_reference={"message_id": "1456050033131510001", "channel_id": "1456047264890880001"}),
    ]
    assert await room(database, [telegram()]) == 0
    assert await room(database, [discord()]) == 0
    assert await room(database, texts) <= SHORT_TEXT


async def test_a_photo(database: Database) -> None:
    """With its tiny preview and the list of its sizes, but without what expires."""
    by_telegram = [telegram(media=types.MessageMediaPhoto(photo=photo(seed))) for seed in range(50)]
    assert await room(database, by_telegram) <= PHOTO
    assert await room(database, [discord(attachments=[picture(seed)]) for seed in range(50)]) <= PHOTO
    [size] = [one for one in by_telegram[0].raw["media"]["photo"]["sizes"] if one["_"] == "PhotoStrippedSize"]
    assert len(b64decode(size["bytes"])) > 60
