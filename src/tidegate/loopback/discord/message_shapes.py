"""Messages in Discord's own shape, as a given bot may see them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from mimetypes import guess_type
from typing import Any
from urllib.parse import quote

from tidegate.loopback.discord.json_shapes import Shape, thread, user
from tidegate.loopback.discord.world.history import Attachment, Message, written_at
from tidegate.loopback.discord.world.places import Bot, Channel, ChannelKind
from tidegate.loopback.discord.world.world import World

LINKS_LAST = timedelta(hours=24)
HERE = "loopback:///"
"""What a link in a message begins with when it is to lead to this platform, wherever that listens."""

THREAD_STARTER = 21
_ATTACHED = "attachment://"
_USERS = re.compile(r"<@!?(\d{1,20})>")
_ROLES = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(everyone|here)\b")


def message(
    world: World, place: Channel, one: Message, bot: Bot | None, at: str, *, content: bool, alone: bool = False
) -> Shape:
    """A message; without the right to content its words and files are blank, unless they are the bot's own or to it.

    *at* is the platform's address, where files are. Without a *bot* it is what the platform itself holds. *alone* it
    does not tell the message it refers to.
    """
    shape: Shape = {
        "id": str(one.id),
        "channel_id": str(place.id),
        "type": one.kind,
        "author": user(world.user(one.author)),
        "content": one.text,
        "timestamp": written_at(one).isoformat(),
        "edited_timestamp": one.edited_at.isoformat() if one.edited_at else None,
        "tts": False,
        **_mentions(world, place, one.text),
        "attachments": [attachment(world, place, file, at) for file in one.attachments if not file.hidden],
        "embeds": [],
        "components": [],
        "pinned": one.pinned_at is not None,
        "flags": one.flags,
    }
    if one.nonce:
        shape["nonce"] = one.nonce
    if one.reactions or one.bursts:
        shape["reactions"] = [
            _reaction(key, one.reactions.get(key, []), one.bursts.get(key, []), bot)
            for key in dict.fromkeys([*one.reactions, *one.bursts])
        ]
    started = world.channels.get(one.id)
    if bot and started and started.thread and started.parent == place.id:
        shape["thread"] = thread(world, started, bot)
    if one.reply_to and alone:
        shape["message_reference"] = _reference(place, one.reply_to)
    elif one.reply_to:
        shape |= _reply(world, place, one, bot, at, content=content)
    if one.fields:
        shape |= _fields(world, place, one, bot, at)
    if one.kind == THREAD_STARTER and not alone:
        shape |= _started_from(world, one, bot, at, content=content)
    if not (content or bot is None or place.kind is ChannelKind.DM or one.author == bot.id or _names(shape, bot)):
        _blank(shape)
    return shape


def _names(shape: Shape, bot: Bot) -> bool:
    """Whether a message mentions the bot, which may then read it."""
    held = shape["mentions"]
    return isinstance(held, list) and any(isinstance(who, dict) and who.get("id") == str(bot.id) for who in held)


def _blank(shape: Shape) -> None:
    """Without the message content intent these fields are empty, those of a forwarded message too."""
    shape |= {"content": "", "attachments": [], "embeds": [], "components": []}
    shape.pop("poll", None)
    if isinstance(held := shape.get("message_snapshots"), list):
        blank = {"content": "", "attachments": [], "embeds": [], "components": []}
        rows = [one for one in held if isinstance(one, dict) and isinstance(one.get("message"), dict)]
        shape["message_snapshots"] = [{**one, "message": one["message"] | blank} for one in rows]


def _mentions(world: World, place: Channel, text: str) -> Shape:
    """Whom a text mentions, by their names of now; a role only where it exists."""
    shape: Shape = {"mention_everyone": False, "mentions": [], "mention_roles": []}
    guild = world.guild_of(place)
    if "<@" in text:
        numbers = dict.fromkeys(int(one) for one in _USERS.findall(text))
        known = [world.bots.get(one) or world.people.get(one) for one in numbers]
        shape["mentions"] = [user(who) for who in known if who]
        roles = dict.fromkeys(int(one) for one in _ROLES.findall(text))
        shape["mention_roles"] = [str(one) for one in roles if guild and one in guild.roles]
    if guild and "@" in text:
        shape["mention_everyone"] = bool(_EVERYONE.search(text))
    return shape


def _fields(world: World, place: Channel, one: Message, bot: Bot | None, at: str) -> Shape:
    """The fields that the world does not compute, with links to this platform where they lead to it."""
    links = {file.name: attachment(world, place, file, at) for file in one.attachments}
    fields: Shape = {name: _linked(value, links, at) for name, value in one.fields.items()}
    if isinstance(poll := fields.get("poll"), dict) and one.poll:
        counts = [
            {"id": answer, "count": len(by), "me_voted": bot is not None and bot.id in by}
            for answer, by in one.poll.votes.items()
        ]
        fields["poll"] = {**poll, "results": {"is_finalized": one.poll.finalized, "answer_counts": counts}}
    if isinstance(held := fields.get("message_snapshots"), list):
        by_id = {str(file.id): attachment(world, place, file, at) for file in one.attachments}
        fields["message_snapshots"] = [_snapshot(row, by_id) for row in held]
    return fields


def _snapshot(row: Any, files: dict[str, Shape]) -> Any:
    """A forwarded message with links to its own files."""
    inner = row.get("message") if isinstance(row, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("attachments"), list):
        return row
    held = [files.get(str(one.get("id")), one) if isinstance(one, dict) else one for one in inner["attachments"]]
    return {**row, "message": inner | {"attachments": held}}


def _linked(value: Any, files: dict[str, Shape], at: str) -> Any:
    """A value with the links that Discord puts in: to files of the message that it names, and to this platform."""
    if isinstance(value, str):
        if value.startswith(HERE):
            return f"{at}/{value.removeprefix(HERE)}"
        named = files.get(value.removeprefix(_ATTACHED)) if value.startswith(_ATTACHED) else None
        return named["url"] if named else value
    if isinstance(value, list):
        return [_linked(one, files, at) for one in value]
    if not isinstance(value, dict):
        return value
    shape = {name: _linked(one, files, at) for name, one in value.items()}
    url = value.get("url")
    if isinstance(url, str) and url.startswith(_ATTACHED) and (file := files.get(url.removeprefix(_ATTACHED))):
        more = {"proxy_url": file["url"], "content_type": file["content_type"], "attachment_id": file["id"]}
        shape |= more | {name: file[name] for name in ("width", "height") if name in file}
    return shape


def _started_from(world: World, one: Message, bot: Bot | None, at: str, *, content: bool) -> Shape:
    """The message that a thread was started from, null if it was deleted."""
    reference = one.fields.get("message_reference")
    if not isinstance(reference, dict) or "referenced_message" in one.fields:
        return {}
    parent = world.channels.get(_number(reference.get("channel_id")))
    origin = parent.history.get(_number(reference.get("message_id"))) if parent else None
    if parent is None or origin is None:
        return {"referenced_message": None}
    return {"referenced_message": message(world, parent, origin, bot, at, content=content, alone=True)}


def _reply(world: World, place: Channel, one: Message, bot: Bot | None, at: str, *, content: bool) -> Shape:
    """The message that a reply refers to, null if it was deleted. The message that this one replied to is left out."""
    answered = place.history.get(one.reply_to)
    told = message(world, place, answered, bot, at, content=content, alone=True) if answered else None
    return {"message_reference": _reference(place, one.reply_to), "referenced_message": told}


def _reference(place: Channel, number: int) -> Shape:
    shape: Shape = {"type": 0, "message_id": str(number), "channel_id": str(place.id)}
    return shape | ({"guild_id": str(place.guild)} if place.guild else {})


def attachment(world: World, place: Channel, file: Attachment, at: str) -> Shape:
    """A file with its link, which is valid for a day."""
    expires = int((world.clock.now() + LINKS_LAST).timestamp())
    url = f"{at}/attachments/{place.id}/{file.id}/{quote(file.name, errors='replace')}?ex={expires:x}&is=0&hm=0"
    mime = file.mime if file.mime != "application/octet-stream" else guess_type(file.name)[0] or file.mime
    return {
        "id": str(file.id),
        "filename": file.name,
        "size": len(file.content),
        "url": url,
        "proxy_url": url,
        "content_type": mime,
        **file.fields,
    }


def emoji(named: str) -> Shape:
    """A standard emoji, or ``name:id`` for one of a guild's own, ``a:name:id`` for one that moves."""
    *mark, name, number = named.split(":") if ":" in named.strip(":") else (named, "")
    return {"id": number or None, "name": name} | ({"animated": True} if mark == ["a"] else {})


def _reaction(named: str, normal: Sequence[int], burst: Sequence[int], bot: Bot | None) -> Shape:
    return {
        "emoji": emoji(named),
        "count": len(normal) + len(burst),
        "count_details": {"normal": len(normal), "burst": len(burst)},
        "me": bot is not None and bot.id in normal,
        "me_burst": bot is not None and bot.id in burst,
        "burst_colors": ["#2f81f7"] if burst else [],
    }


def _number(value: Any) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else 0
