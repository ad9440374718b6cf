"""Who may do what in a channel, as Discord computes it from roles and overwrites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag
from functools import reduce
from operator import or_


class Permission(IntFlag):
    """The permissions this platform checks, with Discord's own names and numbers."""

    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    CONNECT = 1 << 20
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    SEND_POLLS = 1 << 49
    PIN_MESSAGES = 1 << 51


EVERYTHING = reduce(or_, Permission)
_RESERVED = Permission.ADMINISTRATOR | Permission.MANAGE_CHANNELS | Permission.MANAGE_MESSAGES | Permission.PIN_MESSAGES
USUAL = EVERYTHING & ~_RESERVED
"""What everyone may do in a guild by default, managing threads included, so that bots see private threads too."""

_TIMED_OUT = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY


WITH_MESSAGES = Permission.ATTACH_FILES | Permission.EMBED_LINKS
"""The permissions that have no effect without the right to send messages."""


@dataclass(slots=True)
class Overwrite:
    """What a channel changes for a role, or for one member."""

    id: int
    member: bool
    allow: Permission
    deny: Permission


def effective(
    granted: Permission,
    overwrites: Iterable[Overwrite],
    *,
    everyone: int,
    roles: Iterable[int],
    member: int,
    timed_out: bool,
) -> Permission:
    """What a member may do in a channel: the roles' grants, then overwrites for everyone, for roles, for the member."""
    if Permission.ADMINISTRATOR in granted:
        return EVERYTHING
    overwrites, roles = list(overwrites), set(roles)
    for group in (
        [one for one in overwrites if not one.member and one.id == everyone],
        [one for one in overwrites if not one.member and one.id in roles and one.id != everyone],
        [one for one in overwrites if one.member and one.id == member],
    ):
        for one in group:
            granted &= ~one.deny
        for one in group:
            granted |= one.allow
    if Permission.VIEW_CHANNEL not in granted:
        return Permission(0)
    return granted & _TIMED_OUT if timed_out else granted
