"""Thumbnails of kept pictures, made in the background, a few at a time.

What is still to be made is in the database, so work that was cut short is resumed by any worker. Workers begin at
different places, and each claims a picture before it draws.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import Sha256
from tidegate.database.pool import TROUBLE, Database
from tidegate.media.queries import media_blobs, media_rules, space_reservations, thumbnails
from tidegate.media.queries.media_files import KeptBytes
from tidegate.media.queries.thumbnails import WaitingPicture
from tidegate.media.rules.media_policy import total_limit
from tidegate.media.store import BytesMissing, MediaStore
from tidegate.media.thumbnails.thumbnail_limits import LIMITS
from tidegate.media.thumbnails.thumbnailer import DRAWN_AS, NoThumbnail, Thumbnailer

EVERY = timedelta(seconds=10)
LEFT_FOR = timedelta(hours=1)
BATCH = 20
MOST_LOOKED_AT = 200
"""How many pictures are looked at before the loop rests."""

_FIRST = Sha256(b"")

log = structlog.get_logger(__name__)


class ThumbnailLoop:
    """Makes what is missing. *folder* is where a thumbnail is written before it is moved into the store."""

    def __init__(self, database: Database, store: MediaStore, folder: Path) -> None:
        self._database = database
        self._store = store
        self._folder = folder
        self._after = Sha256(os.urandom(32))

    async def run(self, clock: Clock) -> None:
        """Make thumbnails until cancelled."""
        await asyncio.to_thread(self._tidy, clock.now() - LEFT_FOR)
        while True:
            try:
                made = await self.make_missing()
            except TROUBLE as problem:
                log.warning("thumbnails.put_off", problem=str(problem))
            else:
                if made:
                    log.info("thumbnails.made", pictures=made)
            await clock.sleep(EVERY)

    async def make_missing(self, *, most: int = MOST_LOOKED_AT) -> int:
        """Look at up to *most* pictures; how many thumbnails were made. Trouble of this machine ends it."""
        made = looked = 0
        wrapped = False
        if not await self._has_space():
            return 0
        async with Thumbnailer() as maker:
            while looked < most:
                found = await self._next(min(BATCH, most - looked))
                if not found and wrapped:
                    break
                if not found:
                    wrapped, self._after = True, _FIRST
                looked += len(found)
                for one in found:
                    self._after = one.sha256
                    try:
                        made += await self._make(maker, one)
                    except MachineTrouble as problem:
                        async with self._database.transaction() as connection:
                            await thumbnails.give_back(connection, one.sha256)
                        log.warning("thumbnails.put_off", problem=str(problem))
                        return made
                    if not await self._has_space():
                        return made
        return made

    async def _has_space(self) -> bool:
        """Whether the limit for all files leaves room for the largest thumbnail there can be."""
        free = await asyncio.to_thread(self._store.free)
        async with self._database.connection() as connection:
            state = (await media_rules.policy(connection)).state
            taken = await space_reservations.taken(connection)
        return taken.stored + taken.held + LIMITS.drawn <= total_limit(state, free=free, stored=taken.stored)

    async def _next(self, most: int) -> list[WaitingPicture]:
        async with self._database.connection() as connection:
            return await thumbnails.waiting(connection, self._after, most=most)

    async def _make(self, maker: Thumbnailer, one: WaitingPicture) -> bool:
        async with self._database.transaction() as connection:
            if not await thumbnails.claim(connection, one.sha256):
                return False
        try:
            drawn = await maker.make(await self._content(one), one.type)
        except BytesMissing:
            async with self._database.transaction() as connection:
                await media_blobs.note_missing(connection, [one.sha256], refetch=False)
                await thumbnails.give_back(connection, one.sha256)
            return False
        except NoThumbnail as reason:
            async with self._database.transaction() as connection:
                await thumbnails.refuse(connection, one.sha256, str(reason))
            return False
        sha256 = Sha256(hashlib.sha256(drawn).digest())
        async with self._database.transaction() as connection:
            await media_blobs.renew(connection, sha256)
        await self._store.put(await asyncio.to_thread(self._written, drawn), sha256)
        async with self._database.transaction() as connection:
            return await thumbnails.drawn(connection, one.sha256, KeptBytes(sha256, len(drawn), DRAWN_AS))

    async def _content(self, one: WaitingPicture) -> bytes:
        """The bytes of the picture; one more than allowed are enough to refuse it."""
        pieces = [piece async for piece in self._store.read(one.sha256, length=LIMITS.bytes + 1)]
        return await asyncio.to_thread(b"".join, pieces)

    def _tidy(self, before: datetime) -> None:
        """Delete what a killed worker of this machine left behind."""
        for path in self._folder.glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before.timestamp():
                    path.unlink()

    def _written(self, content: bytes) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return Path(path)
