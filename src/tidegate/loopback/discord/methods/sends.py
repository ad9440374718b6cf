"""Writing: messages with files, edits and deletions; a nonce that is enforced makes one message."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from tidegate.loopback.call_record import Upload
from tidegate.loopback.discord.method_context import (
    Answer,
    Method,
    Refusal,
    Request,
    invalid,
    missing_permissions,
    snowflake_in,
)
from tidegate.loopback.discord.methods.messages import shape
from tidegate.loopback.discord.world.history import Attachment, Message
from tidegate.loopback.discord.world.messages.message_changes import forwarded
from tidegate.loopback.discord.world.messages.raw_messages import Raw, with_raw
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.record import Sent
from tidegate.loopback.discord.world.snowflakes import moment_of

_LONGEST, _LONGEST_NONCE = 2000, 25
_BULK_REACHES = timedelta(days=14)
_REPLY = 19
_CONTENTS = ("embeds", "sticker_ids", "components", "poll")
_ALLOWED_FLAGS = 1 << 2 | 1 << 12 | 1 << 13 | 1 << 15
"""Flags that a sender may set: no embeds, no notification, a voice message, components only."""


def send(request: Request) -> Answer:
    world, channel = request.world, _writable(request)
    text = _text(request)
    forward = _forwarded(request)
    if not text and not request.files and forward is None and not any(request.body.get(name) for name in _CONTENTS):
        raise Refusal(400, 50006, "Cannot send an empty message")
    nonce = str(request.body.get("nonce") or "")
    if len(nonce) > _LONGEST_NONCE:
        raise invalid("nonce", "BASE_TYPE_MAX_LENGTH", f"Must be {_LONGEST_NONCE} or fewer in length.")
    known = _known(request, nonce) if request.body.get("enforce_nonce") else None
    if known is not None:
        return known
    reply_to = _reply_to(request, channel)
    message = Message(world.new_id(), request.bot.id, text, _REPLY if reply_to else 0, reply_to=reply_to, nonce=nonce)
    raw, copies = forward or ({}, [])
    files = [*_attachments(request), *copies]
    message = with_raw(world, channel, message, raw | _contents(request, message.id), files, new_id=world.new_id)
    world.append(channel, message)
    if nonce:
        world.nonces[request.bot.id, nonce] = (channel.id, message.id, world.clock.now())
    part = ", ".join(file.name for file in message.attachments)
    world.record.sends.append(Sent(world.clock.now(), request.bot.name, channel.id, nonce, message.id, part))
    return shape(request, channel, message)


def edit(request: Request) -> Answer:
    channel = request.text_channel()
    message = request.message(channel)
    if message.author != request.bot.id:
        raise Refusal(403, 50005, "Cannot edit a message authored by another user")
    if channel.thread and channel.thread.archived:
        raise Refusal(400, 50083, "Thread is archived")
    fields = {name: request.body[name] for name in ("embeds", "components") if request.body.get(name) is not None}
    text = _text(request) if "content" in request.body else None
    return shape(request, channel, request.world.edit(channel, message.id, text=text, **fields))


def delete(request: Request) -> Answer:
    channel = request.text_channel()
    message = request.message(channel)
    if message.author != request.bot.id and Permission.MANAGE_MESSAGES not in _granted(request, channel):
        raise (
            Refusal(403, 50003, "Cannot execute action on a DM channel")
            if not channel.guild
            else (missing_permissions())
        )
    request.world.delete(channel, [message.id])
    return None


def bulk_delete(request: Request) -> Answer:
    """Two to a hundred messages of the last two weeks, in one event; ids of deleted messages are ignored."""
    channel = request.text_channel(Permission.MANAGE_MESSAGES)
    ids = [snowflake_in(str(number), "messages") for number in request.body.get("messages", ())]
    if not 2 <= len(ids) <= 100:
        raise invalid("messages", "BASE_TYPE_BAD_LENGTH", "Must be between 2 and 100 in length.")
    if any(moment_of(number) < request.world.clock.now() - _BULK_REACHES for number in ids):
        raise Refusal(400, 50034, "You can only bulk delete messages that are under 14 days old.")
    there = [number for number in dict.fromkeys(ids) if channel.history.get(number)]
    request.world.delete(channel, there, bulk=True)
    return None


def typing(request: Request) -> Answer:
    """The bot shows that it is typing; nothing is stored."""
    channel = _writable(request)
    data = {"user_id": str(request.bot.id), "timestamp": int(request.world.clock.now().timestamp())}
    request.world.tell(News("TYPING_START", request.world.guild_of(channel), channel, data=data))
    return None


def _granted(request: Request, channel: Channel) -> Permission:
    return request.world.may(request.bot.id, channel)


def _writable(request: Request) -> Channel:
    channel = request.text_channel()
    needed = Permission.SEND_MESSAGES_IN_THREADS if channel.thread else Permission.SEND_MESSAGES
    needed |= Permission.ATTACH_FILES if request.files else needed
    if needed not in _granted(request, channel):
        raise missing_permissions()
    guild = request.world.guild_of(channel)
    most = request.world.limits.largest_file(guild.premium_tier if guild else 0)
    if any(len(file.content) > most for file in request.files):
        raise Refusal(413, 40005, "Request entity too large")
    if channel.thread and channel.thread.archived and channel.thread.locked:
        raise Refusal(400, 50083, "Thread is archived")
    return channel


def _text(request: Request) -> str:
    text = str(request.body.get("content") or "")
    if len(text) > _LONGEST:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", f"Must be {_LONGEST} or fewer in length.")
    return text


def _known(request: Request, nonce: str) -> Answer:
    """The message this nonce became, while the platform still remembers it."""
    world = request.world
    number, message, at = world.nonces.get((request.bot.id, nonce), (0, 0, world.clock.now()))
    channel = world.channels.get(number)
    if channel is None or world.clock.now() - at > timedelta(seconds=world.limits.nonce_s):
        return None
    held = channel.history.get(message)
    return shape(request, channel, held) if held else None


def _contents(request: Request, number: int) -> Raw:
    """What a message may hold beside words and files, as it is when somebody reads it."""
    body = request.body
    raw: Raw = {name: body[name] for name in ("embeds", "components", "tts") if body.get(name)}
    if isinstance(flags := body.get("flags"), int):
        raw["flags"] = flags & _ALLOWED_FLAGS
    if stickers := body.get("sticker_ids"):
        raw["sticker_items"] = [{"id": str(one), "name": f"sticker {one}", "format_type": 1} for one in stickers]
    if isinstance(poll := body.get("poll"), dict):
        raw["poll"] = _poll(poll, moment_of(number))
    if isinstance(rows := body.get("attachments"), list) and request.files:
        names = [file.name for file in request.files]
        told = [{**row, "filename": names[place]} for place, row in enumerate(rows[: len(names)])]
        raw["attachments"] = [{key: value for key, value in row.items() if key != "id"} for row in told]
    return raw


def _poll(asked: Raw, at: datetime) -> Raw:
    """A poll as it is created, with numbers for its answers and the time it ends at instead of its hours."""
    answers = [{**one, "answer_id": place + 1} for place, one in enumerate(asked.get("answers", ()))]
    expiry = at + timedelta(hours=float(asked.get("duration", 24)))
    return {
        "question": asked.get("question", {}),
        "answers": answers,
        "expiry": expiry.isoformat(),
        "allow_multiselect": bool(asked.get("allow_multiselect")),
        "layout_type": asked.get("layout_type", 1),
        "results": {"is_finalized": False, "answer_counts": []},
    }


def _forwarded(request: Request) -> tuple[Raw, list[Attachment]] | None:
    """The message that is to be forwarded, which the bot must be able to read."""
    reference = request.body.get("message_reference") or {}
    if reference.get("type") != 1:
        return None
    channel = request.world.channels.get(snowflake_in(str(reference.get("channel_id")), "message_reference"))
    number = snowflake_in(str(reference.get("message_id")), "message_reference")
    needed = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY
    origin = channel.history.get(number) if channel and needed in _granted(request, channel) else None
    if channel is None or origin is None:
        raise invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
    return forwarded(request.world, channel, origin)


def _reply_to(request: Request, channel: Channel) -> int:
    reference: dict[str, Any] = request.body.get("message_reference") or {}
    if "message_id" not in reference or reference.get("type") == 1:
        return 0
    number = snowflake_in(str(reference["message_id"]), "message_reference")
    if channel.history.get(number) is None:
        if reference.get("fail_if_not_exists", True):
            raise invalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return 0
    return number


def _attachments(request: Request) -> list[Attachment]:
    world, made = request.world, []
    for file in request.files:
        digest = sha256(file.content).hexdigest()
        upload = Upload(world.clock.now(), request.bot.name, file.name, len(file.content), digest)
        world.record.uploads.append(upload)
        made.append(world.attachment(file.name, file.content, file.mime))
    return made


METHODS: dict[str, Method] = {
    "POST /channels/{channel.id}/messages": send,
    "PATCH /channels/{channel.id}/messages/{message.id}": edit,
    "DELETE /channels/{channel.id}/messages/{message.id}": delete,
    "POST /channels/{channel.id}/messages/bulk-delete": bulk_delete,
    "POST /channels/{channel.id}/typing": typing,
}
