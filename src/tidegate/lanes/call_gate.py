"""The gate that the reads and sends of one account share: whether a call may be made, and what its answer changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog

from tidegate.accounts.queries import accounts
from tidegate.core.account import Account, Claim
from tidegate.core.clock import Clock
from tidegate.core.errors import AskedToWait, Banned, LongWait, NotOurs, SignedOut
from tidegate.core.ids import ChannelId
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.database.pool import AWAY, Connection, Database
from tidegate.lanes.call_limits import CAREFUL, SendLimits
from tidegate.lanes.metrics import count_wait
from tidegate.lanes.parked_reads import is_too_long
from tidegate.lanes.queries import pace, waits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.scope_pauses import InterruptibleSleep, ScopePauses
from tidegate.platforms.interface import Buckets, ChecksBeforeSend, KnowsWaits, NamesMethods, PlatformClient
from tidegate.platforms.interface.capabilities import ability_of

_RETRY_AFTER = timedelta(seconds=1)
_LONGEST_SLEEP = 3600.0
_NO_TIME = 1e-6

_log = structlog.get_logger(__name__)

Stop = SignedOut | Banned
Change = Callable[[Connection, Claim], Awaitable[None]]


class CallGate:
    """Whether one account may call its platform now: open or closed, and which scopes are paused."""

    def __init__(
        self,
        account: Account,
        client: PlatformClient,
        *,
        claim: Callable[[], Claim],
        database: Database,
        call_log: CallLog,
        clock: Clock,
        sends: SendLimits = CAREFUL,
    ) -> None:
        self.account = account
        self.claim = claim
        self.client = client
        self.database = database
        self.call_log = call_log
        self.clock = clock
        self.sends = sends
        self.stopped: Stop | None = None
        self.in_flight = 0
        self._closed = False
        self._paused = False
        self._names = ability_of(client, NamesMethods)
        self._buckets = ability_of(client, Buckets)
        self._meters = ability_of(client, KnowsWaits)
        self._pauses = ScopePauses(clock)
        self._alarm = InterruptibleSleep(clock)
        self._idle = asyncio.Event()
        self._idle.set()
        self._storing: set[asyncio.Task[None]] = set()
        if (careful := ability_of(client, ChecksBeforeSend)) is not None:
            careful.pre_send_check = self.require_open

    # Whether a call may be made

    def require_open(self) -> Claim:
        """The claim that permits a call now; raises when there is none. Await nothing between this and the call."""
        if self.stopped is not None:
            raise self._as_stopped(self.stopped)
        if self._closed:
            raise NotOurs(f'The lane of account "{self.account.name}" is closed; this worker serves it no more.')
        claim = self.claim()
        if self.clock.ticks() >= claim.deadline:
            raise NotOurs(
                f'This worker\'s claim on account "{self.account.name}" ran out: it may not call until the next beat.'
            )
        return claim

    def method(self, verb: str) -> str:
        """The platform's name of the call where the client knows it, so that both logs count the same calls."""
        return verb if self._names is None else self._names.method(verb)

    def is_clear(self, method: str, channel: ChannelId | None) -> bool:
        return not self._paused and (not (self._pauses or self._meters) or not self._left(method, channel))

    async def until_clear(self, method: str, channel: ChannelId | None) -> None:
        """Wait while the operator or the platform pauses this call; ``LongWait`` where a long wait is to be parked."""
        self.require_open()
        while not self.is_clear(method, channel):
            if is_too_long(narrow := self._left(method, channel, account=False)):
                raise LongWait(method, timedelta(seconds=narrow))
            await self._doze(_LONGEST_SLEEP if self._paused else self._left(method, channel))

    async def sleep(self, span: timedelta) -> None:
        """Sleep that long; raises at once when the lane is stopped, closed or lost."""
        end = self.clock.ticks() + span.total_seconds()
        self.require_open()
        while (left := end - self.clock.ticks()) > _NO_TIME:
            await self._doze(left)

    async def _doze(self, seconds: float) -> None:
        claim = self.require_open()
        lost_in = max(claim.deadline - self.clock.ticks(), _NO_TIME)
        await self._alarm.sleep(min(seconds, lost_in, _LONGEST_SLEEP))
        self.require_open()

    def _left(self, method: str, channel: ChannelId | None, *, account: bool = True) -> float:
        """The seconds until no pause applies to this call; with or without the *account*'s own pause."""
        scopes = [*([Scope()] if account else []), Scope(ScopeKind.METHOD, method)]
        if channel is not None:
            scopes.append(Scope(ScopeKind.CHAT, str(channel)))
        if self._buckets is not None:
            scopes.append(Scope(ScopeKind.BUCKET, self._buckets.bucket(method, channel)))
        metered = self._meters.refused_for(method, channel) if self._meters is not None else 0.0
        return max(self._pauses.left(scopes), metered)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Wraps every call, so that an orderly close can wait for its end."""
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
        """Load what is stored, before the first call: pauses the platform asked for, and the account's pace."""
        claim = self.require_open()
        async with self.database.transaction() as connection:
            await accounts.fence(connection, claim)
            await pace.set_pace(connection, self.account.id, self.sends.allowance)
            stored = await waits.load(connection, self.account.id)
        for scope, left in stored.items():
            self._pauses.pause(scope, left)

    def pause(self) -> None:
        """Let the calls in flight end and hold all others, as the operator requested."""
        self._paused = True

    def resume(self) -> None:
        """Make calls again after ``pause``."""
        self._paused = False
        self._alarm.ring()

    @property
    def paused_until(self) -> datetime | None:
        """Until when the whole account is rate limited by the platform."""
        left = self._pauses.account
        return self.clock.now() + timedelta(seconds=left) if left > 0 else None

    async def drain(self, span: timedelta) -> None:
        """Start no further call, and wait at most *span* for those in flight."""
        self._shut()
        if self.in_flight:
            over = asyncio.ensure_future(self.clock.sleep(span))
            idle = asyncio.ensure_future(self._idle.wait())
            await asyncio.wait((over, idle), return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
            idle.cancel()

    async def close(self) -> None:
        """Start no further call and disconnect; calls that still wait get ``NotOurs`` at once."""
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

    async def heed_wait(self, asked: AskedToWait, method: str, channel: ChannelId | None) -> None:
        """Pause the scope that the platform named, here at once and stored for the next worker."""
        scope = self._ours(asked.scope, method, channel)
        self._pauses.pause(scope, asked.pause)
        count_wait(self.account.platform, scope.kind)

        async def keep(connection: Connection, claim: Claim) -> None:
            await waits.remember(connection, claim, scope, asked.pause)
            if scope.kind is ScopeKind.ACCOUNT:
                await pace.warn(connection, claim, self.sends.allowance, asked.pause)

        await self._store(keep)

    async def rest(self, methods: Sequence[str], pause: timedelta, why: str) -> None:
        """Make no call of these methods for a while, here at once and stored for the next worker."""
        for method in methods:
            self._pauses.pause(Scope(ScopeKind.METHOD, method), pause)

        async def keep(connection: Connection, claim: Claim) -> None:
            for method in methods:
                await waits.remember(connection, claim, Scope(ScopeKind.METHOD, method), pause, why=why)

        await self._store(keep)

    async def heed_stop(self, stop: Stop) -> None:
        """Stop the lane until a person acts, and store the reason where the next worker reads it."""
        if self.stopped is not None:
            return
        self.stopped = stop
        self._alarm.ring()

        async def keep(connection: Connection, claim: Claim) -> None:
            await accounts.fence(connection, claim, to_change=True)
            await accounts.note_stop(connection, self.account.id, stop)

        await self._store(keep)

    def _ours(self, scope: Scope, method: str, channel: ChannelId | None) -> Scope:
        """The platform's scope as ours: a method becomes the verb that was called, a chat the channel it was for."""
        if scope.kind is ScopeKind.METHOD or (scope.kind is ScopeKind.BUCKET and self._buckets is None):
            return Scope(ScopeKind.METHOD, method)
        if scope.kind is ScopeKind.CHAT and not scope.key and channel is not None:
            return Scope(ScopeKind.CHAT, str(channel))
        return scope

    async def _store(self, change: Change) -> None:
        """Store a change now, or keep trying in the background when the database does not answer."""
        claim = self.claim()
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
                return await self._commit(change, self.claim())
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
