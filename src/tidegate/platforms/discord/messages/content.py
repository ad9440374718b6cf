"""The kind and content of a message, read out of what is kept of its JSON. Pure.

Nothing here fails on a strange value: it is kept as it is, and what cannot be read is said to be unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import PLAIN, Forward, MessageContent, MessageKind, OriginKind, Reply
from tidegate.platforms.discord.messages.authors import name_of
from tidegate.platforms.discord.messages.components import component_texts
from tidegate.platforms.discord.messages.embeds import embeds_of, unknown_embeds
from tidegate.platforms.discord.messages.files import form_of
from tidegate.platforms.discord.messages.json_values import (
    id_in,
    instant_in,
    label_in,
    number_in,
    object_in,
    objects_in,
    seconds_in,
    text_in,
    whole_in,
)
from tidegate.platforms.discord.messages.polls import poll_of
from tidegate.platforms.discord.messages.raw_fields import NAMES, REPLY_GONE, WRITTEN
from tidegate.platforms.discord.messages.system_messages import WORDS, announcement
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.interface import FileForm

STICKER_FORMATS = {1: "png", 2: "apng", 3: "lottie", 4: "gif"}
_ACTIVITIES = {1: "join", 2: "spectate", 3: "listen", 5: "ask to join"}
_FORWARDED = 1
_FROM_FOLLOWED, _VOICE, _THREAD_STARTER = 1 << 1, 1 << 13, 21
_REPLY = 19
_OF_FLAGS = {
    1 << 0: "published",
    _FROM_FOLLOWED: "from a followed channel",
    1 << 2: "embeds hidden",
    1 << 3: "source deleted",
    1 << 4: "urgent",
    1 << 6: "ephemeral",
    1 << 7: "loading",
    1 << 12: "silent",
}
_OF_FIELDS = {"pinned": "pinned", "tts": "text to speech", "mention_everyone": "mentions everyone"}
_SPOILER_FILE = 1 << 3
_KINDS = {
    FileForm.IMAGE: MessageKind.PHOTO,
    FileForm.VIDEO: MessageKind.VIDEO,
    FileForm.ANIMATION: MessageKind.ANIMATION,
    FileForm.VOICE: MessageKind.VOICE,
    FileForm.AUDIO: MessageKind.AUDIO,
}
_NOTHING_MORE = frozenset({"edited_timestamp", "webhook_id", "application_id", "mention_roles"})


def content_of(raw: Json) -> tuple[MessageKind, MessageContent]:
    """What a message is and holds, by what is kept of its JSON."""
    if raw.keys() <= _NOTHING_MORE:
        return MessageKind.TEXT, PLAIN
    kind = number_in(raw.get("type", 0))
    snapshots = [object_in(one.get("message")) for one in objects_in(raw.get("message_snapshots"))]
    parts = [raw, *snapshots]
    forward = _forward(raw, snapshots)
    embeds = embeds_of(raw)
    said = [component_texts(part) for part in parts]
    stickers = [one for part in parts for one in _stickers(part)]
    unknown = [
        *unknown_embeds(embeds if forward is None else (*embeds, *forward.embeds)),
        *(one for texts in said for one in texts.unknown),
        *(f"sticker format {one['format']}" for one in stickers if one["format"] not in STICKER_FORMATS.values()),
    ]
    service = ""
    if kind is not None and kind not in WRITTEN:
        service = announcement(kind, raw)
    if kind is None or (kind not in WRITTEN and kind not in WORDS):
        unknown.insert(0, f"message type {label_in(raw.get('type'))}")
    content = MessageContent(
        forward=forward,
        reply=_reply(raw, kind),
        poll=poll_of(raw),
        embeds=embeds,
        service=service,
        details=_details(raw, parts, stickers) or None,
        mentions=_mentions(raw, parts) or None,
        texts=(*(text for texts in said for text in texts.texts), *_descriptions(parts)),
        marks=tuple(_marks(raw, parts)),
        via=text_in(object_in(raw.get("application")).get("name")),
        unsupported=", ".join(dict.fromkeys(unknown)),
    )
    return _kind(kind, parts, content, stickered=bool(stickers)), content


def _kind(kind: int | None, parts: Iterable[Json], content: MessageContent, *, stickered: bool) -> MessageKind:
    if kind not in WRITTEN:
        return MessageKind.SERVICE if content.service else MessageKind.UNSUPPORTED
    if content.poll is not None:
        return MessageKind.POLL
    for part in parts:
        for attachment in objects_in(part.get("attachments")):
            if whole_in(part.get("flags")) & _VOICE:
                return MessageKind.VOICE
            return _KINDS.get(form_of(attachment), MessageKind.FILE)
    return MessageKind.STICKER if stickered else MessageKind.TEXT


def _forward(raw: Json, snapshots: list[Json]) -> Forward | None:
    """A forwarded message is a copy of another; a published one arrives in each channel that follows its own."""
    reference = object_in(raw.get("message_reference"))
    forwarded = number_in(reference.get("type")) == _FORWARDED or bool(snapshots)
    if not forwarded and not whole_in(raw.get("flags")) & _FROM_FOLLOWED:
        return None
    channel, message = id_in(reference.get("channel_id")), id_in(reference.get("message_id"))
    posted = [instant_in(one.get("timestamp")) for one in snapshots]
    return Forward(
        kind=OriginKind.CHANNEL,
        name=text_in(object_in(raw.get(NAMES)).get(f"<#{channel}>")),
        id=channel,
        at=next((one for one in posted if one is not None), None),
        message=MessageId(message) if message is not None else None,
        text="\n\n".join(filter(None, (text_in(one.get("content")) for one in snapshots))),
        embeds=tuple(embed for one in snapshots for embed in embeds_of(one)),
        files=tuple(text_in(file.get("filename")) for one in snapshots for file in objects_in(one.get("attachments"))),
    )


def _reply(raw: Json, kind: int | None) -> Reply | None:
    """Only what the number of a message in the same channel does not say."""
    if kind not in (_REPLY, _THREAD_STARTER):
        return None
    reference = object_in(raw.get("message_reference"))
    message, channel = id_in(reference.get("message_id")), id_in(reference.get("channel_id"))
    gone = bool(raw.get(REPLY_GONE))
    if number_in(reference.get("type")) == _FORWARDED or (channel is None and not gone):
        return None
    return Reply(
        message=MessageId(message) if message is not None else None,
        channel=ChannelId(channel) if channel is not None else None,
        gone=gone,
    )


def _mentions(raw: Json, parts: Iterable[Json]) -> dict[str, str]:
    """Names by how a text writes them; people are kept by ``raw_fields`` as they were called."""
    people = {
        f"<@{one['id']}>": name
        for part in parts
        for one in objects_in(part.get("mentions"))
        if "id" in one and (name := text_in(one.get("name")) or name_of(one))
    }
    places = {written: text_in(name) for written, name in object_in(raw.get(NAMES)).items()}
    return people | {written: name for written, name in places.items() if name}


def _stickers(part: Json) -> list[dict[str, str]]:
    """Stickers by name; their pictures are files."""
    found = objects_in(part.get("sticker_items")) or objects_in(part.get("stickers"))
    return [{"id": label_in(one.get("id")), "name": text_in(one.get("name")), "format": _format(one)} for one in found]


def _format(sticker: Json) -> str:
    number = number_in(sticker.get("format_type"))
    return STICKER_FORMATS.get(number or 0) or label_in(sticker.get("format_type"))


def _details(raw: Json, parts: Iterable[Json], stickers: list[dict[str, str]]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if stickers:
        details["stickers"] = stickers
    lengths = (seconds_in(one.get("duration_secs")) for part in parts for one in objects_in(part.get("attachments")))
    if (seconds := next((one for one in lengths if one is not None), None)) is not None:
        details["duration"] = seconds
    metadata, interaction = object_in(raw.get("interaction_metadata")), object_in(raw.get("interaction"))
    if command := text_in(interaction.get("name")) or text_in(metadata.get("name")):
        details["command"] = command
    people = (object_in(one.get("user")) for one in (metadata, interaction))
    if invoked_by := next((name for one in people if (name := text_in(one.get("name")))), ""):
        details["invoked by"] = invoked_by
    activity = object_in(raw.get("activity"))
    if activity:
        details["invitation"] = _ACTIVITIES.get(number_in(activity.get("type")) or 0, "other")
    if (people_in_call := object_in(raw.get("call")).get("participants")) and isinstance(people_in_call, list):
        details["participants"] = len(people_in_call)
    return details


def _marks(raw: Json, parts: Iterable[Json]) -> Iterable[str]:
    yield from (mark for field, mark in _OF_FIELDS.items() if raw.get(field))
    flags = whole_in(raw.get("flags"))
    yield from (mark for flag, mark in _OF_FLAGS.items() if flags & flag)
    if any(_is_spoiler(one) for part in parts for one in objects_in(part.get("attachments"))):
        yield "spoiler"


def _descriptions(parts: Iterable[Json]) -> Iterable[str]:
    """What people wrote about files: the title that a file's name lost, and the text for those who cannot see it."""
    for part in parts:
        for one in objects_in(part.get("attachments")):
            yield from (text for name in ("title", "description") if (text := text_in(one.get(name))))


def _is_spoiler(attachment: Json) -> bool:
    return bool(attachment.get("spoiler")) or bool(whole_in(attachment.get("flags")) & _SPOILER_FILE)
