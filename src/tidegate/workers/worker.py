"""A worker: takes its share of the accounts, serves them, and hands them over when it stops (one-owner-per-account)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import structlog
from prometheus_client import Gauge

from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.accounts import ServedAccount
from tidegate.core.ids import AccountId, WorkerNumber
from tidegate.core.platform import Platform
from tidegate.core.task_groups import first_of
from tidegate.database.migrations.upgrade import require_current, version
from tidegate.database.pool import TROUBLE, Connection, Database
from tidegate.events.kinds.workers import WorkerJoined
from tidegate.events.queries import feed
from tidegate.workers.account_service import AccountService, ServingDeps
from tidegate.workers.command_loop import CommandLoop, Handler
from tidegate.workers.dead_process_check import process_gone
from tidegate.workers.liveness_lock import LivenessLock
from tidegate.workers.queries import commands, workers
from tidegate.workers.queries.workers import MissingWorker, WorkerIdentity
from tidegate.workers.rules.account_assignment import fair_shares
from tidegate.workers.rules.missing_worker import WorkerEnding, ending_of

log = structlog.get_logger()

_SERVED = Gauge("tidegate_accounts_served", "Accounts this process serves.")

BITE = 10_000
"""Maximum number of accounts a worker takes in one round."""


class Worker:
    """Serves accounts until it is stopped; any number of workers may share a database."""

    def __init__(
        self,
        deps: ServingDeps,
        who: WorkerIdentity,
        *,
        database: Database,
        patience: Mapping[Platform, timedelta],
        handlers: Mapping[str, Handler] | None = None,
        only: AccountId | None = None,
    ) -> None:
        """*database* is for rounds and commands alone, so that other work cannot delay them.

        *patience* is how long a platform's accounts are left to a silent owner, where that exceeds the time-out. A
        worker for *only* one account takes that one and no other.
        """
        self._deps = deps
        self._database = database
        self._clock = deps.clock
        self._who = who
        self._patience = patience
        self._only = only
        self._pulse = LivenessLock(database, deps.clock, who, moved=self._moved)
        self._serving: dict[AccountId, AccountService] = {}
        self._obeying = CommandLoop(database, self._serving, handlers or {})
        self._closing: set[asyncio.Task[None]] = set()
        self._came_back = False
        self._wake = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Run until *stop* is set, then hand everything over. Raises when this version cannot use the database."""
        tasks = [
            asyncio.create_task(self._pulse.run(), name="pulse"),
            asyncio.create_task(self._listen(), name="listen"),
            asyncio.create_task(self._rounds(), name="rounds"),
            asyncio.create_task(self._watch(), name="watch"),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            await _cancel(tasks[1:])  # heartbeats continue: our accounts stay ours until they are handed over
            await self._hand_over()
            for task in done - {stopping}:
                task.result()
        finally:
            await _cancel([*tasks, stopping, *self._obeying.tasks])

    # Rounds: which workers live, and which accounts each serves

    async def _rounds(self) -> None:
        while True:
            try:
                await self._pulse.steady()
                number = self._pulse.number
                assert number is not None
                async with asyncio.timeout(self._who.time_out.total_seconds()):
                    surplus = await self._round(number)
                if surplus:
                    await self._give_up(surplus)
                await self._obeying.look(number)
            except TROUBLE as problem:
                log.warning(
                    "worker.round_failed", worker=self._who.name, problem=str(problem) or type(problem).__name__
                )
                await self._clock.sleep(self._pulse.every)
            await self._until_woken(self._pulse.every)

    async def _round(self, number: WorkerNumber) -> list[AccountService]:
        """One round: store the heartbeat, find dead workers, take free accounts. Returns accounts above our share."""
        self._wake.clear()
        async with self._database.connection() as connection:
            require_current(await version(connection))
            await workers.store_beat(connection, number)
            await self._judge_the_missing(connection)
            seats = await workers.alive(connection)
            if number not in seats:  # the lock was just lost; the heartbeat will report it
                return []
            every, ours = await accounts.count(connection, number)
            share = fair_shares(every, seats)[number] if self._only is None else 1
            if ours != len(self._serving):
                self._reconcile(await accounts.owned(connection, number))
            if ours < share:
                # A few at a time, so that workers that start together share at once instead of handing over.
                most = min(share - ours, BITE)
                taken = await accounts.take(connection, number, most, self._patience, only=self._only)
                self._start(taken)
                if len(taken) == BITE:
                    self._wake.set()
        _SERVED.set(len(self._serving))
        return list(self._serving.values())[share:]

    async def _judge_the_missing(self, connection: Connection) -> None:
        """Record how workers ended whose locks are free."""
        missing = await workers.missing(connection)
        if not missing:
            return
        all_were_cut = await self._all_were_cut(connection)
        for one in missing:
            gone = process_gone(one.host, one.process)
            ending = ending_of(
                beat_at=one.beat_at,
                time_out=one.time_out,
                process_gone=gone,
                session_open=one.session_open,
                now=one.now,
            )
            if ending is not None and (gone or not all_were_cut):
                await self._write_ending(one, ending)

    async def _all_were_cut(self, connection: Connection) -> bool:
        """Whether a restart of the database may have freed every lock at once.

        Then the others need time to take their locks again, and a free lock proves nothing yet.
        """
        if self._came_back and self._clock.ticks() - self._pulse.since < self._who.time_out.total_seconds():
            return True
        return await workers.server_up_for(connection) < self._who.time_out

    async def _write_ending(self, one: MissingWorker, ending: WorkerEnding) -> None:
        async with self._database.transaction() as connection:
            ended = await workers.end(connection, one.number, ending)
        if not ended:
            return
        log.warning("worker.ended", worker=one.name, ending=ending.value)
        if not self._database.address.pooled:  # behind a pooler the same session may belong to another worker by now
            await workers.end_sessions(self._database.pool, one.sessions)

    async def _moved(self, lost: WorkerNumber | None, number: WorkerNumber) -> None:
        """Start under a new number; after a lost session, keep the accounts that no other worker took."""
        self._came_back = lost is not None
        async with self._database.transaction() as connection:
            if lost is None:
                await workers.register(connection, number, self._who)
                await feed.record(connection, self._who.name, WorkerJoined(seats=self._who.seats))
            else:
                await accounts.take_back(connection, lost, number)
                await workers.renumber(connection, lost, number, self._who)
            ours = await accounts.owned(connection, number)
        self._reconcile(ours)
        self._wake.set()

    def _reconcile(self, owned: Iterable[ServedAccount]) -> None:
        """Serve exactly the accounts the database assigns to us: drop lost or removed ones, start the missing."""
        ours = {served.account.id: served for served in owned}
        self._drop([one for id_, one in self._serving.items() if id_ not in ours or ours[id_].epoch != one.epoch])
        self._start(served for id_, served in ours.items() if id_ not in self._serving)

    def _start(self, taken: Iterable[ServedAccount]) -> None:
        for served in taken:
            self._serving[served.account.id] = AccountService(served, self._deps, self._pulse)

    def _drop(self, lost: Iterable[AccountService]) -> None:
        """Stop serving at once; from here on the account makes no call."""
        for one in lost:
            del self._serving[one.account.id]
            one.cut()
            self._closing.add(one.task)
            one.task.add_done_callback(self._closing.discard)

    async def _give_up(self, leaving: list[AccountService]) -> None:
        """Stop serving in order, then free the accounts and wake workers that have room for them.

        If the database is unavailable by then, the accounts are still ours, and the next round serves them again.
        """
        await asyncio.gather(*(one.stop(within=self._who.time_out / 4) for one in leaving))
        for one in leaving:
            self._serving.pop(one.account.id, None)
        assert self._pulse.number is not None
        async with self._database.transaction() as connection:
            await accounts.release(connection, self._pulse.number, [one.account.id for one in leaving])
            await commands.wake(connection)

    async def _hand_over(self) -> None:
        """Hand over in order, so that no other worker waits for a time-out."""
        number = self._pulse.number
        if number is None:
            return
        try:
            async with asyncio.timeout(self._who.time_out.total_seconds()):
                await self._give_up(list(self._serving.values()))
                async with self._database.transaction() as connection:
                    await workers.end(connection, number, WorkerEnding.LEFT)
        except TROUBLE as problem:
            log.warning("worker.left_without_a_word", worker=self._who.name, problem=str(problem))
        finally:
            self._drop(list(self._serving.values()))
            if self._closing:
                await asyncio.wait(self._closing, timeout=self._who.time_out.total_seconds() / 4)

    async def _watch(self) -> None:
        """Close every connection to a platform at three quarters of the time-out without a heartbeat."""
        while True:
            await self._clock.sleep(self._pulse.every / 4)
            if self._serving and self._clock.ticks() >= self._pulse.connected_until:
                log.warning("worker.lets_go", worker=self._who.name, accounts=len(self._serving))
                self._drop(list(self._serving.values()))

    async def _listen(self) -> None:
        """Wake at once when a command arrives or an account is freed; otherwise at the next round."""
        while True:
            try:
                session = await self._database.direct(f"{self._who.sessions} listens")
                gone = asyncio.Event()
                session.add_termination_listener(lambda _, gone=gone: gone.set())
                await session.add_listener(commands.CHANNEL, lambda *_: self._wake.set())
                try:
                    await gone.wait()
                finally:
                    session.terminate()
            except TROUBLE as problem:
                log.debug("worker.deaf", problem=str(problem))
            await self._clock.sleep(self._pulse.every)

    async def _until_woken(self, span: timedelta) -> None:
        await first_of(self._clock.sleep(span), self._wake.wait())


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    tasks = [task for task in tasks if not task.done()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
