"""What the loopback Telegram says of a message, field by field, in the form of our store.

Written from Telegram's own JSON (``GET /truth``), and on purpose without the code that translates messages.
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from tests.stories.every_kind.stored_facts import Facts, instant, pairs

ENTITIES = {
    "Bold": "bold", "Italic": "italic", "Underline": "underline", "Strike": "strike", "Spoiler": "spoiler",
    "Code": "code", "Pre": "code block", "Blockquote": "quote", "Url": "link", "TextUrl": "link", "Email": "email",
    "Phone": "phone", "Mention": "mention", "MentionName": "mention", "Hashtag": "hashtag", "Cashtag": "cashtag",
    "BotCommand": "command", "BankCard": "bank card", "CustomEmoji": "custom emoji", "FormattedDate": "date",
    "DiffInsert": "inserted", "DiffDelete": "deleted", "DiffReplace": "replaced", "Unknown": "unsupported",
}  # fmt: skip
NAMELESS = "Deleted Account"
"""A deleted account has no name any more, and is said to be one."""

MARKED = 1_000_000_000_000
"""Channels are authors beside people, so their numbers are marked as Telegram's bots see them."""


def telegram_facts(row: Facts, people: dict[int, Facts], title: str) -> Facts:
    """Every field of one message; *people* by number, *title* is that of the channel."""
    raw = row["raw"]
    media = raw.get("media") or {}
    author = _author(raw)
    person = title if author < 0 else people[author]["name"] or NAMELESS
    return {
        "at": instant(raw["date"]),
        "text": row["text"],
        "author_id": author,
        "author": raw.get("post_author") or person,
        "person": person,
        "edited": raw.get("edit_date") is not None and not raw.get("edit_hide"),
        "formatting": [_span(row["text"], one) for one in raw.get("entities", [])],
        "forward": _forward(raw.get("fwd_from")),
        **_reply(raw.get("reply_to")),
        "poll": _poll(media),
        "votes": pairs(_votes(media)),
        "preview": _preview(media),
        "embeds": [],  # Telegram has none
        "reactions": pairs({_emoji(one["reaction"]): one["count"] for one in _reactions(raw)}),
        "views": raw.get("views"),
        "forwards": raw.get("forwards"),
        "replies": raw.get("replies", {}).get("replies"),
        "discussion": raw.get("replies", {}).get("channel_id"),
        "service": "action" in raw,
        "files": _files(row, media),
        "album": raw.get("grouped_id"),
        "pinned": bool(raw.get("pinned")),
        "silent": bool(raw.get("silent")),
        "expires_at": _expiry(raw),
        "unsupported": media.get("_") == "MessageMediaUnsupported",
    }


def _peer(peer: Facts) -> int:
    if "user_id" in peer:
        return int(peer["user_id"])
    return -MARKED - int(peer["channel_id"]) if "channel_id" in peer else -int(peer["chat_id"])


def _author(raw: Facts) -> int:
    """A channel's own post belongs to the channel."""
    return _peer(raw.get("from_id") or raw["peer_id"])


def _span(text: str, entity: Facts) -> tuple[str, int, int]:
    """Telegram counts in UTF-16 units, the store in characters."""
    units = text.encode("utf-16-le")

    def characters(at: int) -> int:
        return len(units[: 2 * at].decode("utf-16-le"))

    end = entity["offset"] + entity["length"]
    return ENTITIES[entity["_"].removeprefix("MessageEntity")], characters(entity["offset"]), characters(end)


def _forward(header: Facts | None) -> Facts | None:
    if header is None:
        return None
    return {
        "id": _peer(header["from_id"]) if "from_id" in header else None,
        "at": instant(header["date"]),
        "message": header.get("channel_post"),
        "signature": header.get("post_author", ""),
        "hidden_name": header.get("from_name", ""),
    }


def _reply(header: Facts | None) -> Facts:
    header = header or {}
    return {
        "reply_to": header.get("reply_to_msg_id"),
        "reply_channel": header.get("reply_to_peer_id", {}).get("channel_id"),
        "quote": header.get("quote_text", ""),
        "reply_story": header.get("story_id"),
    }


def _poll(media: Facts) -> Facts | None:
    if media.get("_") != "MessageMediaPoll":
        return None
    poll = media["poll"]
    return {
        "question": poll["question"]["text"],
        "answers": [one["text"]["text"] for one in poll["answers"]],
        "quiz": bool(poll.get("quiz")),
        "multiple": bool(poll.get("multiple_choice")),
        "closed": bool(poll.get("closed")),
        "explanation": media["results"].get("solution", ""),
    }


def _votes(media: Facts) -> Facts | None:
    if media.get("_") != "MessageMediaPoll":
        return None
    counted = {one["option"]: one["voters"] for one in media["results"].get("results", []) if "voters" in one}
    return {base64.b64decode(option).decode(): voters for option, voters in counted.items()}


def _preview(media: Facts) -> Facts | None:
    page = media.get("webpage", {})
    if page.get("_") != "WebPage":
        return None
    names = {"url": "url", "site": "site_name", "title": "title", "description": "description"}
    return {ours: page.get(theirs, "") for ours, theirs in names.items()}


def _reactions(raw: Facts) -> list[Facts]:
    found: list[Facts] = raw.get("reactions", {}).get("results", [])
    return found


def _emoji(reaction: Facts) -> str:
    if reaction["_"] == "ReactionPaid":
        return "paid"
    return str(reaction["emoticon"]) if "emoticon" in reaction else f"custom:{reaction['document_id']}"


def _files(row: Facts, media: Facts) -> list[tuple[str, int]]:
    """The file that a message carries. A photo has no name in the protocol.

    By design without pictures of previews, games, stories and actions: they are in what the platform sent.
    """
    if media.get("_") == "MessageMediaPhoto":
        return [("", row["file"]["size"])]
    if media.get("_") == "MessageMediaDocument":
        attributes = media["document"]["attributes"]
        names = [one["file_name"] for one in attributes if one["_"] == "DocumentAttributeFilename"]
        return [(names[0] if names else "", media["document"]["size"])]
    return []


def _expiry(raw: Facts) -> datetime | None:
    return instant(raw["date"]) + timedelta(seconds=raw["ttl_period"]) if raw.get("ttl_period") else None
