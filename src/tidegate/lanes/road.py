"""What the reads and the sends of one account share: whether a call may be made now, and what its answer changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import AskedToWait, Banned, NotOurs, SignedOut
from tidegate.lanes.limits import CAREFUL, SendLimits
from tidegate.lanes.metrics import count_call, count_wait
from tidegate.lanes.pauses import Alarm, Pauses
from tidegate.port import Buckets, ChannelId, Client, Meters
from tidegate.store import accounts, pace, waits
from tidegate.store.calls import Ledger
from tidegate.store.database import AWAY, Connection, Database
from tidegate.words import Account, Claim, Outcome, Scope, ScopeKind

_RETRY_AFTER = timedelta(seconds=1)
_LONGEST_SLEEP = 3600.0
_NO_TIME = 1e-6

_log = structlog.get_logger(__name__)

Stop = SignedOut | Banned
Change = Callable[[Connection, Claim], Awaitable[None]]


class Road:
    """One account's way to its platform: open or closed, and which parts of it wait."""

    def __init__(
        self,
        account: Account,
        client: Client,
        *,
        claim: Callable[[], Claim],
        database: Database,
        ledger: Ledger,
        clock: Clock,
        sends: SendLimits = CAREFUL,
    ) -> None:
        self.account = account
        self.client = client
        self.database = database
        self.ledger = ledger
        self.clock = clock
        self.sends = sends
        self.stopped: Stop | None = None
        self.in_flight = 0
        self._claim = claim
        self._closed = False
        self._paused = False
        self._buckets = client if isinstance(client, Buckets) else None
        self._meters = client if isinstance(client, Meters) else None
        self._pauses = Pauses(clock)
        self._alarm = Alarm(clock)
        self._idle = asyncio.Event()
        self._idle.set()
        self._storing: set[asyncio.Task[None]] = set()

    # Whether a call may be made

    def require_open(self) -> Claim:
        """What may be done right now; raises when it is nothing. Nothing may be awaited between this and a call."""
        if self.stopped is not None:
            raise self._as_stopped(self.stopped)
        if self._closed:
            raise NotOurs(f'The lane of account "{self.account.name}" is closed; this worker serves it no more.')
        claim = self._claim()
        if self.clock.ticks() >= claim.deadline:
            raise NotOurs(
                f'This worker\'s claim on account "{self.account.name}" ran out: it may not call until the next beat.'
            )
        return claim

    def is_clear(self, method: str, channel: ChannelId | None) -> bool:
        return not self._paused and (not (self._pauses or self._meters) or not self._left(method, channel))

    async def until_clear(self, method: str, channel: ChannelId | None) -> None:
        """Wait while a person or the platform paused what this call needs."""
        self.require_open()
        while not self.is_clear(method, channel):
            await self._doze(_LONGEST_SLEEP if self._paused else self._left(method, channel))

    async def sleep(self, span: timedelta) -> None:
        """Sleep that long, unless the lane is stopped, closed or lost first: then it raises at once."""
        end = self.clock.ticks() + span.total_seconds()
        self.require_open()
        while (left := end - self.clock.ticks()) > _NO_TIME:
            await self._doze(left)

    async def _doze(self, seconds: float) -> None:
        claim = self.require_open()
        lost_in = max(claim.deadline - self.clock.ticks(), _NO_TIME)
        await self._alarm.sleep(min(seconds, lost_in, _LONGEST_SLEEP))
        self.require_open()

    def _left(self, method: str, channel: ChannelId | None) -> float:
        """The seconds until nothing that would stop this call waits any more."""
        scopes = [Scope(), Scope(ScopeKind.METHOD, method)]
        if channel is not None:
            scopes.append(Scope(ScopeKind.CHAT, str(channel)))
        if self._buckets is not None:
            scopes.append(Scope(ScopeKind.BUCKET, self._buckets.bucket(method, channel)))
        metered = self._meters.refused_for(method, channel) if self._meters is not None else 0.0
        return max(self._pauses.left(scopes), metered)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around every call, so that closing in order can wait for its end."""
        self.in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self._idle.set()

    # Opening, pausing, closing

    async def load(self) -> None:
        """Take over what is stored: waits the platform asked for, and the pace the operator allows."""
        claim = self.require_open()
        async with self.database.transaction() as connection:
            await accounts.fence(connection, claim)
            await pace.set_pace(connection, self.account.id, self.sends.allowance)
            stored = await waits.load(connection, self.account.id)
        for scope, left in stored.items():
            self._pauses.pause(scope, left)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._alarm.ring()

    @property
    def account_waits_for(self) -> timedelta:
        return timedelta(seconds=self._pauses.account)

    async def drain(self, span: timedelta) -> None:
        """Let no further call begin, and those in flight end, for at most *span*."""
        self._shut()
        if self.in_flight:
            over = asyncio.ensure_future(self.clock.sleep(span))
            idle = asyncio.ensure_future(self._idle.wait())
            await asyncio.wait((over, idle), return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            idle.cancel()

    async def close(self) -> None:
        self._shut()
        for task in self._storing:
            task.cancel()
        if self._storing:
            await asyncio.wait(self._storing)
        await self.client.close()

    def _shut(self) -> None:
        self._closed = True
        self._alarm.ring()

    # What an answer changes

    def count(self, method: str, outcome: Outcome) -> None:
        count_call(self.account.platform, method, outcome)

    async def heed_wait(self, asked: AskedToWait, method: str, channel: ChannelId | None) -> None:
        """Let the scope wait that the platform named, here at once and stored for whoever comes after."""
        scope = self._ours(asked.scope, method, channel)
        self._pauses.pause(scope, asked.pause)
        count_wait(self.account.platform, scope.kind)

        async def keep(connection: Connection, claim: Claim) -> None:
            await waits.remember(connection, claim, scope, asked.pause)
            if scope.kind is ScopeKind.ACCOUNT:
                await pace.warn(connection, claim, self.sends.allowance, asked.pause)

        await self._store(keep)

    async def heed_stop(self, stop: Stop) -> None:
        """Stop the lane for a person to act, and say so where the next worker reads it."""
        if self.stopped is not None:
            return
        self.stopped = stop
        self._alarm.ring()

        async def keep(connection: Connection, claim: Claim) -> None:
            await accounts.fence(connection, claim, to_change=True)
            await accounts.note_stop(connection, self.account.id, stop)

        await self._store(keep)

    def _ours(self, scope: Scope, method: str, channel: ChannelId | None) -> Scope:
        """The platform's scope in our words: a method is the verb that was called, a chat the channel it was for."""
        if scope.kind is ScopeKind.METHOD or (scope.kind is ScopeKind.BUCKET and self._buckets is None):
            return Scope(ScopeKind.METHOD, method)
        if scope.kind is ScopeKind.CHAT and not scope.key and channel is not None:
            return Scope(ScopeKind.CHAT, str(channel))
        return scope

    async def _store(self, change: Change) -> None:
        """Store a change now, or go on trying in the background when the database does not answer."""
        claim = self._claim()
        try:
            await self._commit(change, claim)
        except NotOurs:
            _log.info("lane.too_late_to_store", account=self.account.name, epoch=claim.epoch)
        except AWAY as problem:
            _log.warning("lane.not_stored_yet", account=self.account.name, problem=str(problem), next="tried again")
            task = asyncio.create_task(self._store_later(change), name=f"storing for {self.account.name}")
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)

    async def _store_later(self, change: Change) -> None:
        while True:
            await self.clock.sleep(_RETRY_AFTER)
            try:
                return await self._commit(change, self._claim())
            except NotOurs:
                return None
            except AWAY:
                continue

    async def _commit(self, change: Change, claim: Claim) -> None:
        async with self.database.transaction() as connection:
            await change(connection, claim)

    def _as_stopped(self, stop: Stop) -> Stop:
        sentence = f"{stop} Next: {stop.leaves.next_action}"
        return type(stop)(sentence, stop.until) if isinstance(stop, Banned) else SignedOut(sentence)
