"""A source, a destination, and sets on their way between them, on the loopback Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scenes.telegram_mirror import Mirror
from tests.waiting import PATIENCE
from tidegate.archives.contents_indexer import index_waiting_sets
from tidegate.archives.filing.filing_context import FilingPolicy
from tidegate.archives.filing.queues import FilingResult, file_waiting_sets
from tidegate.archives.filing.work_folder import WorkFolder, free_bytes
from tidegate.archives.rules.delivery_plan import (
    SMALL_AT_MOST,
)
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.clock import SystemClock
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import File


@dataclass
class Scene:
    """What is posted in *source* is to be filed in *vault*; *folder* is where parts lie meanwhile."""

    mirror: Mirror
    source: Channel
    vault: Channel
    folder: Path
    reserve: int = 0
    free: Callable[[Path], int] = free_bytes
    largest: int | None = None
    small_at_most: int = SMALL_AT_MOST
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def world(self) -> World:
        return self.mirror.world

    async def found(self, *files: File) -> None:
        """Post files and let cycles find them, read what is inside, and leave them waiting."""
        for file in files:
            self.world.post(self.source, file=file)
        await self.find()

    async def find(self) -> None:
        """Two cycles, so that sets without a mark of their end have rested, and the reading of what is inside."""
        await self.mirror.cycle()
        await self.mirror.pass_time(hours=2)
        await self.mirror.cycle()
        await self.index()

    async def index(self) -> None:
        assert self.mirror.lane is not None
        await index_waiting_sets(self.mirror.lane, self.mirror.database, self.retries)

    @property
    def policy(self) -> FilingPolicy:
        work = WorkFolder(self.folder, reserve=self.reserve, host="this machine", free=self.free)
        return FilingPolicy(self.retries, work, self.largest, self.small_at_most)

    async def file(self) -> FilingResult:
        """One turn of filing."""
        assert self.mirror.lane is not None
        return await file_waiting_sets(self.mirror.lane, self.mirror.database, SystemClock(), self.policy)

    @asynccontextmanager
    async def cut_off(self, when: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """A turn that ends the moment *when* comes true, as if its worker were gone; then there is a new owner."""
        turn = asyncio.create_task(self.file())
        async with asyncio.timeout(PATIENCE):
            while not await when():
                assert not turn.done(), "the turn ended before it could be cut off"
                await asyncio.sleep(0)
        turn.cancel()
        with suppress(asyncio.CancelledError):
            await turn
        await self.mirror.connect()
        yield

    @property
    def delivered(self) -> list[File]:
        """The files in the destination by the platform's own record, in order."""
        return [message.file for _, message in sorted(self.vault.messages.items()) if message.file]

    @property
    def lying(self) -> list[Path]:
        """The files that lie in the work folder."""
        return [path for path in self.folder.rglob("*") if path.is_file()]

    async def archives(self) -> list[dict[str, Any]]:
        return [dict(row) for row in await self.mirror.rows("SELECT * FROM archives ORDER BY id")]

    async def deliveries(self) -> list[dict[str, Any]]:
        return [dict(row) for row in await self.mirror.rows("SELECT * FROM deliveries ORDER BY archive, number")]

    async def failures(self) -> list[dict[str, Any]]:
        return [dict(row) for row in await self.mirror.rows("SELECT * FROM failures ORDER BY archive")]
