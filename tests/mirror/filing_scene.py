"""A source, a destination, and sets on their way between them, on the loopback Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mirror.conftest import Mirror
from tidegate.clock import SystemClock
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.channels import Channel
from tidegate.loopback.telegram.content import File
from tidegate.mirror.filing import Filed, FilingHabits, file_waiting
from tidegate.mirror.indexing import work_off
from tidegate.mirror.work_folder import WorkFolder
from tidegate.rules.retrying import RetryHabits


@dataclass
class Scene:
    """What is posted in *source* is to be filed in *vault*; *folder* is where parts lie meanwhile."""

    mirror: Mirror
    source: Channel
    vault: Channel
    folder: Path
    reserve: int = 0
    largest: int | None = None
    retries: RetryHabits = field(default_factory=RetryHabits)

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
        await work_off(self.mirror.lane, self.mirror.database, self.retries)

    async def file(self) -> Filed:
        """One turn of filing."""
        assert self.mirror.lane is not None
        work = WorkFolder(self.folder, reserve=self.reserve, host="this machine")
        habits = FilingHabits(self.retries, work, self.largest)
        return await file_waiting(self.mirror.lane, self.mirror.database, SystemClock(), habits)

    @asynccontextmanager
    async def cut_off(self, when: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
        """A turn that ends the moment *when* comes true, as if its worker were gone; then there is a new owner."""
        turn = asyncio.create_task(self.file())
        async with asyncio.timeout(30):
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
