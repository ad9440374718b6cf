"""What Telegram sent about a message beyond our fields, as JSON.

Left out, so that an unchanged message stays equal for every reading account at any time:

- what depends on the account: access hashes, file references, ``out``, ``mentioned``, one's own choices;
- what depends on the time: reactions, views, results of polls, the edit date, availability of gifts, data centres,
  and of comments all but the group they are written in;
- what has a column or a field of its own: text, author, marks, the fields of a preview, details;
- entities that their span restores. One that it does not restore is kept as it came;
- ``cached_page``: Telegram's copy of a linked page is not part of the message.

An object names its class under ``_``. What is unset, false or empty is left out. Numbers beyond 2**53 are text, because
JavaScript would round them. Bytes are base64, times ISO 8601.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from telethon.tl import TLObject, types

from tidegate.platforms.telegram.content.text_formatting import unheld

_DEEPEST = 40
"""Deeper nesting is cut: nothing sensible reaches it, and every reader of the JSON has its own limit."""

_EXACT = 2**53
_KEPT = (
    "media", "action", "fwd_from", "reply_to", "reply_markup", "rich_message", "legacy", "invert_media", "offline",
    "video_processing_pending", "paid_suggested_post_stars", "paid_suggested_post_ton", "from_boosts_applied",
    "from_rank", "saved_peer_id", "via_business_bot_id", "guestchat_via_from", "restriction_reason", "effect",
    "factcheck", "paid_message_stars", "suggested_post", "schedule_repeat_period",
)  # fmt: skip
"""Fields of a message that have no place of their own."""

_NEVER = frozenset(
    {
        "access_hash", "file_reference", "dc_id", "hash", "cached_page", "credentials", "secret", "out", "views", "min",
        "prepaid_upgrade_hash", "reactions", "sent_reaction", "creator", "chosen", "results", "total_voters",
        "recent_voters", "has_unread_votes", "can_view_stats", "availability_remains", "availability_resale",
        "per_user_remains", "resell_min_stars", "sold_out", "last_sale_date", "replies", "replies_pts",
        "recent_repliers", "max_id", "read_max_id",
    }
)  # fmt: skip
"""Left out at any depth."""

_FORWARD = {"date", "from_id", "from_name", "imported", "channel_post", "post_author"}
_REPLY = {"reply_to_msg_id", "forum_topic", "quote", "quote_text", "story_id", "poll_option"}
_PREVIEW = {"url", "site_name", "title", "description", "author", "type"}
_POLL = {"closed", "public_voters", "multiple_choice", "quiz", "close_date"}
_PLACE = {"lat", "long", "accuracy_radius"}
_SHOWN = {"spoiler", "ttl_seconds"}

_FILE_SIZES = (types.PhotoSize, types.PhotoSizeProgressive)

_HELD: dict[type, tuple[set[str], dict[str, set[str]]]] = {
    types.MessageMediaPhoto: (_SHOWN, {"photo": {"id"}}),
    types.MessageMediaDocument: (
        {"video_timestamp", "video", "round", "voice", *_SHOWN},
        {"document": {"id", "size", "mime_type"}},
    ),
    types.MessageMediaWebPage: (set(), {"webpage": _PREVIEW}),
    types.MessageMediaPoll: (set(), {"poll": _POLL, "results": {"solution"}}),
    types.MessageMediaToDo: ({"completions"}, {"todo": {"others_can_append", "others_can_complete"}}),
    types.MessageMediaContact: ({"phone_number", "first_name", "last_name", "vcard", "user_id"}, {}),
    types.MessageMediaGeo: (set(), {"geo": _PLACE}),
    types.MessageMediaGeoLive: ({"period", "heading", "proximity_notification_radius"}, {"geo": _PLACE}),
    types.MessageMediaVenue: ({"title", "address", "provider", "venue_id", "venue_type"}, {"geo": _PLACE}),
    types.MessageMediaDice: ({"emoticon", "value"}, {}),
    types.MessageMediaGame: (set(), {"game": {"title", "description", "short_name"}}),
    types.MessageMediaInvoice: (
        {"title", "description", "currency", "total_amount", "test", "shipping_address_requested", "receipt_msg_id"},
        {},
    ),
    types.MessageMediaPaidMedia: ({"stars_amount"}, {}),
    types.MessageMediaGiveaway: (
        {
            "channels", "quantity", "until_date", "only_new_subscribers", "winners_are_visible", "countries_iso2",
            "prize_description", "months", "stars",
        },
        {},
    ),
    types.MessageMediaGiveawayResults: (
        {
            "channel_id", "launch_msg_id", "winners_count", "unclaimed_count", "winners", "until_date", "stars",
            "only_new_subscribers", "refunded", "additional_peers_count", "months", "prize_description",
        },
        {},
    ),
    types.MessageMediaStory: ({"peer", "id", "via_mention"}, {}),
    types.MessageMediaVideoStream: ({"rtmp_stream"}, {}),
}  # fmt: skip
"""Per kind of media the fields that have a place of their own: its own, and those of objects in it."""


def raw_of(found: Any) -> dict[str, Any]:
    """What Telegram sent about a message that was read, beyond our fields; empty for a plain text."""
    fields = vars(found)
    raw = _comments(fields)
    for name in _KEPT:
        if (value := fields.get(name)) and (kept := _field(name, value)):
            raw[name] = kept
    if fields.get("entities") and (entities := unheld(found.message or "", found.entities)):
        raw["entities"] = encoded(entities)
    return raw


def raw_of_unreadable(found: Any) -> dict[str, Any]:
    """All that Telegram sent about a message that could not be read, without what depends on account and time."""
    fields = vars(found)
    return _comments(fields) | {name: encoded(fields[name]) for name in (*_KEPT, "entities") if fields.get(name)}


def raw_of_web_page(page: Any) -> dict[str, Any]:
    """What Telegram sent about a preview, beyond our fields."""
    return _inner("webpage", page, _PREVIEW) or {}


def with_web_page(raw: Mapping[str, Any], page: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent about a message, and then about its preview, as if both had been sent at once."""
    others = {name: value for name, value in raw.items() if name != "media"}
    media = {name: value for name, value in dict(raw.get("media") or {}).items() if name != "webpage"}
    media |= {"_": types.MessageMediaWebPage.__name__} | ({"webpage": page} if page else {})
    return others | ({"media": media} if len(media) > 1 else {})


def _comments(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Where a channel's post is commented on; all else that is said of replies is a number of the moment."""
    replies = fields.get("replies")
    return {"replies": encoded(replies)} if getattr(replies, "comments", None) else {}


def _field(name: str, value: Any) -> Any:
    if name == "media":
        return _media(value)
    if name == "fwd_from":
        return _rest(value, _FORWARD)
    if name == "reply_to":
        return _reply(value)
    if name == "action":
        return _rest(value)
    return encoded(value)


def _media(media: Any) -> dict[str, Any]:
    own, inner = _HELD.get(type(media), (set(), {}))
    raw = _object(media, without={*own, *inner})
    if isinstance(media, types.MessageMediaToDo) and (strays := _strays(media)):
        raw["completions"] = encoded(strays)
    for name, held in inner.items():
        rest = _inner(name, getattr(media, name, None), held)
        if rest:
            raw[name] = rest
    return raw if len(raw) > 1 or type(media) not in _HELD else {}


def _strays(media: types.MessageMediaToDo) -> list[Any]:
    """Completions of tasks that the list does not have."""
    known = {one.id for one in media.todo.list}
    return [one for one in media.completions or () if one.id not in known]


def _inner(name: str, value: Any, held: set[str]) -> Any:
    if isinstance(value, types.Document):
        rest = _object(value, without={*held, "attributes"})
        named = [one for one in value.attributes if not isinstance(one, types.DocumentAttributeFilename)]
        return {**rest, "attributes": encoded(named)} if named else rest
    if name in ("document", "photo") and not any(isinstance(one, _FILE_SIZES) for one in getattr(value, "sizes", ())):
        return None if value is None else _object(value)  # there is no file of it
    if isinstance(value, types.Poll):
        plain = all(len(_rest(one, {"option", "text"})) == 0 and not one.text.entities for one in value.answers)
        return _rest(value, held | _plain_texts(question=value.question) | ({"answers"} if plain else set()))
    if isinstance(value, types.TodoList):
        plain = all(not one.title.entities for one in value.list)
        return _rest(value, held | _plain_texts(title=value.title) | ({"list"} if plain else set()))
    if name == "webpage" and not isinstance(value, types.WebPage):
        held = {"date"}  # there is no preview; when it was asked for says nothing
    return None if value is None else _rest(value, held)


def _plain_texts(**texts: Any) -> set[str]:
    """Which of these have no formatting, and are so held in full."""
    return {name for name, text in texts.items() if not text.entities}


def _reply(header: Any) -> dict[str, Any]:
    """What is left of a header; the root of a topic is the topic of its message."""
    held = _REPLY | ({"reply_to_top_id"} if getattr(header, "forum_topic", None) else set())
    held = held | ({"todo_item_id"} if getattr(header, "poll_option", None) is None else set())
    if isinstance(getattr(header, "reply_to_peer_id", None), types.PeerChannel):
        held = held | {"reply_to_peer_id"}
    rest = _rest(header, held)
    if quotes := unheld(getattr(header, "quote_text", None) or "", getattr(header, "quote_entities", None)):
        return {**rest, "quote_entities": encoded(quotes)}
    rest.pop("quote_entities", None)
    return rest if len(rest) > 1 else {}


def _rest(value: Any, held: Collection[str] = ()) -> dict[str, Any]:
    """What is left of an object without the fields that have a place of their own; empty for nothing but its name."""
    rest = _object(value, without=held)
    return rest if len(rest) > 1 else {}


# JSON


def encoded(value: Any, depth: int = 0) -> Any:
    """A value of Telegram's schema as JSON."""
    if isinstance(value, TLObject):
        return _object(value, depth=depth)
    if isinstance(value, list | tuple):
        return [encoded(one, depth + 1) for one in value] if depth < _DEEPEST else []
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int | float):
        return plain_number(value)
    return value if value is None or isinstance(value, str) else repr(value)


def plain_number(value: float) -> float | str:
    """A number as every reader of JSON takes it; text for one that it would round, or that is none."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if -_EXACT <= value <= _EXACT else str(value)


def _object(value: Any, *, without: Collection[str] = (), depth: int = 0) -> dict[str, Any]:
    raw: dict[str, Any] = {"_": type(value).__name__}
    if depth >= _DEEPEST:
        return raw
    for name, one in vars(value).items():
        if one is None or one is False or name in _NEVER or name in without or name.startswith("_"):
            continue
        if one or one == 0:
            raw[name] = encoded(one, depth + 1)
    return raw
