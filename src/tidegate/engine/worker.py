"""A worker: takes its share of the accounts, serves them, and hands them over when it goes (law 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import structlog
from prometheus_client import Gauge

from tidegate.engine.evidence import process_gone
from tidegate.engine.obeying import Handler, Obeying
from tidegate.engine.pulse import Pulse
from tidegate.engine.serving import Means, Serving
from tidegate.rules.spreading import Ending, fair_shares, judge
from tidegate.side_by_side import first_of
from tidegate.store import accounts, commands, feed, workers
from tidegate.store.accounts import Served
from tidegate.store.database import TROUBLE, Connection, Database
from tidegate.store.upgrade import require_current, version
from tidegate.store.workers import Identity, Missing
from tidegate.words import AccountId, Platform, WorkerNumber

log = structlog.get_logger()

_SERVED = Gauge("tidegate_accounts_served", "Accounts this process serves.")

BITE = 10_000
"""The most accounts a worker takes in one round."""


class Worker:
    """Serves accounts until told to stop; any number of workers may share a database."""

    def __init__(
        self,
        means: Means,
        who: Identity,
        *,
        database: Database,
        patience: Mapping[Platform, timedelta],
        handlers: Mapping[str, Handler] | None = None,
        only: AccountId | None = None,
    ) -> None:
        """*database* is for rounds and commands alone, so that no flood of work keeps a worker from them.

        *patience* is how long a platform's accounts are left to a silent owner, where that exceeds the time-out.
        A worker for *only* one account takes that one and has no seat for any other.
        """
        self._means = means
        self._database = database
        self._clock = means.clock
        self._who = who
        self._patience = patience
        self._only = only
        self._pulse = Pulse(database, means.clock, who, moved=self._moved)
        self._serving: dict[AccountId, Serving] = {}
        self._obeying = Obeying(database, self._serving, handlers or {})
        self._closing: set[asyncio.Task[None]] = set()
        self._came_back = False
        self._wake = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop* is set, then hand everything over. Raises when this code cannot work on the database."""
        tasks = [
            asyncio.create_task(self._pulse.run(), name="pulse"),
            asyncio.create_task(self._listen(), name="listen"),
            asyncio.create_task(self._rounds(), name="rounds"),
            asyncio.create_task(self._watch(), name="watch"),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            await _cancel(tasks[1:])  # the pulse goes on: what is ours stays ours until it is handed over
            await self._hand_over()
            for task in done - {stopping}:
                task.result()
        finally:
            await _cancel([*tasks, stopping, *self._obeying.tasks])

    # Rounds: who lives, who serves whom

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

    async def _round(self, number: WorkerNumber) -> list[Serving]:
        """Look around once: store the beat, judge who is missing, take what is due; returns what is above our share."""
        self._wake.clear()
        async with self._database.connection() as connection:
            require_current(await version(connection))
            await workers.store_beat(connection, number)
            await self._judge_the_missing(connection)
            seats = await workers.alive(connection)
            if number not in seats:  # the lock was lost just now; the pulse will say so
                return []
            every, ours = await accounts.count(connection, number)
            share = fair_shares(every, seats)[number] if self._only is None else 1
            if ours != len(self._serving):
                self._reconcile(await accounts.owned(connection, number))
            if ours < share:
                # In bites, so that workers which start together share from the beginning instead of handing over.
                most = min(share - ours, BITE)
                taken = await accounts.take(connection, number, most, self._patience, only=self._only)
                self._start(taken)
                if len(taken) == BITE:
                    self._wake.set()
        _SERVED.set(len(self._serving))
        return list(self._serving.values())[share:]

    async def _judge_the_missing(self, connection: Connection) -> None:
        """Write down how workers ended whose locks are gone."""
        missing = await workers.missing(connection)
        if not missing:
            return
        all_were_cut = await self._all_were_cut(connection)
        for one in missing:
            gone = process_gone(one.host, one.process)
            ending = judge(
                beat_at=one.beat_at,
                time_out=one.time_out,
                process_gone=gone,
                session_open=one.session_open,
                now=one.now,
            )
            if ending is not None and (gone or not all_were_cut):
                await self._write_ending(one, ending)

    async def _all_were_cut(self, connection: Connection) -> bool:
        """Whether a restart of the database may have taken every lock at once.

        Then the others must have their time to take back what is theirs; a lock that is gone says nothing yet.
        """
        if self._came_back and self._clock.ticks() - self._pulse.since < self._who.time_out.total_seconds():
            return True
        return await workers.server_up_for(connection) < self._who.time_out

    async def _write_ending(self, one: Missing, ending: Ending) -> None:
        async with self._database.transaction() as connection:
            ended = await workers.end(connection, one.number, ending)
        if not ended:
            return
        log.warning("worker.ended", worker=one.name, ending=ending.value)
        if not self._database.address.pooled:  # behind a pooler the same session may be somebody else's by now
            await workers.end_sessions(self._database.pool, one.sessions)

    async def _moved(self, lost: WorkerNumber | None, number: WorkerNumber) -> None:
        """Take up a new number; after a lost session, keep what nobody took meanwhile and let go of the rest."""
        self._came_back = lost is not None
        async with self._database.transaction() as connection:
            if lost is None:
                await workers.register(connection, number, self._who)
                await feed.record(connection, "worker.joined", self._who.name, {"seats": self._who.seats})
            else:
                await accounts.take_back(connection, lost, number)
                await workers.renumber(connection, lost, number, self._who)
            ours = await accounts.owned(connection, number)
        self._reconcile(ours)
        self._wake.set()

    def _reconcile(self, owned: Iterable[Served]) -> None:
        """Serve exactly what the database says is ours: drop what is lost or removed, start what we were cut from."""
        ours = {served.account.id: served for served in owned}
        self._drop([one for id_, one in self._serving.items() if id_ not in ours or ours[id_].epoch != one.epoch])
        self._start(served for id_, served in ours.items() if id_ not in self._serving)

    def _start(self, taken: Iterable[Served]) -> None:
        for served in taken:
            self._serving[served.account.id] = Serving(served, self._means, self._pulse)

    def _drop(self, lost: Iterable[Serving]) -> None:
        """Stop serving at once; from here on nothing of it makes a call."""
        for one in lost:
            del self._serving[one.account.id]
            one.cut()
            self._closing.add(one.task)
            one.task.add_done_callback(self._closing.discard)

    async def _give_up(self, leaving: list[Serving]) -> None:
        """Stop serving in order, then free the accounts and wake whoever has room for them.

        Should the database be away by then, they are still ours, and the next round serves them again.
        """
        await asyncio.gather(*(one.stop(within=self._who.time_out / 4) for one in leaving))
        for one in leaving:
            self._serving.pop(one.account.id, None)
        assert self._pulse.number is not None
        async with self._database.transaction() as connection:
            await accounts.release(connection, self._pulse.number, [one.account.id for one in leaving])
            await commands.wake(connection)

    async def _hand_over(self) -> None:
        """Leave in order: nobody waits for a time-out."""
        number = self._pulse.number
        if number is None:
            return
        try:
            async with asyncio.timeout(self._who.time_out.total_seconds()):
                await self._give_up(list(self._serving.values()))
                async with self._database.transaction() as connection:
                    await workers.end(connection, number, Ending.LEFT)
        except TROUBLE as problem:
            log.warning("worker.left_without_a_word", worker=self._who.name, problem=str(problem))
        finally:
            self._drop(list(self._serving.values()))
            if self._closing:
                await asyncio.wait(self._closing, timeout=self._who.time_out.total_seconds() / 4)

    async def _watch(self) -> None:
        """Close every connection to a platform at three quarters of the time-out without a beat."""
        while True:
            await self._clock.sleep(self._pulse.every / 4)
            if self._serving and self._clock.ticks() >= self._pulse.connected_until:
                log.warning("worker.lets_go", worker=self._who.name, accounts=len(self._serving))
                self._drop(list(self._serving.values()))

    async def _listen(self) -> None:
        """Be woken at once by whoever left a command or freed an account; rounds come round anyway."""
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
