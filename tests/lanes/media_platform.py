"""A platform that takes files in one go and in parts, posts them by what it gave, and tells what has arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from tests.small_platform import SmallPlatform
from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.interface import Receipt, SendKey, Upload
from tidegate.platforms.interface.uploads import Arrived, Media, MediaRef


@dataclass
class MediaPlatform(SmallPlatform):
    """Gives a file's hash for it, and what has arrived in the order in which a test says so."""

    media_lasts: timedelta | None = timedelta(days=7)
    recognises_for: timedelta | None = timedelta(minutes=2)
    words: list[Arrived] = field(default_factory=list)

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        await self._take("upload", None)
        return MediaRef(media.sha256)

    async def register(self, upload: Upload, media: Media) -> MediaRef:
        await self._take("register", None)
        return MediaRef(media.sha256)

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        await self._take("post", channel)
        return Receipt(MessageId(1), self.clock.now(), name=f"{ref.hex()} {caption}")

    async def next_arrival(self) -> Arrived:
        return self.words.pop(0)
