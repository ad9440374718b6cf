"""When waiting sets are filed: after every cycle; where a worker stays, beside the next ones, for it may take hours."""

from __future__ import annotations

import asyncio

from tidegate.clock import Clock
from tidegate.lanes import Lane
from tidegate.mirror.filing import FilingHabits, file_waiting
from tidegate.store.database import Database
from tidegate.words import AccountId


class Filer:
    """Files the sets of all accounts that one process serves, those of one account one after the other."""

    def __init__(self, database: Database, clock: Clock, habits: FilingHabits, *, beside_cycles: bool) -> None:
        """With *beside_cycles* somebody runs ``work`` for as long as the account is served; else cycles wait."""
        self._database = database
        self._clock = clock
        self._habits = habits
        self._beside = beside_cycles
        self._bells: dict[AccountId, asyncio.Event] = {}

    async def after_cycle(self, lane: Lane) -> None:
        """A cycle may have left sets waiting."""
        if self._beside:
            self._bell(lane).set()
        else:
            await self._file_all(lane)

    async def work(self, lane: Lane) -> None:
        """File whatever waits whenever a cycle has ended; the first one takes up what a worker before us left."""
        bell = self._bell(lane)
        while True:
            await bell.wait()
            bell.clear()
            await self._file_all(lane)

    async def _file_all(self, lane: Lane) -> None:
        """Turns until one files nothing: what ended in one may be what another set was waiting for."""
        while True:
            told = await file_waiting(lane, self._database, self._clock, self._habits)
            await lane.write_ledger()
            if not told.filed + told.duplicates:
                return

    def _bell(self, lane: Lane) -> asyncio.Event:
        return self._bells.setdefault(lane.account.id, asyncio.Event())
