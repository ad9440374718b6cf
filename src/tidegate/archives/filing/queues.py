"""The queues in which an account's waiting sets are filed, and the loop that works them off.

The queues run at the same time, so that a large set delays no other. Where a worker stays, they also run beside the
next cycles, because filing may take hours.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.filing.closed_destinations import look_at_destinations
from tidegate.archives.filing.disk_space import DiskWatch
from tidegate.archives.filing.filing_context import FilingContext, FilingPolicy
from tidegate.archives.filing.set_filing import SetFiling
from tidegate.archives.queries import archive_pauses, filing_queue
from tidegate.archives.queries.filing_queue import Choice
from tidegate.archives.set_outcome import SetOutcome
from tidegate.core.clock import Clock
from tidegate.core.ids import AccountId, ArchiveId, ChannelId, CycleNumber
from tidegate.core.task_groups import first_of, together
from tidegate.database.pool import Database
from tidegate.lanes import Lane

BATCH = 200
"""Maximum number of sets a queue files before it checks the disk and the destinations again."""

LOOK_EVERY = timedelta(minutes=1)
"""How often a paused queue checks whether the disk has room again, or a destination is to be tried."""


@dataclass(slots=True)
class FilingResult:
    """The results of a batch of sets. Those *left* wait for something else and used up no try.

    Those *changed* are wanted in another way by now, or belong to another queue. *paused*: sets of the account wait
    for disk space, or for a destination that accepts nothing.
    """

    filed: int = 0
    duplicates: int = 0
    left: int = 0
    changed: int = 0
    failed: int = 0
    paused: bool = False

    @property
    def moved_on(self) -> bool:
        """Whether anything happened that another set may have waited for."""
        return self.filed + self.duplicates + self.changed > 0

    def count(self, ended: SetOutcome) -> None:
        self.filed += ended is SetOutcome.FILED
        self.duplicates += ended is SetOutcome.DUPLICATE
        self.left += ended in (SetOutcome.LEFT, SetOutcome.WITHOUT_SOURCE)
        self.changed += ended is SetOutcome.CHANGED
        self.failed += ended in (SetOutcome.FAILED, SetOutcome.IN_TROUBLE)

    def add(self, other: FilingResult) -> None:
        """Add the results of another queue."""
        self.filed += other.filed
        self.duplicates += other.duplicates
        self.left += other.left
        self.changed += other.changed
        self.failed += other.failed


class FilingQueue(Enum):
    """Where a set waits. Small sets have their own queue; each of the others has large sets of another channel.

    All of them make their calls through the account's one lane, which limits their rate together.
    """

    SMALL = 0
    LARGE_1 = 1
    LARGE_2 = 2
    LARGE_3 = 3

    @property
    def is_large(self) -> bool:
        return self is not FilingQueue.SMALL


class AccountFiling:
    """The filing of one account's sets by this process."""

    def __init__(
        self, lane: Lane, database: Database, clock: Clock, policy: FilingPolicy, *, cycle: CycleNumber | None = None
    ) -> None:
        self._lane = lane
        self._database = database
        self._policy = policy
        self._context = FilingContext(lane, database, cycle, clock, policy)
        self._in_hand: dict[ArchiveId, tuple[FilingQueue, ChannelId]] = {}
        self._disk_troubles: dict[Hashable, str] = {}
        self._is_short = False
        self._reporting = asyncio.Lock()  # a queue must not overwrite what another has found out since
        self._looking = asyncio.Lock()  # no queue skips a destination while another checks it
        self._taking = asyncio.Lock()  # a set just taken must be in _in_hand before others are put back

    async def run(self, queue: FilingQueue, *, most: int = BATCH) -> FilingResult:
        """File waiting sets of a queue, one at a time.

        Each ends in its own transaction with its event. A set that an earlier owner left half done is resumed. A set
        that fails stops no other, unless the platform itself is in trouble. Sets that wait for disk space or for a
        closed destination are left out; all others are filed.
        """
        result = FilingResult()
        disk = await self._make_ready(queue)
        had: set[ArchiveId] = set()
        unreadable: set[ChannelId] = set()
        for _ in range(most):
            room = await disk.room()
            async with self._taking:
                busy = {channel for other, channel in self._in_hand.values() if queue.is_large and other.is_large}
                choice = Choice(queue.is_large, self._policy.small_at_most, had, busy | unreadable)
                async with owned_transaction(self._database, self._lane.claim()) as connection:
                    one = await filing_queue.take(connection, self._lane.account.id, room, choice)
                if one is None:
                    break
                self._in_hand[one.taken.archive] = (queue, one.taken.channel)
            try:
                ended = await SetFiling(self._context, one, disk, as_large=queue.is_large).work()
            finally:
                del self._in_hand[one.taken.archive]
            result.count(ended)
            if ended is not SetOutcome.CHANGED:
                had.add(one.taken.archive)
            if ended is SetOutcome.IN_TROUBLE:
                break
            if ended is SetOutcome.WITHOUT_SOURCE:
                unreadable.add(one.taken.channel)
        async with self._reporting:
            self._is_short = await disk.report()
        result.paused = await self.is_paused()
        return result

    async def is_paused(self) -> bool:
        """Whether any set waits for disk space or for a destination, as of the last batch that ended."""
        async with self._database.connection() as connection:
            return self._is_short or await archive_pauses.paused(connection, self._lane.account.id)

    async def _make_ready(self, queue: FilingQueue) -> DiskWatch:
        """Put back the sets that an earlier owner left, try closed destinations again, and make room on the disk."""
        async with self._taking, owned_transaction(self._database, self._lane.claim()) as connection:
            await filing_queue.put_back(connection, self._lane.account.id, but=self._in_hand)
        async with self._looking:
            await look_at_destinations(self._lane, self._database, cycle=self._context.cycle)
        disk = DiskWatch(self._lane, self._database, self._policy.work, self._disk_troubles, queue)
        await disk.tidy_up()
        return disk


async def file_waiting_sets(
    lane: Lane, database: Database, clock: Clock, policy: FilingPolicy, *, cycle: CycleNumber | None = None
) -> FilingResult:
    """One batch of every queue, all at the same time; a set that changes its queue meanwhile is filed as well."""
    account, total = AccountFiling(lane, database, clock, policy, cycle=cycle), FilingResult()

    async def run(queue: FilingQueue) -> None:
        total.add(await account.run(queue))

    while True:
        changed = total.changed
        await together(*(run(queue) for queue in FilingQueue))
        total.paused = await account.is_paused()
        if total.changed == changed:
            return total


class FilingLoop:
    """Files the sets of all accounts that one process serves."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        policy: FilingPolicy,
        *,
        beside_cycles: bool,
        look_every: timedelta = LOOK_EVERY,
    ) -> None:
        """With *beside_cycles* the caller runs ``work`` for as long as the account is served; else cycles wait."""
        self._database = database
        self._clock = clock
        self._policy = policy
        self._beside = beside_cycles
        self._look_every = look_every
        self._wakes: defaultdict[AccountId, dict[FilingQueue, asyncio.Event]] = defaultdict(
            lambda: {queue: asyncio.Event() for queue in FilingQueue}
        )

    async def after_cycle(self, lane: Lane) -> None:
        """File the sets that a cycle may have left waiting, or have ``work`` do so.

        Batches are repeated until one files nothing: a set that ended may be what another was waiting for.
        """
        if self._beside:
            for wake in self._wakes[lane.account.id].values():
                wake.set()
            return
        while True:
            result = await file_waiting_sets(lane, self._database, self._clock, self._policy)
            await lane.write_ledger()
            if not result.moved_on:
                return

    async def work(self, lane: Lane) -> None:
        """File waiting sets whenever a cycle has ended; the first time also those that an earlier worker left.

        Each queue runs on its own: what a cycle finds is filed while a large set of an earlier one is in progress.
        """
        account = AccountFiling(lane, self._database, self._clock, self._policy)
        await together(*(self._work_off(lane, account, queue) for queue in FilingQueue))

    async def _work_off(self, lane: Lane, account: AccountFiling, queue: FilingQueue) -> None:
        """Run batches of one queue: when a cycle has ended, and when another queue has filed something.

        While a set waits for the disk or for a destination, the queue also runs at intervals. That costs no platform
        call, and work resumes without the operator once there is room again.
        """
        wakes, paused = self._wakes[lane.account.id], False
        while True:
            await first_of(wakes[queue].wait(), *([self._clock.sleep(self._look_every)] if paused else []))
            wakes[queue].clear()
            result = await account.run(queue)
            await lane.write_ledger()
            paused = result.paused
            if result.moved_on:
                for wake in wakes.values():
                    wake.set()
