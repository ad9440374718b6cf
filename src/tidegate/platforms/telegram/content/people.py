"""The people and channels that an answer describes, by Telegram's marked number.

Telegram numbers people, small groups and channels apart. The marked number is one for all: positive for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from telethon.tl import types

from tidegate.core.ids import ChannelId, MessageId, UserId
from tidegate.core.message_content import Avatar, Person, PersonKind
from tidegate.platforms.telegram.content.avatars import avatar_of, seen_with

People = Mapping[UserId, Person]
"""Who an answer describes, by marked number."""

DELETED_ACCOUNT = "Deleted Account"
_CHANNELS = 1_000_000_000_000
_CHATS = (types.Chat, types.ChatForbidden)
_CHANNEL_KINDS = (types.Channel, types.ChannelForbidden)


def people_in(answer: Any) -> People:
    """The people and channels that an answer describes; those without a name or number are left out."""
    described = (*(getattr(answer, "users", None) or ()), *(getattr(answer, "chats", None) or ()))
    return {person.id: person for one in described if (person := _person(one)) is not None}


def _person(found: Any) -> Person | None:
    if isinstance(found, types.User):
        if found.deleted:
            return Person(UserId(found.id), DELETED_ACCOUNT, kind=PersonKind.DELETED)
        names = [name for name in (found.first_name, found.last_name) if name]
        kind = PersonKind.BOT if found.bot else PersonKind.PERSON
        return Person(
            UserId(found.id),
            " ".join(names),
            _usernames(found),
            kind,
            bool(found.contact),
            _avatar(UserId(found.id), found),
        )
    if isinstance(found, _CHANNEL_KINDS):
        number = UserId(-(_CHANNELS + found.id))
        return Person(number, found.title or "", _usernames(found), PersonKind.CHANNEL, avatar=_avatar(number, found))
    if isinstance(found, _CHATS):
        number = UserId(-found.id)
        return Person(number, found.title or "", kind=PersonKind.CHANNEL, avatar=_avatar(number, found))
    return None


def _avatar(number: UserId, found: Any) -> Avatar | None:
    return avatar_of(number, getattr(found, "photo", None))


def _usernames(found: Any) -> tuple[str, ...]:
    """The main name first, then the further ones in use; most have none."""
    further = [one.username for one in getattr(found, "usernames", None) or () if one.active]
    return tuple(dict.fromkeys(name for name in (getattr(found, "username", None), *further) if name))


def marked_number(peer: Any) -> UserId | None:
    """The marked number of a peer; None for nobody, or for a peer of an unknown kind or without a number."""
    kind = type(peer)
    try:
        if kind is types.PeerUser:
            return UserId(peer.user_id)
        if kind is types.PeerChannel:
            return UserId(-(_CHANNELS + peer.channel_id))
        return UserId(-peer.chat_id) if kind is types.PeerChat else None
    except TypeError:
        return None


def channel_number(peer: Any) -> ChannelId | None:
    """The number of a peer that is a channel."""
    return ChannelId(peer.channel_id) if type(peer) is types.PeerChannel else None


def marked_channel(number: int) -> UserId:
    """The marked number of a channel."""
    return UserId(-(_CHANNELS + number))


def name_of(people: People, number: UserId | None) -> str:
    """The name of a person; empty where the answer does not describe them."""
    person = None if number is None else people.get(number)
    return "" if person is None else person.name


def address_of(people: People, number: UserId) -> str:
    """How a person is addressed: by the main username, else by name, else by number."""
    person = people.get(number)
    if person is None or not (person.usernames or person.name):
        return str(number)
    return f"@{person.usernames[0]}" if person.usernames else person.name


def author_number(found: Any) -> UserId | None:
    """The author of a message; a channel's own post belongs to the channel."""
    return marked_number(found.from_id or found.peer_id)


def is_anonymous(found: Any) -> bool:
    """Whether an administrator wrote in the name of the group itself."""
    return not found.post and type(found.from_id) is types.PeerChannel and found.from_id == found.peer_id


def author_of(found: Any, people: People) -> Person | None:
    """The author of a message, where the answer describes them."""
    number = author_number(found)
    person = None if number is None else people.get(number)
    if person is None:
        return None
    person = replace(person, avatar=seen_with(person.avatar, marked_number(found.peer_id), MessageId(found.id)))
    return replace(person, kind=PersonKind.ANONYMOUS, is_label=False) if is_anonymous(found) else person
