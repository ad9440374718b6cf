"""The account's permissions in a channel, computed from roles and overwrites as Discord does it. Pure.

Discord answers a request for history with an empty page where it may not be read. So the permission is computed
beforehand: an empty page proves something only with that permission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discord import Permissions

Json = Mapping[str, Any]

_ROLE, _MEMBER = 0, 1
_THREADS = (10, 11, 12)
_VOICES = (2, 13)


@dataclass(frozen=True, slots=True)
class ChannelPermissions:
    """What the account may do in a channel."""

    visible: bool
    readable: bool
    may_post: bool

    @classmethod
    def of(cls, allowed: Permissions, kind: int) -> ChannelPermissions:
        """The meaning of *allowed* in a channel of that *kind*; without visibility nothing is permitted."""
        visible = allowed.view_channel and (kind not in _VOICES or allowed.connect)
        posts = allowed.send_messages_in_threads if kind in _THREADS else allowed.send_messages
        return cls(
            visible=visible,
            readable=visible and allowed.read_message_history,
            may_post=visible and posts,
        )


EVERYTHING = ChannelPermissions(visible=True, readable=True, may_post=True)
"""The permissions in a chat with one person."""

NOTHING = ChannelPermissions(visible=False, readable=False, may_post=False)


def in_guild(roles: Iterable[Json], mine: Collection[str], *, guild: str, owner: bool) -> Permissions:
    """The permissions in a guild before channel overwrites; the role @everyone has the guild's id."""
    if owner:
        return Permissions.all()
    allowed = 0
    for role in roles:
        if role["id"] == guild or role["id"] in mine:
            allowed |= int(role["permissions"])
    permissions = Permissions(allowed)
    return Permissions.all() if permissions.administrator else permissions


def in_channel(
    base: Permissions, overwrites: Iterable[Json], mine: Collection[str], *, guild: str, me: str
) -> Permissions:
    """The permissions in a channel: its overwrites for everyone, then for all roles together, then for the account."""
    if base.administrator:
        return base
    allowed = base.value
    found = list(overwrites)
    for layer in (
        [one for one in found if one["id"] == guild],
        [one for one in found if int(one["type"]) == _ROLE and one["id"] in mine and one["id"] != guild],
        [one for one in found if int(one["type"]) == _MEMBER and one["id"] == me],
    ):
        denied = granted = 0
        for one in layer:
            denied |= int(one["deny"])
            granted |= int(one["allow"])
        allowed = (allowed & ~denied) | granted
    return Permissions(allowed)
