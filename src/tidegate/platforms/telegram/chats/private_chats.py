"""An account's private chats and small groups as channels, in answers that list dialogs. Pure."""

from __future__ import annotations

from typing import Any

from telethon import utils
from telethon.tl import types

from tidegate.core.ids import ChannelId
from tidegate.platforms.interface import Channel, ChannelKind, Head
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers
from tidegate.platforms.telegram.content.avatars import avatar_of
from tidegate.platforms.telegram.content.people import DELETED_ACCOUNT
from tidegate.platforms.telegram.translation import head_of

SAVED_MESSAGES = "Saved Messages"


def chat_heads(answer: Any, chats: ChatNumbers) -> dict[ChannelId, Head]:
    """The head of each private chat and small group among an answer's dialogs, without a counter of changes.

    Nobody can post there from here: reminders go to channels and groups, not to people.
    """
    known = _described(answer)
    heads = {}
    for dialog in answer.dialogs:
        peer = getattr(dialog, "peer", None)
        number, found = chats.of(peer), known.get(_key(peer))
        if number is not None and found is not None:
            heads[number] = head_of(dialog, _channel(number, found))
    return heads


def access_hashes(answer: Any, chats: ChatNumbers) -> dict[ChannelId, int]:
    """What the account has to show to read the private chats among an answer's dialogs; 0 for small groups."""
    known = _described(answer)
    hashes: dict[ChannelId, int] = {}
    for dialog in answer.dialogs:
        peer = getattr(dialog, "peer", None)
        number, found = chats.of(peer), known.get(_key(peer))
        if number is not None and found is not None and not getattr(found, "min", False):
            hashes[number] = getattr(found, "access_hash", None) or 0
    return hashes


def _described(answer: Any) -> dict[tuple[type[Any], int], Any]:
    people = {(types.PeerUser, one.id): one for one in answer.users if isinstance(one, types.User)}
    groups = (one for one in answer.chats if isinstance(one, types.Chat | types.ChatForbidden))
    return people | {(types.PeerChat, one.id): one for one in groups}


def _key(peer: Any) -> tuple[type[Any], int]:
    return type(peer), getattr(peer, "user_id", 0) or getattr(peer, "chat_id", 0)


def _channel(number: ChannelId, found: Any) -> Channel:
    if isinstance(found, types.User):
        return Channel(number, _name(found), kind=ChannelKind.PRIVATE_CHAT, avatar=avatar_of(found.id, found.photo))
    moved = getattr(found, "migrated_to", None)
    return Channel(
        number,
        found.title,
        protected=bool(getattr(found, "noforwards", False)),
        kind=ChannelKind.GROUP,
        avatar=avatar_of(-found.id, getattr(found, "photo", None)),
        moved_to=ChannelId(moved.channel_id) if isinstance(moved, types.InputChannel) else None,
    )


def _name(found: types.User) -> str:
    if found.is_self:
        return SAVED_MESSAGES
    return DELETED_ACCOUNT if found.deleted else utils.get_display_name(found) or str(found.id)
