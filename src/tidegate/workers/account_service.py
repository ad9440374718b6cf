"""Serves one account: connects it, runs its work, and releases it in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog
from prometheus_client import Gauge

from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.accounts import ServedAccount
from tidegate.core.account import Account, AccountState, Claim
from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, Banned, Halted, NotOurs, PlatformError, SignedOut, TidegateError
from tidegate.core.ids import AccountId
from tidegate.core.platform import Platform
from tidegate.core.task_groups import beside
from tidegate.database.pool import TROUBLE, Connection, Database
from tidegate.lanes import CallGate, Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.platforms.interface import KnowsItself, Opener, PlatformClient, ReportsConnection, Vault
from tidegate.platforms.interface.capabilities import ability_of
from tidegate.workers.liveness_lock import LivenessLock

log = structlog.get_logger()

Work = Callable[[Lane], Awaitable[None]]
"""The work for an account while it is served; ends when there is nothing to do until the next change."""

FIRST_RETRY = timedelta(seconds=1)
LAST_RETRY = timedelta(minutes=5)
OPEN_AT_ONCE = 20
"""How many accounts a worker connects at a time: a thousand at once would be slow and look like an attack."""


HUNG_UP_WITHIN = timedelta(seconds=5)
"""How long calls in flight may take before an account is disconnected to connect again."""

LOSS_STORED_AFTER = timedelta(seconds=30)
"""A connection that is back within this time is not reported as lost."""

_UNREACHABLE = Gauge("tidegate_account_unreachable", "1 while an account cannot be reached.", ["account"])


@dataclass(frozen=True, slots=True)
class AccountLimits:
    """How fast an account may read and send."""

    reads: ReadLimits
    sends: SendLimits


@dataclass(frozen=True, slots=True)
class ServingDeps:
    """The dependencies for serving an account, the same for all accounts of a worker."""

    database: Database
    clock: Clock
    call_log: CallLog
    openers: Mapping[Platform, Opener]  # how to connect an account of each platform
    vault: Callable[[AccountId], Vault]  # the sign-in of an account
    limits: Callable[[Account], AccountLimits]
    work: Work  # what to do with a connected account
    connect_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OPEN_AT_ONCE))


class AccountService:
    """Serves one account in one epoch, from the moment it is taken until ``stop``."""

    def __init__(self, served: ServedAccount, deps: ServingDeps, pulse: LivenessLock) -> None:
        self.account = served.account
        self.epoch = served.epoch
        self.lane: Lane | None = None
        self._deps = deps
        self._pulse = pulse
        self._changed = asyncio.Event()
        self._connected = asyncio.Event()
        self._ours = True
        self.task = asyncio.create_task(self._serve(), name=f"serving {served.account.name}")

    def claim(self) -> Claim:
        """The claim that permits calls now; its deadline moves with every heartbeat."""
        return Claim(self.account.id, self.epoch, self._pulse.calls_until if self._ours else float("-inf"))

    async def connected(self) -> Lane:
        """The lane, once there is one."""
        while self.lane is None:
            await self._connected.wait()
        return self.lane

    async def look_again(self) -> None:
        """Apply a change by the operator: a pause, a resume, another name, or a new sign-in."""
        async with self._deps.database.connection() as connection:
            found = await accounts.get(connection, self.account.id)
        if found is None:
            return
        self.account = found
        if self.lane is not None:
            gate = self.lane.gate
            gate.account = self.lane.account = found
            gate.sends = self._deps.limits(self.account).sends
            if gate.stopped is None:
                (gate.resume if self.account.state is AccountState.ACTIVE else gate.pause)()
        self._changed.set()

    async def reconnect(self) -> None:
        """Disconnect and connect again, as after a change of the account's proxy; calls in flight end first."""
        await self.look_again()
        if self.lane is not None:
            await self.lane.gate.drain(HUNG_UP_WITHIN)
        self.task.cancel()
        await asyncio.wait([self.task])
        self.task = asyncio.create_task(self._serve(), name=f"serving {self.account.name}")

    async def stop(self, *, within: timedelta) -> None:
        """Make no further call, give those in flight a moment to end, and disconnect; a hanging call is abandoned."""
        if self.lane is not None:
            await self.lane.gate.drain(within)
        self.cut()
        _, hanging = await asyncio.wait([self.task], timeout=within.total_seconds())
        if hanging:
            log.warning("account.hangs", account=self.account.name, doing="disconnecting")

    def cut(self) -> None:
        """Make no further call from now on, and start to disconnect, whether or not calls are in flight."""
        self._ours = False
        self.task.cancel()

    async def _serve(self) -> None:
        wait = FIRST_RETRY
        while True:
            begun = self._deps.clock.ticks()
            try:
                await self._until_active()
                await self._pulse.steady()
                await self._until_a_person_is_needed()
            except NotOurs:  # a heartbeat is missing, or another worker has taken the account
                await self._deps.clock.sleep(self._pulse.every)
            except Exception as problem:  # noqa: BLE001 - logged and retried: one account must not stop another
                if self._deps.clock.ticks() - begun > LAST_RETRY.total_seconds():
                    wait = FIRST_RETRY  # it worked for a long time
                tell = log.warning if isinstance(problem, (TidegateError, *TROUBLE)) else log.exception
                tell("account.trouble", account=self.account.name, problem=str(problem), next_try_in=str(wait))
                await self._note_trouble(_sentence(problem))
                await self._deps.clock.sleep(wait)
                wait = min(wait * 2, LAST_RETRY)

    async def _note_trouble(self, why: str) -> None:
        """Store that the account cannot be reached; the account row must say so, not the log alone."""
        _UNREACHABLE.labels(self.account.name).set(1)
        await self._store(lambda connection: accounts.note_unreachable(connection, self.account.id, self.epoch, why))

    async def _note_connected(self) -> None:
        _UNREACHABLE.labels(self.account.name).set(0)
        await self._store(lambda connection: accounts.note_reachable(connection, self.account.id, self.epoch))

    async def _store(self, change: Callable[[Connection], Awaitable[None]]) -> None:
        try:
            async with self._deps.database.transaction() as connection:
                await change(connection)
        except TROUBLE as problem:  # the next change is stored; until then only the log has it
            log.warning("account.state_not_stored", account=self.account.name, problem=str(problem))

    async def _watch_connection(self, client: ReportsConnection) -> None:
        """Store changes of the connection while the account is served; a short loss is not stored."""
        changed = asyncio.Event()
        trouble: str | None = None

        def note(problem: str | None) -> None:
            nonlocal trouble
            trouble = problem
            changed.set()

        client.connection_changed = note
        while True:
            await changed.wait()
            changed.clear()
            if trouble is not None:
                await self._deps.clock.sleep(LOSS_STORED_AFTER)
            await (self._note_connected() if trouble is None else self._note_trouble(trouble))

    async def _until_active(self) -> None:
        while self.account.state is not AccountState.ACTIVE:
            self._changed.clear()
            await self._changed.wait()

    async def _until_a_person_is_needed(self) -> None:
        try:
            await self._connect_and_work()
        except (SignedOut, Banned) as problem:
            await self._note_next_action(problem)

    async def _connect_and_work(self) -> None:
        async with AsyncExitStack() as stack:
            async with self._deps.connect_slots:
                client = await self._open()
                stack.push_async_callback(client.close)
                await self._recognise(client)
                lane = await self._lane(client)
            self.lane = lane
            self._connected.set()
            stack.callback(self._forget_lane)
            await self._note_connected()
            if (reporting := ability_of(client, ReportsConnection)) is not None:
                await stack.enter_async_context(beside(self._watch_connection(reporting)))
            while True:
                await self._pulse.steady()
                try:
                    self._changed.clear()
                    await self._deps.work(lane)
                    await self._changed.wait()
                except NotOurs:  # no heartbeat, so calls stopped: stay connected, and continue when it is back
                    log.info("account.waits_for_beat", account=self.account.name)
                    await self._deps.clock.sleep(self._pulse.every)

    async def _recognise(self, client: PlatformClient) -> None:
        """Store who the account is when that was unknown; if it is a different account, the operator decides."""
        known = ability_of(client, KnowsItself)
        if known is None or known.signed_in_as.id == self.account.identity:
            return
        me = known.signed_in_as
        try:
            async with self._deps.database.transaction() as connection:
                await accounts.fence(connection, self.claim(), to_change=True)
                await accounts.require_same(connection, self.account, me.id, me.name)
                await accounts.note_identity(connection, self.account.id, me.id)
        except BadInput as problem:
            raise Halted(
                f"{problem} This account keeps still until that is settled; remove one that is too many with: "
                "tidegate account remove"
            ) from problem
        self.account = replace(self.account, identity=me.id)

    async def _lane(self, client: PlatformClient) -> Lane:
        limits = self._deps.limits(self.account)
        gate = CallGate(
            self.account,
            client,
            claim=self.claim,
            database=self._deps.database,
            call_log=self._deps.call_log,
            clock=self._deps.clock,
            sends=limits.sends,
        )
        await gate.load()
        return Lane(gate, reads=limits.reads)

    def _forget_lane(self) -> None:
        self._connected.clear()
        self.lane = None

    async def _open(self) -> PlatformClient:
        opener = self._deps.openers.get(self.account.platform)
        if opener is None:
            raise PlatformError(f"This Tidegate has no adapter for {self.account.platform.name}.")
        account = self.account.id
        return await opener(self.account, self._deps.vault(account), self._deps.call_log.connecting(account))

    async def _note_next_action(self, problem: SignedOut | Banned) -> None:
        """Store what the platform said, unless the lane already did; the account makes no calls until a person acts."""
        async with self._deps.database.transaction() as connection:
            await accounts.fence(connection, self.claim(), to_change=True)
            await accounts.note_stop(connection, self.account.id, problem)
        state = problem.leaves.value
        log.warning("account.needs_a_person", account=self.account.name, state=state, problem=str(problem))
        async with self._deps.database.connection() as connection:
            self.account = await accounts.get(connection, self.account.id) or self.account


def _sentence(problem: Exception) -> str:
    """The sentence for the operator; a fault in Tidegate itself is named, and its traceback is in the log."""
    if isinstance(problem, (TidegateError, *TROUBLE)) and str(problem):
        return str(problem)
    return f"Serving the account failed unexpectedly ({type(problem).__name__}); the log of its worker says where."
