"""Messages in Discord's own shape, as a given bot may see them."""

from __future__ import annotations

from datetime import timedelta
from mimetypes import guess_type
from urllib.parse import quote

from tidegate.loopback.discord.history import Attachment, Message, written_at
from tidegate.loopback.discord.places import Bot, Channel, ChannelKind
from tidegate.loopback.discord.shapes import Shape, thread, user
from tidegate.loopback.discord.world import World

LINKS_LAST = timedelta(hours=24)


def message(world: World, place: Channel, one: Message, bot: Bot, at: str, *, content: bool) -> Shape:
    """A message; without the right to content its words and files are blank, unless they are the bot's own or to it.

    *at* is the platform's address, where files are.
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
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [attachment(world, place, file, at) for file in one.attachments],
        "embeds": [],
        "components": [],
        "pinned": False,
        "flags": one.flags,
    }
    if one.nonce:
        shape["nonce"] = one.nonce
    if one.reactions:
        shape["reactions"] = [_reaction(emoji, users, bot) for emoji, users in one.reactions.items()]
    started = world.channels.get(one.id)
    if started and started.thread and started.parent == place.id:
        shape["thread"] = thread(world, started, bot)
    if one.reply_to:
        shape |= _reply(world, place, one, bot, at, content=content)
    shape |= one.fields
    if not (content or one.author == bot.id or place.kind is ChannelKind.DM or f"<@{bot.id}>" in one.text):
        shape |= {"content": "", "attachments": [], "embeds": [], "components": []}
        shape.pop("poll", None)
    return shape


def _reply(world: World, place: Channel, one: Message, bot: Bot, at: str, *, content: bool) -> Shape:
    """What a reply refers to; a message that is gone is told as null. What that one replied to is left out."""
    answered = place.history.get(one.reply_to)
    reference = {"type": 0, "message_id": str(one.reply_to), "channel_id": str(place.id)}
    if place.guild:
        reference["guild_id"] = str(place.guild)
    referenced = None
    if answered is not None:
        bare = Message(answered.id, answered.author, answered.text, answered.kind, answered.flags, answered.edited_at)
        referenced = message(world, place, bare, bot, at, content=content)
    return {"message_reference": reference, "referenced_message": referenced}


def attachment(world: World, place: Channel, file: Attachment, at: str) -> Shape:
    """A file with its link, which is good for a day."""
    expires = int((world.clock.now() + LINKS_LAST).timestamp())
    url = f"{at}/attachments/{place.id}/{file.id}/{quote(file.name)}?ex={expires:x}&is=0&hm=0"
    mime = file.mime if file.mime != "application/octet-stream" else guess_type(file.name)[0] or file.mime
    size = len(file.content)
    return {"id": str(file.id), "filename": file.name, "size": size, "url": url, "proxy_url": url, "content_type": mime}


def emoji(named: str) -> Shape:
    """An emoji of everyone's, or ``name:id`` for one of a guild's own."""
    name, _, number = named.partition(":")
    return {"id": number or None, "name": name}


def _reaction(named: str, users: list[int], bot: Bot) -> Shape:
    return {
        "emoji": emoji(named),
        "count": len(users),
        "count_details": {"normal": len(users), "burst": 0},
        "me": bot.id in users,
        "me_burst": False,
        "burst_colors": [],
    }
