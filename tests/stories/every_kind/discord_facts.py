"""What the loopback Discord says of a message, field by field, in the form of our store.

Written from Discord's own JSON (``GET /truth``), and on purpose without the code that translates messages.
"""

from __future__ import annotations

from typing import Any

from tests.stories.every_kind.stored_facts import Facts, instant, pairs, unsigned

WRITTEN = (0, 19, 20, 23)
REFERS = (6, 46)  # to a message of the channel: one that was pinned, a poll that ended
ANSWERS = (19, 21)  # a message of any channel
KNOWN_TYPES = frozenset({*range(33), 36, 37, 38, 39, 44, 46, 63})
FORWARDED, FROM_FOLLOWED, SILENT = 1, 1 << 1, 1 << 12


def discord_facts(row: Facts) -> Facts:
    """Every field of one message."""
    raw = row["raw"]
    snapshots = [one["message"] for one in raw.get("message_snapshots", [])]
    reference = raw.get("message_reference") or {}
    return {
        "at": instant(raw["timestamp"]),
        "text": row["text"],
        "author_id": int(raw["author"]["id"]),
        "author": raw["author"].get("global_name") or raw["author"]["username"],
        "edited_at": instant(raw["edited_timestamp"]) if raw.get("edited_timestamp") else None,
        "reply_to": _reply(raw, reference),
        "reply_gone": raw["type"] == 19 and "referenced_message" in raw and raw["referenced_message"] is None,
        "forward": _forward(raw, reference, snapshots),
        "poll": _poll(raw.get("poll")),
        "votes": pairs(_votes(raw.get("poll"))),
        "embeds": [_embed(one) for one in raw.get("embeds", [])],
        "stickers": [one["name"] for part in (raw, *snapshots) for one in part.get("sticker_items", [])],
        "mentions": {f"<@{one['id']}>": one.get("global_name") or one["username"] for one in raw.get("mentions", [])},
        "reactions": pairs({_emoji(one["emoji"]): one["count"] for one in raw.get("reactions", [])}),
        "service": raw["type"] not in WRITTEN and raw["type"] in KNOWN_TYPES,
        "unsupported": raw["type"] not in KNOWN_TYPES,
        "files": [(one["filename"], one["size"]) for one in raw.get("attachments", [])],
        "pinned": bool(raw.get("pinned")),
        "silent": bool(raw.get("flags", 0) & SILENT),
    }


def _reply(raw: Facts, reference: Facts) -> int | None:
    same = reference.get("channel_id", raw["channel_id"]) == raw["channel_id"]
    if (
        not (raw["type"] in ANSWERS or (raw["type"] in REFERS and same))
        or reference.get("type") == FORWARDED
        or "message_id" not in reference
    ):
        return None
    return int(reference["message_id"])


def _forward(raw: Facts, reference: Facts, snapshots: list[Facts]) -> Facts | None:
    """A forwarded message has a copy of the first one; a published one arrives in each channel that follows its own."""
    if not snapshots and not raw.get("flags", 0) & FROM_FOLLOWED:
        return None
    return {
        "channel": int(reference["channel_id"]),
        "message": int(reference["message_id"]),
        "text": "\n\n".join(one["content"] for one in snapshots if one["content"]),
        "embeds": [_embed(embed) for one in snapshots for embed in one.get("embeds", [])],
        "files": [file["filename"] for one in snapshots for file in one.get("attachments", [])],
    }


def _poll(poll: Facts | None) -> Facts | None:
    if poll is None:
        return None
    return {
        "question": poll["question"]["text"],
        "answers": [_said(one["poll_media"]) for one in poll["answers"]],
        "multiple": bool(poll.get("allow_multiselect")),
        "closed": bool((poll.get("results") or {}).get("is_finalized")),
        "closes_at": instant(poll["expiry"]) if poll.get("expiry") else None,
    }


def _said(media: Facts) -> str:
    emoji = media.get("emoji") or {}
    name = f":{emoji['name']}:" if emoji.get("id") else emoji.get("name")
    return " ".join(filter(None, (name, media.get("text"))))


def _votes(poll: Facts | None) -> Facts | None:
    """None where Discord does not tell them."""
    if poll is None or poll.get("results") is None:
        return None
    votes = {str(one["answer_id"]): 0 for one in poll["answers"]}
    return votes | {str(one["id"]): one["count"] for one in poll["results"]["answer_counts"]}


def _embed(embed: Facts) -> Facts:
    """What people read of an embed. Links of files in it are signed anew with each answer, so they are not compared."""
    return {
        "kind": embed.get("type", ""),
        "title": embed.get("title", ""),
        "description": unsigned(embed.get("description", "")),
        "author": (embed.get("author") or {}).get("name", ""),
        "footer": (embed.get("footer") or {}).get("text", ""),
        "fields": [(one["name"], one["value"]) for one in embed.get("fields", [])],
    }


def _emoji(emoji: dict[str, Any]) -> str:
    return f"{emoji['name']}:{emoji['id']}" if emoji.get("id") else str(emoji["name"])
