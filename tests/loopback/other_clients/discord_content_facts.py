"""What a Discord message carries beside its text: in the truth as Discord's JSON, and as hikari names it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import hikari

from tests.loopback.other_clients.comparison import Field, Table, moment

Raw = dict[str, Any]

ONLY_IN_MODALS = frozenset({4, 18, 19, 21, 22, 23})
"""Components that Discord allows only in modals, so that hikari leaves them out of messages."""


def link(url: str | None) -> str | None:
    """A link without what says how long it is valid: that is a moment of each answer's own."""
    return url.partition("?")[0] if url else None


def at(value: Any) -> datetime | None:
    """A moment as hikari has it, which may also say that there was nothing in the answer."""
    return value if isinstance(value, datetime) else None


def emoji_in_truth(emoji: Raw | None) -> str | None:
    """An emoji as its id, or as itself where it is one of Unicode."""
    return str(emoji["id"] or emoji["name"]) if emoji else None


def emoji_as_read(emoji: Any) -> str | None:
    if emoji is None:
        return None
    return str(int(emoji.id)) if isinstance(emoji, hikari.CustomEmoji) else str(emoji)


def _picture_in_truth(picture: Raw | None) -> Raw | None:
    if picture is None:
        return None
    return {
        "url": link(picture["url"]),
        "copy": link(picture.get("proxy_url")),
        "size": (picture.get("width"), picture.get("height")),
    }


def _picture_as_read(picture: Any) -> Raw | None:
    if picture is None:
        return None
    copy = picture.proxy_resource.url if picture.proxy_resource else None
    return {"url": link(picture.resource.url), "copy": link(copy), "size": (picture.width, picture.height)}


def embeds_in_truth(embeds: list[Raw]) -> list[Raw]:
    return [_embed_in_truth(embed) for embed in embeds]


def _embed_in_truth(embed: Raw) -> Raw:
    author, footer, provider = (embed.get(name) or {} for name in ("author", "footer", "provider"))
    return {
        **{name: embed.get(name) for name in ("title", "description", "url", "color")},
        **{name: _picture_in_truth(embed.get(name)) for name in ("image", "thumbnail", "video")},
        "timestamp": moment(embed.get("timestamp")),
        "author": (author.get("name"), author.get("url"), author.get("icon_url")),
        "footer": (footer.get("text"), footer.get("icon_url")),
        "provider": (provider.get("name"), provider.get("url")),
        "fields": [(field["name"], field["value"], field["inline"]) for field in embed.get("fields", ())],
    }


def embeds_as_read(embeds: Any) -> list[Raw]:
    return [_embed_as_read(embed) for embed in embeds or ()]


def _embed_as_read(embed: Any) -> Raw:
    author, footer, provider = embed.author, embed.footer, embed.provider
    return {
        **{name: getattr(embed, name) for name in ("title", "description", "url")},
        **{name: _picture_as_read(getattr(embed, name)) for name in ("image", "thumbnail", "video")},
        "color": int(embed.color) if embed.color is not None else None,
        "timestamp": embed.timestamp,
        "author": (author.name, author.url, _icon(author)) if author else (None, None, None),
        "footer": (footer.text, _icon(footer)) if footer else (None, None),
        "provider": (provider.name, provider.url) if provider else (None, None),
        "fields": [(field.name, field.value, field.is_inline) for field in embed.fields],
    }


def _icon(part: Any) -> str | None:
    return part.icon.resource.url if part.icon else None


def attachments_in_truth(files: list[Raw]) -> list[Raw]:
    names = ("title", "description", "width", "height", "waveform")
    return [
        {
            "id": int(file["id"]),
            "name": file["filename"],
            "size": file["size"],
            "mime": file["content_type"],
            "url": link(file["url"]),
            "duration": file.get("duration_secs"),
            "ephemeral": file.get("ephemeral", False),
            **{name: file.get(name) for name in names},
        }
        for file in files
    ]


def attachments_as_read(files: Any) -> list[Raw]:
    names = ("title", "description", "width", "height", "waveform", "duration")
    return [
        {
            "id": int(file.id),
            "name": file.filename,
            "size": file.size,
            "mime": file.media_type,
            "url": link(file.url),
            "ephemeral": file.is_ephemeral,
            **{name: getattr(file, name) for name in names},
        }
        for file in files or ()
    ]


def stickers_in_truth(holder: Raw) -> list[Raw]:
    return [
        {"id": int(one["id"]), "name": one["name"], "format": one["format_type"]}
        for one in holder.get("sticker_items", ())
    ]


def stickers_as_read(stickers: Any) -> list[Raw]:
    return [{"id": int(one.id), "name": one.name, "format": int(one.format_type)} for one in stickers or ()]


def _poll_in_truth(message: Raw) -> Raw | None:
    poll = message["raw"].get("poll")
    if poll is None:
        return None
    results = poll.get("results")
    return {
        "question": poll["question"]["text"],
        "answers": [
            (one["answer_id"], one["poll_media"]["text"], emoji_in_truth(one["poll_media"].get("emoji")))
            for one in poll["answers"]
        ],
        "votes": {row["id"]: row["count"] for row in results["answer_counts"]} if results else None,
        "finished": results["is_finalized"] if results else None,
        "until": moment(poll["expiry"]),
        "several": poll["allow_multiselect"],
        "layout": poll["layout_type"],
    }


def _poll_as_read(message: Any) -> Raw | None:
    poll = message.poll
    if poll is None:
        return None
    return {
        "question": poll.question.text,
        "answers": [(one.answer_id, one.poll_media.text, emoji_as_read(one.poll_media.emoji)) for one in poll.answers],
        "votes": {row.id: row.count for row in poll.results.answer_counts} if poll.results else None,
        "finished": poll.results.is_finalized if poll.results else None,
        "until": poll.expiry,
        "several": poll.allow_multiselect,
        "layout": int(poll.layout_type),
    }


def _snapshots_in_truth(message: Raw) -> list[Raw]:
    held = [row["message"] for row in message["raw"].get("message_snapshots", ())]
    return [
        {
            "kind": one["type"],
            "text": one["content"],
            "date": moment(one["timestamp"]),
            "edited_at": moment(one["edited_timestamp"]),
            "embeds": embeds_in_truth(one["embeds"]),
            "files": attachments_in_truth(one["attachments"]),
            "stickers": stickers_in_truth(one),
            "mentions": [int(user["id"]) for user in one["mentions"]],
            "flags": one["flags"],
        }
        for one in held
    ]


def _snapshots_as_read(message: Any) -> list[Raw]:
    return [
        {
            "kind": int(one.type),
            "text": one.content or "",
            "date": at(one.timestamp),
            "edited_at": at(one.edited_timestamp),
            "embeds": embeds_as_read(one.embeds),
            "files": attachments_as_read(one.attachments),
            "stickers": stickers_as_read(one.stickers),
            "mentions": [int(number) for number in one.user_mentions],
            "flags": int(one.flags),
        }
        for one in message.message_snapshots or ()
    ]


_TEXTS = ("content", "label", "url", "custom_id", "placeholder", "description")


def _components_in_truth(components: list[Raw]) -> list[Raw]:
    """Types, texts and pictures of components, those inside others too."""
    return [_component_in_truth(one) for one in components if one["type"] not in ONLY_IN_MODALS]


def _component_in_truth(one: Raw) -> Raw:
    return {
        "type": one["type"],
        "id": one["id"],
        **{name: one.get(name) for name in _TEXTS},
        "style": one.get("style"),
        "disabled": one.get("disabled", False),
        "emoji": emoji_in_truth(one.get("emoji")),
        "spoiler": one.get("spoiler", False),
        "color": one.get("accent_color"),
        "spacing": (one.get("divider", False), one.get("spacing")),
        "values": (one.get("min_values"), one.get("max_values")),
        "channels": one.get("channel_types", []),
        "options": [
            (row["label"], row["value"], row["description"], row["default"], emoji_in_truth(row.get("emoji")))
            for row in one.get("options", ())
        ],
        "picture": _picture_in_truth(one.get("media") or one.get("file")),
        "items": [
            (_picture_in_truth(row["media"]), row["description"], row["spoiler"]) for row in one.get("items", ())
        ],
        "inside": _components_in_truth(one.get("components", [])),
        "beside": _component_in_truth(one["accessory"]) if "accessory" in one else None,
    }


def _components_as_read(components: Any) -> list[Raw]:
    return [_component_as_read(one) for one in components or ()]


def _component_as_read(one: Any) -> Raw:
    color, picture = getattr(one, "accent_color", None), getattr(one, "media", None) or getattr(one, "file", None)
    beside = getattr(one, "accessory", None)
    return {
        "type": int(one.type),
        "id": one.id,
        **{name: getattr(one, name, None) for name in _TEXTS},
        "style": int(one.style) if hasattr(one, "style") else None,
        "disabled": getattr(one, "is_disabled", False),
        "emoji": emoji_as_read(getattr(one, "emoji", None)),
        "spoiler": getattr(one, "is_spoiler", False),
        "color": int(color) if color is not None else None,
        "spacing": (getattr(one, "divider", False), int(one.spacing) if hasattr(one, "spacing") else None),
        "values": (getattr(one, "min_values", None), getattr(one, "max_values", None)),
        "channels": [int(kind) for kind in getattr(one, "channel_types", ())],
        "options": [
            (row.label, row.value, row.description, row.is_default, emoji_as_read(row.emoji))
            for row in getattr(one, "options", ())
        ],
        "picture": _media_as_read(picture),
        "items": [(_media_as_read(row.media), row.description, row.is_spoiler) for row in getattr(one, "items", ())],
        "inside": _components_as_read(getattr(one, "components", ())),
        "beside": _component_as_read(beside) if beside else None,
    }


def _media_as_read(media: Any) -> Raw | None:
    """A picture of a component, of which hikari also says that a measure was not in the answer."""
    if media is None:
        return None
    size = tuple(None if value is hikari.UNDEFINED else value for value in (media.width, media.height))
    copy = media.proxy_resource.url if media.proxy_resource else None
    return {"url": link(media.resource.url), "copy": link(copy), "size": size}


CONTENT: Table = {
    "embeds": Field(lambda truth: embeds_in_truth(truth["raw"]["embeds"]), lambda read: embeds_as_read(read.embeds)),
    "attachments": Field(
        lambda truth: attachments_in_truth(truth["raw"]["attachments"]),
        lambda read: attachments_as_read(read.attachments),
    ),
    "stickers": Field(lambda truth: stickers_in_truth(truth["raw"]), lambda read: stickers_as_read(read.stickers)),
    "poll": Field(_poll_in_truth, _poll_as_read),
    "snapshots": Field(_snapshots_in_truth, _snapshots_as_read),
    "components": Field(
        lambda truth: _components_in_truth(truth["raw"]["components"]),
        lambda read: _components_as_read(read.components),
    ),
}
