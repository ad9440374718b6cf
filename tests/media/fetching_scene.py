"""Channels with files that are fetched into a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Sha256
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import File
from tidegate.media.file_fetcher import AccountMedia, FetchResult, MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_rules
from tidegate.media.rules.media_policy import MediaRule

PLENTY = 1 << 40


@dataclass
class FileScene(ABC):
    """Files of one account go to a folder. *free* is what the disk is said to have left."""

    folder: Path
    database: Database
    free: int = PLENTY
    setup: MediaSetup = field(init=False)

    def __post_init__(self) -> None:
        work = WorkFolder(self.folder / "partial", reserve=1_000, host="here", free=lambda _: self.free, what="Files")
        self.setup = MediaSetup(LocalStore(self.folder), work)

    @property
    @abstractmethod
    def lane(self) -> Lane:
        """The way to the account's platform."""

    def account(self) -> AccountMedia:
        """The account's files as a worker that begins has them."""
        return AccountMedia(self.lane, self.database, SystemClock(), self.setup)

    async def fetch(self) -> FetchResult:
        return await self.account().run()

    async def rows(self, query: str, *values: Any) -> Sequence[asyncpg.Record]:
        return await self.database.pool.fetch(query, *values)

    async def texts(self) -> list[str]:
        """The texts of all stored messages, oldest first."""
        return [row["text"] for row in await self.rows("SELECT text FROM messages ORDER BY id")]

    async def states(self) -> dict[int, tuple[str, str]]:
        rows = await self.rows("SELECT file, state, reason FROM media_files ORDER BY file")
        return {row["file"]: (row["state"], row["reason"]) for row in rows}

    async def kept(self) -> dict[int, str]:
        """The digests of all kept files, each of which is in the store with these bytes."""
        rows = await self.rows("SELECT file, sha256 FROM media_files WHERE state = 'kept' ORDER BY file")
        return {row["file"]: Sha256(row["sha256"]).hex() for row in rows}

    async def told(self, kind: str = "media.%") -> list[str]:
        rows = await self.rows("SELECT kind FROM events WHERE kind LIKE $1 ORDER BY id", kind)
        return [row["kind"] for row in rows]

    async def allow(self, rule: MediaRule) -> None:
        async with self.database.transaction() as connection:
            await media_rules.set_rule(connection, rule)

    async def limit(self, size: int) -> None:
        """All files together take so many bytes at most; else the disk of this machine decides."""
        async with self.database.transaction() as connection:
            await media_rules.set_state(connection, total_limit=size)

    def put_in_the_way(self, *digests: str) -> list[Path]:
        """Where the store would put bytes with these digests is something else, until it is deleted."""
        self.folder.mkdir(exist_ok=True)
        places = [self.folder / digest[:2] for digest in digests]
        for place in places:
            place.write_bytes(b"no folder")
        return places


class MediaScene(FileScene):
    """A channel of a loopback Telegram that is mirrored in full."""

    def __init__(self, mirror: Mirror, channel: Channel, folder: Path) -> None:
        super().__init__(folder, mirror.database)
        self.mirror = mirror
        self.channel = channel

    @property
    def world(self) -> World:
        return self.mirror.world

    @property
    def lane(self) -> Lane:
        assert self.mirror.lane is not None
        return self.mirror.lane

    def post(self, *files: File) -> None:
        for file in files:
            self.world.post(self.channel, file=file)

    async def mirrored(self, *files: File) -> None:
        """These files are posted, and their messages are stored."""
        self.post(*files)
        await self.mirror.pass_time(hours=1)
        await self.mirror.cycle()
