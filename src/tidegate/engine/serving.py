"""One account being served: connected, worked for, and let go in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.engine.pulse import Pulse
from tidegate.errors import BadInput, Banned, Halted, NotOurs, PlatformError, SignedOut, TidegateError
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.port import Client, KnowsItself, Opener, Vault
from tidegate.store import accounts
from tidegate.store.accounts import Served
from tidegate.store.calls import Ledger
from tidegate.store.database import TROUBLE, Database
from tidegate.words import Account, AccountId, AccountState, Claim, Platform

log = structlog.get_logger()

Work = Callable[[Lane], Awaitable[None]]
"""What is done for an account while it is served; ends when there is nothing to do until the next change."""

FIRST_RETRY = timedelta(seconds=1)
LAST_RETRY = timedelta(minutes=5)
OPEN_AT_ONCE = 20
"""How many accounts a worker connects at a time: a thousand at once would starve each other, and alarm a platform."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast an account may read and send."""

    reads: ReadLimits
    sends: SendLimits


@dataclass(frozen=True, slots=True)
class Means:
    """What serving an account takes, the same for all accounts of a worker."""

    database: Database
    clock: Clock
    ledger: Ledger
    openers: Mapping[Platform, Opener]
    vault: Callable[[AccountId], Vault]
    limits: Callable[[Account], Limits]
    work: Work
    opening: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OPEN_AT_ONCE))


class Serving:
    """Serves one account in one epoch, from the moment it is taken until ``stop``."""

    def __init__(self, served: Served, means: Means, pulse: Pulse) -> None:
        self.account = served.account
        self.epoch = served.epoch
        self.lane: Lane | None = None
        self._means = means
        self._pulse = pulse
        self._changed = asyncio.Event()
        self._connected = asyncio.Event()
        self._ours = True
        self.task = asyncio.create_task(self._serve(), name=f"serving {served.account.name}")

    def claim(self) -> Claim:
        """What may be done right now; the deadline moves with every beat."""
        return Claim(self.account.id, self.epoch, self._pulse.calls_until if self._ours else float("-inf"))

    async def connected(self) -> Lane:
        """The lane, once there is one."""
        while self.lane is None:
            await self._connected.wait()
        return self.lane

    async def look_again(self) -> None:
        """Take up what a person changed: pause, resume, or a sign-in made good."""
        async with self._means.database.connection() as connection:
            self.account = (await accounts.find(connection, self.account.name)).account
        if self.lane is not None and self.lane.stopped is None:
            (self.lane.resume if self.account.state is AccountState.ACTIVE else self.lane.pause)()
        self._changed.set()

    async def stop(self, *, within: timedelta) -> None:
        """Make no further call, let those in flight end for a moment, and disconnect; a hanging one is left behind."""
        if self.lane is not None:
            await self.lane.drain(within)
        self.cut()
        _, hanging = await asyncio.wait([self.task], timeout=within.total_seconds())
        if hanging:
            log.warning("account.hangs", account=self.account.name, doing="disconnecting")

    def cut(self) -> None:
        """Make no further call from this moment on, and begin to disconnect, calls in flight or not."""
        self._ours = False
        self.task.cancel()

    async def _serve(self) -> None:
        wait = FIRST_RETRY
        while True:
            begun = self._means.clock.ticks()
            try:
                await self._until_active()
                await self._pulse.steady()
                await self._until_a_person_is_needed()
            except NotOurs:  # a beat is missing, or somebody else has the account and the worker will stop us
                await self._means.clock.sleep(self._pulse.every)
            except Exception as problem:  # noqa: BLE001 - told and tried again: one account's trouble stops no other
                if self._means.clock.ticks() - begun > LAST_RETRY.total_seconds():
                    wait = FIRST_RETRY  # it went well for long
                tell = log.warning if isinstance(problem, (TidegateError, *TROUBLE)) else log.exception
                tell("account.trouble", account=self.account.name, problem=str(problem), next_try_in=str(wait))
                await self._means.clock.sleep(wait)
                wait = min(wait * 2, LAST_RETRY)

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
            async with self._means.opening:
                client = await self._open()
                stack.push_async_callback(client.close)
                await self._recognise(client)
                lane = await self._lane(client)
            self.lane = lane
            self._connected.set()
            stack.callback(self._forget_lane)
            while True:
                await self._pulse.steady()
                try:
                    self._changed.clear()
                    await self._means.work(lane)
                    await self._changed.wait()
                except NotOurs:  # calls stopped for want of a beat: stay connected, go on when it comes
                    log.info("account.waits_for_beat", account=self.account.name)
                    await self._means.clock.sleep(self._pulse.every)

    async def _recognise(self, client: Client) -> None:
        """Keep who the account is where nobody knew; a person settles it when that is another account already."""
        if not isinstance(client, KnowsItself) or client.signed_in_as.id == self.account.identity:
            return
        me = client.signed_in_as
        try:
            async with self._means.database.transaction() as connection:
                await accounts.fence(connection, self.claim(), to_change=True)
                await accounts.require_same(connection, self.account, me.id, me.name)
                await accounts.note_identity(connection, self.account.id, me.id)
        except BadInput as problem:
            raise Halted(
                f"{problem} This account keeps still until that is settled; remove one that is too many with: "
                "tidegate account remove"
            ) from problem
        self.account = replace(self.account, identity=me.id)

    async def _lane(self, client: Client) -> Lane:
        limits = self._means.limits(self.account)
        lane = Lane(
            self.account,
            client,
            claim=self.claim,
            database=self._means.database,
            ledger=self._means.ledger,
            clock=self._means.clock,
            reads=limits.reads,
            sends=limits.sends,
        )
        await lane.load()
        return lane

    def _forget_lane(self) -> None:
        self._connected.clear()
        self.lane = None

    async def _open(self) -> Client:
        opener = self._means.openers.get(self.account.platform)
        if opener is None:
            raise PlatformError(f"This Tidegate has no adapter for {self.account.platform.value}.")
        account = self.account.id
        return await opener(self.account, self._means.vault(account), self._means.ledger.connecting(account))

    async def _note_next_action(self, problem: SignedOut | Banned) -> None:
        """Store what the platform said, unless the lane already did; the account keeps still until somebody acts."""
        async with self._means.database.transaction() as connection:
            await accounts.fence(connection, self.claim(), to_change=True)
            await accounts.note_stop(connection, self.account.id, problem)
        state = problem.leaves.value
        log.warning("account.needs_a_person", account=self.account.name, state=state, problem=str(problem))
        async with self._means.database.connection() as connection:
            self.account = (await accounts.find(connection, self.account.name)).account
