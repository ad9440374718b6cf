"""The verbs for files of our own that are posted again and again, and what a repeated send means here."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta

from tidegate.errors import Banned, SignedOut
from tidegate.lanes.guild_verbs import GuildVerbs
from tidegate.lanes.limits import ReadLimits
from tidegate.lanes.road import Road
from tidegate.lanes.sending import Claimed
from tidegate.port import ChannelId, Receipt, SendKey, Upload
from tidegate.port.media import (
    Acknowledges,
    Arrived,
    Media,
    MediaRef,
    PostsMedia,
    RemovesDuplicates,
    TakesParts,
    TakesWhole,
)


class MediaVerbs(GuildVerbs):
    """All verbs, with those for media."""

    def __init__(self, road: Road, reads: ReadLimits, transfers: ReadLimits) -> None:
        super().__init__(road, reads, transfers)
        client = road.client
        self._posts_media = client if isinstance(client, PostsMedia) else None
        self._takes_whole = client if isinstance(client, TakesWhole) else None
        self._takes_parts = client if isinstance(client, TakesParts) else None
        self._acknowledges = client if isinstance(client, Acknowledges) else None
        self._dedupes = client if isinstance(client, RemovesDuplicates) else None

    @property
    def removes_duplicates(self) -> bool:
        """Whether the platform recognises a repeated send by its key, so that one in doubt may be repeated."""
        return self._dedupes is not None

    @property
    def recognises_for(self) -> timedelta | None:
        """For how long it does so; None for always."""
        return None if self._dedupes is None else self._dedupes.recognises_for

    @property
    def encloses(self) -> bool:
        """Whether a file goes along with every message instead (``send_with``), since the platform keeps none."""
        return self._encloses is not None

    @property
    def takes_parts(self) -> bool:
        """Whether a file is handed over in parts (``save_part``) and then registered, or else in one go."""
        return self._takes_parts is not None

    @property
    def media_lasts(self) -> timedelta | None:
        """How long an uploaded file may be posted; None for as long as the platform takes it."""
        return None if self._posts_media is None else self._posts_media.media_lasts

    @property
    def acknowledges(self) -> bool:
        """Whether the platform tells later that messages have arrived."""
        return self._acknowledges is not None

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        """Hand over a file in one go; it reaches nobody yet, so it is no send and charges no pace."""
        client = self._able(self._takes_whole, "take a file in one go")
        return await self._transferring.read(self._method("upload"), None, None, lambda: client.upload(media, content))

    async def register(self, upload: Upload, media: Media) -> MediaRef:
        """Make a file that can be posted of parts that are all handed over."""
        client = self._able(self._takes_parts, "take a file in parts")
        return await self._transferring.read(
            self._method("register"), None, None, lambda: client.register(upload, media)
        )

    async def post(
        self,
        channel: ChannelId,
        media: Media,
        ref: MediaRef,
        *,
        key: SendKey,
        caption: str = "",
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post an uploaded file as soon as the pace allows; *claimed* as in ``send``."""
        client = self._able(self._posts_media, "post media")

        def call() -> Awaitable[Receipt]:
            return client.post(channel, media, ref, caption=caption, key=key)

        return await self._send("post", channel, run, claimed, call)

    async def next_arrival(self) -> Arrived:
        """Wait for the platform's late word that a message of ours has arrived; this is no call."""
        client = self._able(self._acknowledges, "tell what has arrived")
        self._road.require_open()
        try:
            return await client.next_arrival()
        except (SignedOut, Banned) as stop:
            await self._road.heed_stop(stop)
            raise
