"""The messages of a channel as the platform holds them: every field, without what belongs to one account."""

from __future__ import annotations

from typing import Any

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.tl_objects.tl_json import SECRETS, as_plain, checked
from tidegate.loopback.telegram.world.channels import Channel, Message, topic_of
from tidegate.loopback.telegram.world.content.media_files import held_files, web_documents, web_number
from tidegate.loopback.telegram.world.content.service_messages import action_name
from tidegate.loopback.telegram.world.file_content import File
from tidegate.loopback.telegram.world.people import Person
from tidegate.loopback.telegram.world.world import Account, World

_HASHED_UP_TO = 64 << 20
_NOBODY = Account(0, "", "")


def shown_message(world: World, channel: Channel, message: Message) -> dict[str, Any]:
    """A message: what tests ask for most, all fields as ``raw``, and its files with their hashes."""
    fields = list(message.fields.values())
    numbers = [*(one.id for one in held_files(fields)), *(web_number(one.url) for one in web_documents(fields))]
    files = [world.files[number] for number in numbers if number in world.files]
    first = message.file or next(iter(files), None)
    shape = tl_shapes.message_shape(world, channel, message, _NOBODY)
    return {
        "id": message.id,
        "date": message.date.isoformat(),
        "topic": topic_of(message) if channel.forum else None,
        "reply_to": message.reply_to or getattr(message.fields.get("reply_to"), "reply_to_msg_id", None),
        "sender": message.sender or getattr(message.fields.get("from_id"), "user_id", None),
        "text": message.text,
        "edited_at": message.edited_at.isoformat() if message.edited_at else None,
        "action": _action(message),
        "file": shown_file(first) if first else None,
        "raw": as_plain(checked(shape), without=SECRETS),
        "files": [shown_file(file) for file in ([message.file] if message.file else files)],
    }


def shown_file(file: File) -> dict[str, Any]:
    """A file with its hash; that of a very large one is left out, since its bytes would have to be computed for it."""
    digest = file.sha256() if file.size <= _HASHED_UP_TO else None
    return {"id": file.id, "name": file.name, "size": file.size, "kind": file.kind.value, "sha256": digest}


def shown_person(person: Person) -> dict[str, Any]:
    """Somebody as other people see them."""
    if person.deleted:
        return {"id": person.id, "name": "", "usernames": [], "bot": False, "deleted": True}
    return {
        "id": person.id,
        "name": person.name,
        "usernames": list(person.usernames),
        "bot": person.bot,
        "deleted": False,
    }


def shown_channel(channel: Channel) -> dict[str, Any]:
    """A channel's own fields."""
    return {
        "id": channel.id,
        "title": channel.title,
        "about": channel.about,
        "username": channel.username or None,
        "kind": "channel" if channel.broadcast else "forum" if channel.forum else "group",
        "pts": channel.pts,
    }


def shown_chat(world: World, view: Channel) -> dict[str, Any]:
    """An account's view of a private chat or small group; *peer* is the number that Telegram has for it."""
    return {
        "name": f"{world.accounts[view.owner].phone}/{view.title}",
        "account": world.accounts[view.owner].phone,
        "title": view.title,
        "peer": view.peer_id,
        "kind": "small group" if view.basic else "private chat",
        "pts": world.chats.box(view.owner).pts,
        "moved_to": view.moved_to or None,
    }


def _action(message: Message) -> str | None:
    if message.action:
        return message.action.kind.value
    action = message.fields.get("action")
    return action_name(action) if action is not None else None
