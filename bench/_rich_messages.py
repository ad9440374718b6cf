"""Messages with more than a text, as the platforms' own objects say them: six kinds in turn, none of them unusual."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from telethon.tl import types

from tidegate.core.ids import FileId
from tidegate.core.message_content import NO_COUNTS, PLAIN
from tidegate.platforms.discord.translation import message_of as discord_message
from tidegate.platforms.interface import Message
from tidegate.platforms.telegram.translation import message_of as telegram_message

_WHERE = types.PeerChannel(1)


def rich_message(plain: Message, number: int) -> Message:
    """The message with what every sixth one has: formatting, a reply, reactions, a photo, a poll or an embed."""
    kinds = _kinds()
    one = kinds[number % len(kinds)]
    files = [replace(file, id=FileId(number)) for file in one.files]
    return replace(one, id=plain.id, at=plain.at, author=plain.author, text=plain.text, files=files)


def lean_message(plain: Message, number: int) -> Message:
    """The same with what was kept before there were rich messages: reply, reactions and file, and Discord's JSON."""
    rich = rich_message(plain, number)
    raw = rich.raw if "embeds" in rich.raw else {}
    return replace(rich, content=PLAIN, counts=NO_COUNTS, raw=raw, further_files=())


@cache
def _kinds() -> list[Message]:
    entities = [types.MessageEntityBold(0, 6), types.MessageEntityItalic(7, 6), types.MessageEntityUrl(14, 7)]
    reply = types.MessageReplyHeader(reply_to_msg_id=3, quote=True, quote_text="anchor beacon", quote_offset=0)
    emoji = {"👍": 12, "🔥": 3, "🎉": 1}
    reactions = [types.ReactionCount(types.ReactionEmoji(one), count) for one, count in emoji.items()]
    return [
        _telegram(entities=entities),
        _telegram(reply_to=reply),
        _telegram(reactions=types.MessageReactions(reactions), views=1_200, forwards=31),
        _telegram(media=types.MessageMediaPhoto(photo=_photo())),
        _telegram(media=_poll()),
        discord_message(_EMBEDDED),
    ]


def _telegram(**fields: Any) -> Message:
    text = "anchor beacon current drift ebb"
    found = telegram_message(types.Message(5, _WHERE, None, text, from_id=types.PeerUser(7), **fields), {})
    assert found is not None
    return found


def _photo() -> types.Photo:
    sizes = [
        types.PhotoStrippedSize("i", bytes(range(60))),
        types.PhotoSize("m", 320, 240, 18_000),
        types.PhotoSize("x", 800, 600, 70_000),
        types.PhotoSizeProgressive("y", 1280, 960, [12_000, 40_000, 90_000, 180_000]),
    ]
    return types.Photo(5_433_000_111_222_333, 1, b"reference", None, sizes, 2)


def _poll() -> types.MessageMediaPoll:
    def text(said: str) -> types.TextWithEntities:
        return types.TextWithEntities(said, [])

    options = {b"0": "In spring", b"1": "In summer", b"2": "Never"}
    answers = [types.PollAnswer(text(said), option) for option, said in options.items()]
    voters = [types.PollAnswerVoters(option, voters=20) for option in options]
    poll = types.Poll(6_000_000_000_000, text("When shall we paint the harbour?"), answers, 0)
    return types.MessageMediaPoll(poll, types.PollResults(results=voters, total_voters=60))


_EMBEDDED = {
    "id": "1456050033131520001",
    "channel_id": "1456047264890880001",
    "type": 0,
    "timestamp": "2026-01-01T00:00:00+00:00",
    "author": {"id": "529449771157422080", "username": "ada", "global_name": "Ada"},
    "content": "anchor beacon",
    "embeds": [
        {
            "type": "rich",
            "title": "The tide tables",
            "description": "High water at noon, low water at six; the gate opens an hour before.",
            "url": "https://example.com/tides",
            "color": 3_447_003,
            "footer": {"text": "Harbour office"},
            "fields": [{"name": "High", "value": "4.1 m"}, {"name": "Low", "value": "0.7 m"}],
        }
    ],
}
