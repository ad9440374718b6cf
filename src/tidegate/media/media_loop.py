"""Fetches the files of all accounts that one process serves, whenever some are due."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import timedelta

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import ENDS_CYCLE, PlatformError
from tidegate.core.ids import AccountId
from tidegate.database.pool import TROUBLE, Database
from tidegate.lanes import Lane
from tidegate.media.file_fetcher import AccountMedia, FetchResult, MediaSetup
from tidegate.media.queries import media_files

LOOK_EVERY = timedelta(seconds=10)
"""How often one query for all accounts looks for files that are due."""

PAUSED_FOR = timedelta(minutes=1)
"""How long an account waits after the disk, the store or the limit stopped it, or its platform was in trouble."""

log = structlog.get_logger()


class MediaLoop:
    """One look for all accounts, and one worker for each."""

    def __init__(
        self, database: Database, clock: Clock, setup: MediaSetup, *, look_every: timedelta = LOOK_EVERY
    ) -> None:
        self._database = database
        self._clock = clock
        self._setup = setup
        self._look_every = look_every
        self._wakes: dict[AccountId, asyncio.Event] = {}
        self._looking: asyncio.Task[None] | None = None
        self._turns: defaultdict[AccountId, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def fetch(self, lane: Lane) -> FetchResult:
        """Fetch now what is due; never at the same time as the account's own worker."""
        async with self._turns[lane.account.id]:
            return await AccountMedia(lane, self._database, self._clock, self._setup).run()

    async def work(self, lane: Lane) -> None:
        """Fetch files of an account for as long as it is served."""
        account = AccountMedia(lane, self._database, self._clock, self._setup)
        wake = self._wakes[lane.account.id] = asyncio.Event()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="media look")
        try:
            while True:
                await wake.wait()
                wake.clear()
                if await self._run(account) is not None:
                    await self._clock.sleep(PAUSED_FOR)
        finally:
            del self._wakes[lane.account.id]
            if not self._wakes and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _run(self, account: AccountMedia) -> str | None:
        """Fetch what is due; returns why the account should wait."""
        try:
            async with self._turns[account.lane.account.id]:
                return (await account.run()).paused
        except ENDS_CYCLE:
            raise
        except (PlatformError, *TROUBLE) as problem:
            log.warning("media.put_off", account=account.lane.account.name, problem=str(problem))
            return str(problem)

    async def _look(self) -> None:
        while True:
            try:
                async with self._database.connection() as connection:
                    due = await media_files.due_accounts(connection, list(self._wakes))
            except TROUBLE as problem:
                log.warning("media.not_looked", problem=str(problem))
                due = []
            for account in due:
                if account in self._wakes:
                    self._wakes[account].set()
            await self._clock.sleep(self._look_every)
