"""What is stored of the messages of a channel, in the same form as the platform's truth is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from tidegate.database.pool import Database
from tidegate.history.raw_json import unpack

Facts = dict[str, Any]

OURS = frozenset({"names", "announced", "announced_by", "reply_gone", "spoiler"})
"""Keys of our own beside Discord's in what is kept as it sent it."""

LEFT_OUT = re.compile(
    r"\.(_|date|edit_date|timestamp|edited_timestamp|id|channel_id|guild_id|author|url|proxy_url|proxy_icon_url)$"
    r"|^\.reactions$|\.mime_type$"  # all these have columns, compared field by field
    r"|\.(username|option|hash|credentials)$"  # how somebody signs in, which bytes stand for an answer, secrets
    r"|^\.referenced_message$"  # a message with a row of its own
    r"|^\.application\.(description|cover_image)$"  # of an application today, not of the message
)
"""Texts of the platform that are not kept beside the columns."""

_STORED = """
    SELECT m.*, p.name AS person,
        (SELECT array_agg(ARRAY[a.name, a.size::text] ORDER BY a.number) FROM attachments a
         WHERE a.channel = m.channel AND a.message = m.id AND a.role = 'own') AS held
    FROM messages m
    JOIN channels c ON c.id = m.channel
    LEFT JOIN people p ON p.platform = c.platform AND p.id = m.author_id
    WHERE c.number = $1
    ORDER BY m.id
"""


def unsigned(text: str) -> str:
    """A text in which links lack their signatures, written without the code that takes them off."""
    return re.sub(r"\?ex=\w+&is=\w+&hm=\w+&?", "", text)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def pairs(counts: Facts | None) -> list[tuple[str, int]] | None:
    """Numbers by name, in one order; compared as a whole, so that none is there too much."""
    return None if counts is None else sorted(counts.items())


async def stored_rows(database: Database, channel: int) -> dict[int, Any]:
    """The rows of a channel's messages, deleted ones too."""
    return {row["id"]: row for row in await database.pool.fetch(_STORED, channel)}


def stored_facts(row: Any) -> Facts:
    """Every field of one stored message, under the names of both platforms."""
    content, counts = row["content"] or {}, row["counts"] or {}
    reply, forward = content.get("reply") or {}, content.get("forward")
    marks, poll = content.get("marks", []), content.get("poll")
    raw = unpack(row["raw"])
    return {
        "at": row["at"],
        "text": row["text"],
        "author_id": row["author_id"],
        "author": row["author"],
        "person": row["person"],
        "edited": row["edited_at"] is not None,
        "edited_at": row["edited_at"],
        "formatting": [(one["kind"], one["start"], one["end"]) for one in content.get("formatting", [])],
        "forward": forward and {**forward, "channel": forward.get("id"), "hidden_name": _hidden_name(forward)},
        "reply_to": row["reply_to"] or reply.get("message"),
        "reply_channel": reply.get("channel"),
        "reply_story": reply.get("story"),
        "reply_gone": bool(reply.get("gone")),
        "quote": reply.get("quote", ""),
        "poll": poll and {**poll, "answers": [one["text"] for one in poll["answers"]]},
        "votes": pairs(counts.get("votes")),
        "preview": content.get("preview"),
        "embeds": content.get("embeds", []),
        "stickers": [one["name"] for one in (content.get("details") or {}).get("stickers", [])],
        "mentions": content.get("mentions") or {},
        "reactions": pairs(row["reactions"]),
        "views": counts.get("views"),
        "forwards": counts.get("forwards"),
        "replies": counts.get("replies"),
        "discussion": raw.get("replies", {}).get("channel_id"),
        "service": bool(content.get("service")),
        "files": [(name, int(size)) for name, size in row["held"] or []],
        "album": row["album"],
        "pinned": "pinned" in marks,
        "silent": "silent" in marks,
        "expires_at": instant(content["expires_at"]) if content.get("expires_at") else None,
        "unsupported": row["kind"] == "unsupported",
        "raw": raw,
    }


def _hidden_name(forward: Facts) -> str:
    return "" if forward.get("id") is not None else str(forward.get("name", ""))


def differing(stored: Any, told: Any) -> Any:
    """Where *stored* differs from what the platform told: None where it does not.

    An object of the truth names the fields to compare; a stored field with its default is left out of the store.
    """
    if isinstance(told, datetime) and isinstance(stored, str):
        stored = instant(stored)
    if isinstance(told, dict) and isinstance(stored, dict):
        rows = {name: differing(stored.get(name, _default(value)), value) for name, value in told.items()}
        return {name: one for name, one in rows.items() if one is not None} or None
    if isinstance(told, list) and isinstance(stored, list) and len(stored) == len(told):
        found = [differing(one, other) for one, other in zip(stored, told, strict=True)]
        return found if any(one is not None for one in found) else None
    if isinstance(told, tuple) and isinstance(stored, list | tuple):
        return None if tuple(stored) == told else (stored, told)
    return None if stored == told else (stored, told)


def _default(value: Any) -> Any:
    return {str: "", bool: False, list: [], dict: {}}.get(type(value))


def strays(kept: Any, told: Any, path: str = "") -> list[str]:
    """The places in what is kept as the platform sent it that its truth does not have like this.

    Numbers beyond 2**53 are kept as text. Of a list only some may be kept. A person is kept by number and name, a link
    without its signature.
    """
    if isinstance(kept, dict):
        if not isinstance(told, dict):
            return [path]
        if "username" in told:
            told = {**told, "name": told.get("global_name") or told["username"]}
        theirs = {name: one for name, one in kept.items() if name not in OURS}
        return [stray for name, one in theirs.items() for stray in strays(one, told.get(name), f"{path}.{name}")]
    if isinstance(kept, list):
        rows = told if isinstance(told, list) else []
        return [
            stray
            for number, one in enumerate(kept)
            for stray in min([strays(one, row, f"{path}.{number}") for row in rows] or [[path]], key=len)
        ]
    return [] if str(kept) == unsigned(str(told)) else [f"{path}: {kept!r} for {told!r}"]


def lost(row: Any, told: Any) -> list[str]:
    """The texts in what the platform sent that stand nowhere in the stored message."""
    kept = "\n".join(_texts({name: row[name] for name in ("text", "author", "person", "held", "content")}))
    return _lost(kept + "\n" + "\n".join(_texts(unpack(row["raw"]))), told, "")


def _lost(kept: str, told: Any, path: str) -> list[str]:
    if LEFT_OUT.search(path):
        return []
    if isinstance(told, dict | list):
        inside = told.items() if isinstance(told, dict) else enumerate(told)
        return [one for name, value in inside for one in _lost(kept, value, f"{path}.{name}")]
    return [f"{path}: {told!r}"] if isinstance(told, str) and unsigned(told) not in kept else []


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [text for one in (value.values() if isinstance(value, dict) else value) for text in _texts(one)]
    return [] if value is None else [str(value)]
