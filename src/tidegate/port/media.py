"""Files of ours that are posted again and again: what they are, and what a platform can do with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType, Protocol, runtime_checkable

from tidegate.port.values import ChannelId, Receipt, SendKey, Upload

MediaRef = NewType("MediaRef", bytes)  # what a platform gave one account for a file; it is posted by that


class MediaKind(StrEnum):
    """How a platform shows a file."""

    PICTURE = "picture"
    VIDEO = "video"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Media:
    """A file of the operator's own, known by its content."""

    sha256: bytes
    name: str
    mime: str
    size: int
    kind: MediaKind


@dataclass(frozen=True, slots=True)
class Arrived:
    """A late word about a message of ours: it has reached *channel*. *message* is as its receipt named it."""

    channel: ChannelId
    message: str
    at: datetime


@runtime_checkable
class PostsMedia(Protocol):
    """Posts a file as often as wanted by what it once gave for it.

    ``media_lasts`` is how long that is good for, None for as long as the platform takes it. ``UploadLost`` from
    ``post`` says that it is no longer taken: nothing was posted, and the file has to be uploaded anew.
    """

    media_lasts: timedelta | None

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt: ...


@runtime_checkable
class TakesWhole(Protocol):
    """Takes a file in one call."""

    async def upload(self, media: Media, content: bytes) -> MediaRef: ...


@runtime_checkable
class TakesParts(Protocol):
    """Takes a file in parts (``save_part``), and makes of them one that can be posted by a call of its own."""

    async def register(self, upload: Upload, media: Media) -> MediaRef: ...


@runtime_checkable
class RemovesDuplicates(Protocol):
    """Recognises a repeated send by its key, for as long as ``recognises_for``; None for always."""

    recognises_for: timedelta | None


@runtime_checkable
class Acknowledges(Protocol):
    """Tells later that messages of ours have arrived; waits for the next such word."""

    async def next_arrival(self) -> Arrived: ...
