"""The operator's own files, which are posted repeatedly, and what a platform can do with them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType, Protocol, runtime_checkable

from tidegate.core.ids import ChannelId
from tidegate.platforms.interface.values import Receipt, SendKey, Upload

MediaRef = NewType("MediaRef", bytes)  # a platform's reference to an uploaded file, valid for one account


class MediaKind(StrEnum):
    """How a platform shows a file."""

    PICTURE = "picture"
    VIDEO = "video"
    DOCUMENT = "document"  # as a file to download


@dataclass(frozen=True, slots=True)
class Media:
    """A file of the operator's own, known by its content."""

    sha256: bytes
    name: str
    mime: str
    size: int  # in bytes
    kind: MediaKind


@dataclass(frozen=True, slots=True)
class Arrived:
    """A later confirmation that a message of ours reached a channel."""

    channel: ChannelId
    message: str  # as its receipt named it
    at: datetime


@runtime_checkable
class PostsMedia(Protocol):
    """Posts an uploaded file any number of times by its reference.

    ``media_lasts`` is how long the reference is valid, None for as long as the platform accepts it. ``UploadLost`` from
    ``post`` means that it is no longer valid: nothing was posted, and the file has to be uploaded again.
    """

    media_lasts: timedelta | None

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt: ...


@runtime_checkable
class TakesWhole(Protocol):
    """Takes a file in one call."""

    async def upload(self, media: Media, content: bytes) -> MediaRef: ...


@runtime_checkable
class TakesUploadParts(Protocol):
    """Takes a file in parts (``save_part``); a separate call combines them into one that can be posted."""

    async def register(self, upload: Upload, media: Media) -> MediaRef: ...


@runtime_checkable
class RemovesDuplicates(Protocol):
    """Recognises a repeated send by its key, for as long as ``recognises_for``; None for always."""

    recognises_for: timedelta | None


@runtime_checkable
class Acknowledges(Protocol):
    """Confirms later that messages of ours have arrived; waits for the next confirmation."""

    async def next_arrival(self) -> Arrived: ...


@runtime_checkable
class NamesSends(Protocol):
    """Knows under which names a send was handed over, even when its answer was lost; makes no call."""

    async def names_of(self, key: SendKey) -> Collection[str]: ...


OWN_CHAT = ChannelId(0)
"""The chat of an account with itself, where it has one; no platform uses this number for a group."""


@runtime_checkable
class HasOwnChat(Protocol):
    """Can send to the account itself, by the number ``own_chat``: only its owner sees that chat."""

    own_chat: ChannelId
