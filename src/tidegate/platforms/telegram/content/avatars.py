"""Pictures of people, groups and channels, and the handles they are read by. Pure.

Telegram reads a picture by its number and by whom it shows, without a reference. A person is named by a message of
theirs, so that every account that reads the message can read the picture: the handle belongs to no account.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from telethon.tl import types

from tidegate.core.ids import FileId, MessageId
from tidegate.core.message_content import Avatar
from tidegate.platforms.interface import CannotAsk, FileHandle

_PREFIX = "avatar:"


@dataclass(frozen=True, slots=True)
class AvatarPlace:
    """Which picture of whom, in which data centre, and a *message* of theirs in the chat *seen_in*.

    Both are marked numbers; of a channel's or group's own picture they are the same.
    """

    photo: int
    centre: int
    owner: int
    seen_in: int
    message: MessageId


def avatar_of(owner: int, photo: Any) -> Avatar | None:
    """The picture of a user or a chat in an answer; None without one."""
    if not isinstance(photo, types.UserProfilePhoto | types.ChatPhoto):
        return None
    number = -1 - (int.from_bytes(sha256(f"avatar/{photo.photo_id}".encode()).digest()[:8], "big") >> 1)
    return Avatar(owner, FileId(number), f"{_PREFIX}{photo.photo_id}:{photo.dc_id}:{owner}:{owner}:0")


def seen_with(avatar: Avatar | None, chat: int | None, message: MessageId) -> Avatar | None:
    """The same picture, named by a message of its owner in *chat*."""
    if avatar is None or chat is None or chat == avatar.owner:
        return avatar
    head = avatar.handle.rsplit(":", 2)[0]
    return Avatar(avatar.owner, avatar.file, f"{head}:{chat}:{message}")


def avatar_place(handle: FileHandle) -> AvatarPlace | None:
    """What a handle of a picture says; None for the handle of another file."""
    if not handle.startswith(_PREFIX):
        return None
    try:
        photo, centre, owner, seen_in, message = (int(one) for one in handle.removeprefix(_PREFIX).split(":"))
    except ValueError:
        raise CannotAsk(f"{handle[:40]!r} is no handle of a picture; it is renewed when its owner is seen.") from None
    return AvatarPlace(photo, centre, owner, seen_in, MessageId(message))
