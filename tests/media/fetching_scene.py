"""A channel with files that are fetched into a folder, on a loopback Telegram."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Sha256
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import File
from tidegate.media.fetching import AccountMedia, FetchResult, MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_rules
from tidegate.media.rules.media_policy import MediaRule

PLENTY = 1 << 40


@dataclass
class MediaScene:
    """A channel that is mirrored in full. *free* is what the disk is said to have left."""

    mirror: Mirror
    channel: Channel
    folder: Path
    free: int = PLENTY
    setup: MediaSetup = field(init=False)

    def __post_init__(self) -> None:
        work = WorkFolder(self.folder / "partial", reserve=1_000, host="here", free=lambda _: self.free, what="Files")
        self.setup = MediaSetup(LocalStore(self.folder), work)

    @property
    def world(self) -> World:
        return self.mirror.world

    def account(self) -> AccountMedia:
        """The account's files as a worker that begins has them."""
        assert self.mirror.lane is not None
        return AccountMedia(self.mirror.lane, self.mirror.database, SystemClock(), self.setup)

    async def fetch(self) -> FetchResult:
        return await self.account().run()

    def post(self, *files: File) -> None:
        for file in files:
            self.world.post(self.channel, file=file)

    async def mirrored(self, *files: File) -> None:
        """These files are posted, and their messages are stored."""
        self.post(*files)
        await self.mirror.pass_time(hours=1)
        await self.mirror.cycle()

    async def states(self) -> dict[int, tuple[str, str]]:
        rows = await self.mirror.rows("SELECT file, state, reason FROM media_files ORDER BY file")
        return {row["file"]: (row["state"], row["reason"]) for row in rows}

    async def kept(self) -> dict[int, str]:
        """The digests of all kept files, each of which is in the store with these bytes."""
        rows = await self.mirror.rows("SELECT file, sha256 FROM media_files WHERE state = 'kept' ORDER BY file")
        return {row["file"]: Sha256(row["sha256"]).hex() for row in rows}

    async def told(self, kind: str = "media.%") -> list[str]:
        rows = await self.mirror.rows("SELECT kind FROM events WHERE kind LIKE $1 ORDER BY id", kind)
        return [row["kind"] for row in rows]

    async def allow(self, rule: MediaRule) -> None:
        async with self.mirror.database.transaction() as connection:
            await media_rules.set_rule(connection, rule)
