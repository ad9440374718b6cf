"""A reminder as the design Tidegate grew out of says it is sent "today": group after group, each from scratch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from telethon import TelegramClient
from telethon.tl import functions, types

from bench._distant_platform import Distance
from bench._telegram import plain_client
from tidegate.core.clock import HeldClock
from tidegate.database.pool import Database
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel

BETWEEN_PARTS = timedelta(seconds=1.5)

_QUERIES = (
    "SELECT title FROM channels WHERE number = $1",
    "SELECT kind FROM channels WHERE number = $1",
    "SELECT state FROM channels WHERE number = $1",
)
"""The group, what to say, and the file: asked for anew for each group."""


async def naive_minutes(
    database: Database, server: TelegramServer, clock: HeldClock, *, phone: str, picture: bytes, with_text: bool
) -> float:
    """How long one group takes in held time, on average over all channels of the platform."""
    groups = list(server.world.channels.values())
    async with plain_client(server, phone) as client:
        begun = clock.now()
        naive = _Naive(database, client, server, clock, Distance(clock))
        sending = asyncio.create_task(naive.send_all(groups, picture, with_text=with_text))
        while not sending.done():
            await clock.advance(timedelta(seconds=10))
        return (await sending - begun).total_seconds() / 60 / len(groups)


class _Naive:
    def __init__(
        self,
        database: Database,
        client: TelegramClient,
        server: TelegramServer,
        clock: HeldClock,
        distance: Distance,
    ) -> None:
        self._database = database
        self._client = client
        self._world = server.world
        self._clock = clock
        self._distance = distance

    async def send_all(self, groups: Sequence[Channel], picture: bytes, *, with_text: bool) -> datetime:
        """Send to one group after the other; when that was done."""
        [account] = self._world.accounts
        for group in groups:
            for query in _QUERIES:
                await self._database.pool.fetchrow(query, group.id)
            peer = types.InputPeerChannel(group.id, self._world.token("channel", account, group.id))
            if with_text:
                await self._send(functions.messages.SendMessageRequest(peer, "Good morning"))
            await self._send(functions.messages.SendMediaRequest(peer, await self._uploaded(picture), "New prices"))
        return self._clock.now()

    async def _send(self, request: functions.messages.SendMessageRequest) -> None:
        await self._distance.travel(len(bytes(request)))
        with self._distance:
            await self._client(request)
        await self._clock.sleep(BETWEEN_PARTS)

    async def _uploaded(self, picture: bytes) -> types.InputMediaUploadedPhoto:
        """The picture handed over once more, in the time of a single call with all its bytes."""
        await self._distance.travel(len(picture))
        with self._distance:
            file = await self._client.upload_file(picture, file_name="poster.jpg", part_size_kb=512)
        return types.InputMediaUploadedPhoto(file)
