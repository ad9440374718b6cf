"""The facts of a Discord message as hikari names them, beside those of ``GET /truth/discord/{channel}``."""

from __future__ import annotations

from typing import Any

import hikari

from tests.loopback.other_clients.comparison import Field, Table, moment
from tests.loopback.other_clients.discord_content_facts import CONTENT, emoji_as_read, emoji_in_truth

Raw = dict[str, Any]

_DEFAULT, _REPLY = 0, 19
_HAS_THREAD = 1 << 5


class _Told:
    """A message of hikari that has None where an update said nothing; hikari itself has a word of its own for it."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._message, name)
        return None if value is hikari.UNDEFINED else value


def _telling(field: Field) -> Field:
    return Field(field.in_truth, lambda read: field.as_read(_Told(read)))


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _reply(message: Any) -> int | None:
    """Only what is marked as a reply: other kinds refer to messages too, such as the one a thread began with."""
    return int(message.message_reference.id) if message.message_reference and message.type == _REPLY else None


def _reference_in_truth(message: Raw) -> Raw | None:
    held = message["raw"].get("message_reference")
    if held is None:
        return None
    return {"type": held["type"], **{name: _number(held.get(name)) for name in _PLACES}}


_PLACES = ("message_id", "channel_id", "guild_id")


def _reference_as_read(message: Any) -> Raw | None:
    held = message.message_reference
    if held is None:
        return None
    return {
        "type": int(held.type),
        "message_id": _number(held.id),
        "channel_id": int(held.channel_id),
        "guild_id": _number(held.guild_id),
    }


def _answered_in_truth(message: Raw) -> tuple[int, str] | None:
    held = message["raw"].get("referenced_message")
    return (int(held["id"]), held["content"]) if held else None


def _answered_as_read(message: Any) -> tuple[int, str] | None:
    held = message.referenced_message
    return (int(held.id), held.content or "") if held else None


def _reactions_in_truth(message: Raw) -> list[Raw]:
    return [
        {"emoji": emoji_in_truth(one["emoji"]), "count": one["count"], **one["count_details"]}
        for one in message["raw"].get("reactions", ())
    ]


def _reactions_as_read(message: Any) -> list[Raw]:
    return [
        {
            "emoji": emoji_as_read(one.emoji),
            "count": one.count,
            "normal": one.count_details.normal,
            "burst": one.count_details.burst,
        }
        for one in message.reactions or ()
    ]


def _mentions_in_truth(message: Raw) -> Raw:
    raw = message["raw"]
    return {
        "users": {int(user["id"]): user["global_name"] for user in raw["mentions"]},
        "roles": [int(role) for role in raw["mention_roles"]],
        "channels": {int(channel["id"]): channel["name"] for channel in raw.get("mention_channels", ())},
        "everyone": raw["mention_everyone"],
    }


def _mentions_as_read(message: Any) -> Raw:
    return {
        "users": {int(number): user.global_name for number, user in (message.user_mentions or {}).items()},
        "roles": [int(role) for role in message.role_mention_ids or ()],
        "channels": {int(number): channel.name for number, channel in (message.channel_mentions or {}).items()},
        "everyone": bool(message.mentions_everyone),
    }


def _author_in_truth(message: Raw) -> Raw:
    author = message["raw"]["author"]
    return {
        "id": int(author["id"]),
        "name": author["username"],
        "shown": author.get("global_name"),
        "bot": author.get("bot", False),
        "webhook": _number(message["raw"].get("webhook_id")),
    }


def _author_as_read(message: Any) -> Raw:
    author = message.author
    return {
        "id": int(author.id),
        "name": author.username,
        "shown": author.global_name,
        "bot": author.is_bot,
        "webhook": _number(message.webhook_id),
    }


def _command_in_truth(message: Raw) -> tuple[int, int, int] | None:
    held = message["raw"].get("interaction_metadata")
    return (int(held["id"]), held["type"], int(held["user"]["id"])) if held else None


def _command_as_read(message: Any) -> tuple[int, int, int] | None:
    held = message.interaction_metadata
    return (int(held.interaction_id), int(held.type), int(held.user.id)) if held else None


def _activity_in_truth(message: Raw) -> tuple[int, str] | None:
    held = message["raw"].get("activity")
    return (held["type"], held["party_id"]) if held else None


def _activity_as_read(message: Any) -> tuple[int, str] | None:
    return (int(message.activity.type), message.activity.party_id) if message.activity else None


def _application_in_truth(message: Raw) -> tuple[int, str] | None:
    held = message["raw"].get("application")
    return (int(held["id"]), held["name"]) if held else None


def _application_as_read(message: Any) -> tuple[int, str] | None:
    return (int(message.application.id), message.application.name) if message.application else None


def _thread_in_truth(message: Raw) -> int | None:
    """A thread has the number of the message that it was started from."""
    return message["id"] if message["flags"] & _HAS_THREAD and message["kind"] == _DEFAULT else None


def _thread_as_read(message: Any) -> int | None:
    """hikari has no thread in what it makes of an update."""
    thread = getattr(message, "thread", None)
    return int(thread.id) if thread else None


_ROWS: Table = {
    "date": Field(lambda truth: moment(truth["date"]), lambda read: read.timestamp),
    "edited_at": Field(lambda truth: moment(truth["edited_at"]), lambda read: read.edited_timestamp),
    "kind": Field(lambda truth: truth["kind"], lambda read: int(read.type)),
    "author": Field(_author_in_truth, _author_as_read),
    "text": Field(lambda truth: truth["text"], lambda read: read.content or ""),
    "reply_to": Field(lambda truth: truth["reply_to"], _reply),
    "reference": Field(_reference_in_truth, _reference_as_read),
    "answered": Field(_answered_in_truth, _answered_as_read),
    "flags": Field(lambda truth: truth["flags"], lambda read: int(read.flags)),
    "pinned": Field(lambda truth: truth["pinned_at"] is not None, lambda read: bool(read.is_pinned)),
    "spoken": Field(lambda truth: truth["raw"]["tts"], lambda read: bool(read.is_tts)),
    "reactions": Field(_reactions_in_truth, _reactions_as_read),
    "mentions": Field(_mentions_in_truth, _mentions_as_read),
    "command": Field(_command_in_truth, _command_as_read),
    "activity": Field(_activity_in_truth, _activity_as_read),
    "application": Field(_application_in_truth, _application_as_read),
    "thread": Field(_thread_in_truth, _thread_as_read),
    **CONTENT,
}

DISCORD: Table = {name: _telling(row) for name, row in _ROWS.items()}
