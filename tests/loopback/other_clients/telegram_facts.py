"""The facts of a Telegram message as Kurigram names them, beside those of ``GET /truth/telegram/{channel}``."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import datetime
from typing import Any

from tests.loopback.other_clients.comparison import Field, Table, moment
from tests.loopback.other_clients.telegram_media_facts import MEDIA, file_as_read, instant, peer_in_truth
from tests.loopback.other_clients.telegram_service_facts import SERVICE
from tidegate.loopback.telegram.tl_objects.tl_json import SECRETS

Raw = dict[str, Any]

_GENERAL = 1
_NOBODY_IN_PARTICULAR = "Somebody"
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_OF_THE_READER = SECRETS | {"out"}
"""Fields that each account has its own values for."""


def _seconds(text: str | None) -> datetime | None:
    """A moment as the protocol carries it: without parts of a second."""
    at = moment(text)
    return at.replace(microsecond=0) if at else None


def _author(message: Any) -> int | None:
    user = message.from_user
    return user.id if user and user.first_name != _NOBODY_IN_PARTICULAR else None


def _author_chat_in_truth(message: Raw) -> int | None:
    """The channel that speaks: of its own posts, and of an admin who is anonymous."""
    raw = message["raw"]
    author = raw.get("from_id") or raw["peer_id"]
    return peer_in_truth(author) if "channel_id" in author else None


def _text_as_read(message: Any) -> str:
    """Kurigram shows the words of one action as a text."""
    return "" if message.service else str(message.text or message.caption or "")


def _topic_as_read(message: Any) -> int | None:
    """The message that began a topic is in it, and names none; whatever else of a forum names none is in General."""
    if not message.chat.is_forum:
        return None
    if message.service and message.service.name == "FORUM_TOPIC_CREATED":
        return int(message.id)
    return int(message.message_thread_id or _GENERAL)


def _reply_as_read(message: Any) -> int | None:
    """What answers nothing names the message that began its topic, on Telegram as well."""
    answered = message.reply_to_message_id
    return None if answered == message.message_thread_id else answered


def _file_in_truth(message: Raw) -> Raw | None:
    """The file that is the message's own: those of previews, games and stories belong to them.

    A photo has no name on Telegram, whatever the name of the picture that it was made from.
    """
    file, media = message["file"], message["raw"].get("media") or {"_": None}
    if file is None or media["_"] not in ("MessageMediaPhoto", "MessageMediaDocument"):
        return None
    return {"kind": _file_kind(media), "size": file["size"], "name": _file_name(media)}


def _file_kind(media: Raw) -> str:
    if media["_"] == "MessageMediaPhoto":
        return "photo"
    held = {one["_"].removeprefix("DocumentAttribute"): one for one in media["document"]["attributes"]}
    if "Animated" in held or "Sticker" in held:
        return "animation" if "Animated" in held else "sticker"
    if "Video" in held:
        return "round" if held["Video"].get("round_message") else "video"
    if "Audio" in held:
        return "voice" if held["Audio"].get("voice") else "audio"
    return "document"


def _file_name(media: Raw) -> str | None:
    if media["_"] == "MessageMediaPhoto":
        return None
    return next((one["file_name"] for one in media["document"]["attributes"] if "file_name" in one), None)


def _entities_in_truth(entities: list[Raw] | None) -> list[Raw]:
    return [
        {
            "kind": one["_"],
            "at": (one["offset"], one["length"]),
            "url": one.get("url"),
            "user": one.get("user_id"),
            "language": one.get("language"),
            "emoji": one.get("document_id"),
            "collapsed": one.get("collapsed", False),
        }
        for one in entities or ()
    ]


def _entities_as_read(entities: Any) -> list[Raw]:
    return [
        {
            "kind": one.type.value.__name__,
            "at": (one.offset, one.length),
            "url": one.url,
            "user": one.user.id if one.user else None,
            "language": one.language,
            "emoji": int(one.custom_emoji_id) if one.custom_emoji_id else None,
            "collapsed": bool(one.expandable),
        }
        for one in entities or ()
    ]


def _origin_in_truth(header: Raw | None) -> Raw | None:
    if header is None:
        return None
    return {
        "date": moment(header["date"]),
        "from": peer_in_truth(header.get("from_id")),
        "name": header.get("from_name"),
        "post": header.get("channel_post"),
        "signed": header.get("post_author"),
    }


def _origin_as_read(origin: Any) -> Raw | None:
    if origin is None:
        return None
    source = getattr(origin, "chat", None) or getattr(origin, "sender_chat", None)
    source = source or getattr(origin, "sender_user", None)
    return {
        "date": instant(origin.date),
        "from": source.id if source else None,
        "name": getattr(origin, "sender_user_name", None),
        "post": getattr(origin, "message_id", None),
        "signed": getattr(origin, "author_signature", None),
    }


def _quote_in_truth(message: Raw) -> Raw | None:
    header = message["raw"].get("reply_to") or {}
    if not header.get("quote"):
        return None
    entities = _entities_in_truth(header.get("quote_entities"))
    return {"text": header["quote_text"], "at": header.get("quote_offset", 0), "entities": entities}


def _quote_as_read(message: Any) -> Raw | None:
    if message.quote is None:
        return None
    entities = _entities_as_read(message.quote.entities)
    return {"text": str(message.quote.text), "at": message.quote.position, "entities": entities}


def _elsewhere_in_truth(message: Raw) -> Raw | None:
    header = message["raw"].get("reply_to") or {}
    if "reply_from" not in header:
        return None
    return {
        "chat": peer_in_truth(header["reply_to_peer_id"]),
        "message": header["reply_to_msg_id"],
        "origin": _origin_in_truth(header["reply_from"]),
        "photo": header["reply_media"]["_"] == "MessageMediaPhoto",
    }


def _elsewhere_as_read(message: Any) -> Raw | None:
    outside = message.external_reply
    if outside is None:
        return None
    return {
        "chat": outside.chat.id,
        "message": outside.message_id,
        "origin": _origin_as_read(outside.origin),
        "photo": outside.photo is not None,
    }


def _answered_story_in_truth(message: Raw) -> tuple[int | None, int] | None:
    header = message["raw"].get("reply_to") or {"_": None}
    if header["_"] != "MessageReplyStoryHeader":
        return None
    return peer_in_truth(header["peer"]), header["story_id"]


def _answered_story_as_read(message: Any) -> tuple[int, int] | None:
    if message.reply_to_story_id is None:
        return None
    return message.reply_to_story_user_id, message.reply_to_story_id


def _reactions_in_truth(message: Raw) -> list[tuple[str, int]]:
    held = message["raw"].get("reactions") or {"results": []}
    return [
        (str(row["reaction"].get("emoticon") or row["reaction"].get("document_id") or "paid"), row["count"])
        for row in held["results"]
    ]


def _reactions_as_read(message: Any) -> list[tuple[str, int]]:
    held = message.reactions.reactions if message.reactions else ()
    return [(one.emoji or one.custom_emoji_id or "paid", one.count) for one in held]


def _buttons_in_truth(message: Raw) -> list[list[str]]:
    held = message["raw"].get("reply_markup") or {"rows": []}
    return [[button["text"] for button in row["buttons"]] for row in held["rows"]]


def _buttons_as_read(message: Any) -> list[list[str]]:
    held = message.reply_markup.inline_keyboard if message.reply_markup else ()
    return [[button.text for button in row] for row in held]


def _fact_check_in_truth(message: Raw) -> tuple[str, str] | None:
    held = message["raw"].get("factcheck")
    return (held["country"], held["text"]["text"]) if held else None


def _fact_check_as_read(message: Any) -> tuple[str, str] | None:
    return (message.fact_check.country, str(message.fact_check.text)) if message.fact_check else None


def _flag(schema: str, attribute: str) -> Field:
    """Something that is so, or is not."""
    return Field(
        lambda truth: truth["raw"].get(schema, False) and truth["raw"]["_"] == "Message",
        lambda read: bool(getattr(read, attribute)),
    )


def _number(schema: str, attribute: str) -> Field:
    """A number or a text that a message may lack."""
    return Field(lambda truth: truth["raw"].get(schema), lambda read: getattr(read, attribute))


def _whole_in_truth(value: Any) -> Any:
    """Everything the schema says: Telethon shows an instant as text, and lists that are unset as empty ones."""
    if isinstance(value, dict):
        held = {name: _whole_in_truth(one) for name, one in value.items() if name not in _OF_THE_READER}
        return {name: one for name, one in held.items() if one not in (None, False, [])}
    if isinstance(value, list):
        return [_whole_in_truth(one) for one in value]
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return int(datetime.fromisoformat(value).timestamp())
    return value


def _whole_as_read(value: Any) -> Any:
    """The same of an object that Kurigram read with its own schema."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, list):
        return [_whole_as_read(one) for one in value]
    if not hasattr(value, "QUALNAME"):
        return value
    held = {name: _whole_as_read(getattr(value, name)) for name in value.__slots__ if name not in _OF_THE_READER}
    return {"_": type(value).__name__, **{name: one for name, one in held.items() if one not in (None, False, [])}}


TELEGRAM: Table = {
    "date": Field(lambda truth: _seconds(truth["date"]), lambda read: instant(read.date)),
    "edited_at": Field(lambda truth: _seconds(truth["edited_at"]), lambda read: instant(read.edit_date)),
    "author": Field(lambda truth: truth["sender"], _author),
    "author_chat": Field(_author_chat_in_truth, lambda read: read.sender_chat.id if read.sender_chat else None),
    "text": Field(lambda truth: truth["text"], _text_as_read),
    "entities": Field(
        lambda truth: _entities_in_truth(truth["raw"].get("entities")),
        lambda read: _entities_as_read(read.entities or read.caption_entities),
    ),
    "topic": Field(lambda truth: truth["topic"], _topic_as_read),
    "reply_to": Field(lambda truth: truth["reply_to"], _reply_as_read),
    "quote": Field(_quote_in_truth, _quote_as_read),
    "reply_elsewhere": Field(_elsewhere_in_truth, _elsewhere_as_read),
    "reply_to_story": Field(_answered_story_in_truth, _answered_story_as_read),
    "forward": Field(
        lambda truth: _origin_in_truth(truth["raw"].get("fwd_from")), lambda read: _origin_as_read(read.forward_origin)
    ),
    "file": Field(_file_in_truth, file_as_read),
    "reactions": Field(_reactions_in_truth, _reactions_as_read),
    "buttons": Field(_buttons_in_truth, _buttons_as_read),
    "fact_check": Field(_fact_check_in_truth, _fact_check_as_read),
    "via_bot": Field(
        lambda truth: truth["raw"].get("via_bot_id"), lambda read: read.via_bot.id if read.via_bot else None
    ),
    "album": _number("grouped_id", "media_group_id"),
    "views": _number("views", "views"),
    "forwards": _number("forwards", "forwards"),
    "signature": _number("post_author", "author_signature"),
    "effect": _number("effect", "effect_id"),
    "pinned": _flag("pinned", "pinned"),
    "silent": _flag("silent", "silent"),
    "protected": _flag("noforwards", "has_protected_content"),
    "edited_by_the_platform": _flag("edit_hide", "edit_hidden"),
    "unheard": _flag("media_unread", "unread_media"),
    **MEDIA,
    **SERVICE,
    "whole": Field(lambda truth: _whole_in_truth(truth["raw"]), lambda read: _whole_as_read(read.raw)),
}
