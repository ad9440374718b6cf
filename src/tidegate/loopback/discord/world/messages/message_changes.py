"""What other users do to messages, as the control address requests it: write, edit, delete, react, vote and pin."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.history import Attachment, Message, written_at
from tidegate.loopback.discord.world.kinds import THREAD_STARTED, sample_message
from tidegate.loopback.discord.world.messages import pins, polls, reactions
from tidegate.loopback.discord.world.messages.raw_messages import REPLY, Raw, edit_raw, post_raw
from tidegate.loopback.discord.world.messages.sample_files import sample_bytes
from tidegate.loopback.discord.world.places import SILENT, Channel
from tidegate.loopback.discord.world.schema import (
    DeleteSpec,
    EditSpec,
    EndPollSpec,
    FileSpec,
    PinSpec,
    PostSpec,
    ReactSpec,
    UnpinSpec,
    UnreactSpec,
    VoteSpec,
)
from tidegate.loopback.discord.world.world import World

HAS_SNAPSHOT = 1 << 14
_FORWARDED = ("embeds", "sticker_items", "components", "mentions", "mention_roles")


def post(world: World, spec: PostSpec) -> list[int]:
    """Post as another user; returns the ids of the messages."""
    channel = _place(world, spec)
    if channel.kind in SILENT:
        raise BadInput(f"{channel.name} holds no messages itself; start a thread in it.")
    author = world.person(spec.author).id if spec.author else 0
    if isinstance(spec.kind, str) or spec.raw is not None or spec.forward is not None:
        return [_post_rich(world, channel, spec, author, place) for place in range(spec.count)]
    written = []
    for number in range(spec.count):
        text = spec.text
        if not text and not spec.files and not spec.kind and not spec.fields:
            text = f"Message {len(channel.history) + 1}"
        elif spec.count > 1 and text:
            text = f"{text} {number + 1}"
        files = [_file(world, file) for file in spec.files]
        more = {"kind": spec.kind or (REPLY if spec.reply_to else 0), "reply_to": spec.reply_to, "fields": spec.fields}
        written.append(world.post(channel, text, author=author, attachments=files, **more).id)
    return written


def edit(world: World, spec: EditSpec) -> list[int]:
    """A new text, other fields, or the contents of another kind."""
    channel = world.channel(spec.channel)
    if spec.raw is None and spec.kind is None:
        return [world.edit(channel, spec.id, text=spec.text, **spec.fields).id]
    raw = sample_message(world, channel, spec.kind, spec.id) if spec.kind is not None else {}
    raw |= (spec.raw or {}) | spec.fields | ({"content": spec.text} if spec.text is not None else {})
    return [edit_raw(world, channel, spec.id, raw).id]


def delete(world: World, spec: DeleteSpec) -> list[int]:
    world.delete(world.channel(spec.channel), spec.ids, bulk=spec.bulk)
    return spec.ids


def react(world: World, spec: ReactSpec) -> list[int]:
    """One person reacts, or so many do that the count is right."""
    channel = world.channel(spec.channel)
    message = world.message(channel, spec.message)
    emoji = reactions.emoji_named(message, spec.emoji)
    if spec.user:
        act = reactions.remove_reaction if (spec.change or 1) < 0 else reactions.add_reaction
        act(world, channel, message.id, emoji, world.person(spec.user).id, burst=spec.burst)
        return [message.id]
    held = len((message.bursts if spec.burst else message.reactions).get(emoji, []))
    wanted = spec.count if spec.count is not None else max(0, held + (1 if spec.change is None else spec.change))
    reactions.count_reactions(world, channel, message.id, emoji, wanted, burst=spec.burst)
    return [message.id]


def unreact(world: World, spec: UnreactSpec) -> list[int]:
    """All reactions are removed, or all with one emoji."""
    channel = world.channel(spec.channel)
    message = world.message(channel, spec.message)
    emoji = reactions.emoji_named(message, spec.emoji) if spec.emoji else ""
    reactions.clear_reactions(world, channel, message.id, emoji)
    return [message.id]


def vote(world: World, spec: VoteSpec) -> list[int]:
    user = world.person(spec.user).id if spec.user else 0
    polls.vote(world, world.channel(spec.channel), spec.message, spec.answer, change=spec.change, user=user)
    return [spec.message]


def end_poll(world: World, spec: EndPollSpec) -> list[int]:
    """Returns the id of the message about the result."""
    return [polls.end_poll(world, world.channel(spec.channel), spec.message).id]


def pin(world: World, spec: PinSpec) -> list[int]:
    """Returns the id of the message that says so; none when the message was pinned already."""
    by = world.person(spec.user).id if spec.user else 0
    told = pins.pin(world, world.channel(spec.channel), spec.message, by)
    return [told.id] if told else []


def unpin(world: World, spec: UnpinSpec) -> list[int]:
    pins.unpin(world, world.channel(spec.channel), spec.message)
    return [spec.message]


def forwarded(world: World, channel: Channel, message: Message) -> tuple[Raw, list[Attachment]]:
    """The JSON of a message that forwards this one, with files of its own."""
    files = [replace(file, id=world.new_id()) for file in message.attachments]
    reference = {"type": 1, "message_id": str(message.id), "channel_id": str(channel.id)}
    reference |= {"guild_id": str(channel.guild)} if channel.guild else {}
    raw = {"flags": HAS_SNAPSHOT, "message_reference": reference, "content": ""}
    return raw | {"message_snapshots": [{"message": _snapshot(message)}]}, files


def _snapshot(message: Message) -> Raw:
    """What a forward keeps of a message: no author. A forward that is forwarded keeps the first message."""
    held = message.fields.get("message_snapshots")
    if isinstance(held, list) and held:
        inner: Raw = deepcopy(held[0]["message"])
        for row in inner.get("attachments", ()):
            row.pop("id", None)
        return inner
    rows = [
        {"filename": file.name, "content_type": file.mime, **file.fields}
        for file in message.attachments
        if not file.hidden
    ]
    shape: Raw = {
        "type": message.kind,
        "content": message.text,
        "timestamp": written_at(message).isoformat(),
        "edited_timestamp": message.edited_at.isoformat() if message.edited_at else None,
        "flags": message.flags,
        "attachments": rows,
        "embeds": [],
        "mentions": [],
        "mention_roles": [],
    }
    return shape | {name: message.fields[name] for name in _FORWARDED if name in message.fields}


def _post_rich(world: World, channel: Channel, spec: PostSpec, author: int, place: int) -> int:
    """A message of a named kind, of Discord's own JSON, or one that is forwarded; each overrides what comes before."""
    given = spec.raw or {}
    number = world.new_id() if given.get("id") is None else 0
    files = [_file(world, file) for file in spec.files]
    raw: dict[str, Any] = {}
    if isinstance(spec.kind, str):
        raw |= sample_message(world, channel, spec.kind, number or world.new_id())
    elif spec.kind:
        raw["type"] = spec.kind
    if spec.forward:
        origin = world.channel(spec.forward.channel)
        more, copies = forwarded(world, origin, world.message(origin, spec.forward.message))
        raw, files = raw | more, [*files, *copies]
    if spec.reply_to:
        raw |= {"type": REPLY, "message_reference": {"message_id": str(spec.reply_to)}}
    raw |= given | spec.fields
    if spec.text:
        raw["content"] = spec.text if spec.count == 1 else f"{spec.text} {place + 1}"
    message = post_raw(world, channel, raw, number=number, author=author, files=files)
    if spec.kind == THREAD_STARTED:
        threads.start(world, channel, message.text[:90] or "thread", from_message=message.id, author=message.author)
    return message.id


def _place(world: World, spec: PostSpec) -> Channel:
    """Where a post goes: the channel, or the thread of it that is named as its topic."""
    channel = world.channel(spec.channel)
    if spec.topic is None:
        return channel
    for thread in world.threads_of(channel):
        if str(spec.topic) in (thread.name, str(thread.id)):
            return thread
    raise BadInput(f"{channel.name} has no thread {spec.topic}.")


def _file(world: World, spec: FileSpec) -> Attachment:
    if spec.base64 is not None:
        return world.attachment(spec.name, bytes(spec.base64))
    return world.attachment(spec.name, sample_bytes(spec.name, spec.size or 0))
