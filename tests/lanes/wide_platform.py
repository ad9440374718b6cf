"""A platform that can do all the port has, and calls its methods by names of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.small_platform import SmallPlatform
from tidegate.core.errors import ChannelGone
from tidegate.core.ids import ChannelId, MessageId, TopicId
from tidegate.platforms.interface import (
    ChannelPage,
    ChannelUpdates,
    Cursor,
    Difference,
    FileHandle,
    FilePage,
    FileSearch,
    Head,
    Me,
    Message,
    Receipt,
    SendKey,
    TooLong,
    Topic,
    TopicPage,
    UpdateHint,
    Upload,
)


@dataclass
class WidePlatform(SmallPlatform):
    """Refuses the gate as a whole when a channel of *gone* is in it, as Telegram does."""

    gone: set[ChannelId] = field(default_factory=set)

    def method(self, verb: str) -> str:
        return f"wide.{verb}"

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]:
        heads = await super().heads(channels)
        if self.gone & set(channels):
            raise ChannelGone("One of them is gone.")
        return heads

    async def channels(self, after: Cursor | None) -> ChannelPage:
        await self._take("channels", None)
        return ChannelPage(heads={}, next=None)

    async def me(self) -> Me:
        await self._take("me", None)
        return Me(1, "Ada")

    async def topics(self, channel: ChannelId, after: Cursor | None) -> TopicPage:
        await self._take("topics", channel)
        return TopicPage(topics=(), next=None)

    async def topics_by_id(self, channel: ChannelId, topics: Sequence[TopicId]) -> Mapping[TopicId, Topic]:
        await self._take("topics_by_id", channel)
        return {}

    async def difference(self, channel: ChannelId, *, since: int) -> Difference | TooLong:
        await self._take("difference", channel)
        return Difference(ChannelUpdates(upto=since), final=True)

    async def files(self, channel: ChannelId, search: FileSearch) -> FilePage:
        await self._take("files", channel)
        return FilePage(messages=(), ended=True)

    async def messages(self, channel: ChannelId, ids: Sequence[MessageId]) -> Mapping[MessageId, Message | None]:
        await self._take("messages", channel)
        return dict.fromkeys(ids)

    async def read_file(self, handle: FileHandle, *, offset: int, length: int) -> bytes:
        await self._take("read_file", None)
        return b"x" * length

    async def save_part(self, upload: Upload, part: int, content: bytes) -> None:
        await self._take("save_big_part" if upload.big else "save_part", None)

    async def send_file(self, channel: ChannelId, upload: Upload, *, key: SendKey) -> Receipt:
        await self._take("send_file", channel)
        return Receipt(MessageId(1), self.clock.now())

    async def copy_file(self, channel: ChannelId, handle: FileHandle, *, key: SendKey) -> Receipt:
        await self._take("copy_file", channel)
        return Receipt(MessageId(2), self.clock.now())

    async def hints(self, *, most: int) -> Sequence[UpdateHint]:
        await self._take("hints", None)
        return [UpdateHint(ChannelId(1))]
