"""One account being served: connected, worked for, and let go in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.engine.pulse import LOST, Pulse
from tidegate.errors import Banned, NotOurs, PlatformError, SignedOut, TidegateError
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.port import Client, Opener, Vault
from tidegate.store import accounts
from tidegate.store.accounts import Served
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, AccountId, AccountState, CallKind, Claim, Outcome, Platform

log = structlog.get_logger()

Work = Callable[[Lane], Awaitable[None]]
"""What is done for an account while it is served; ends when there is nothing to do until the next change."""

FIRST_RETRY = timedelta(seconds=1)
LAST_RETRY = timedelta(minutes=5)
LET_FINISH = timedelta(seconds=5)
"""How long calls in flight may take to end when an account is given up in order."""


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


class Serving:
    """Serves one account in one epoch, from the moment it is taken until ``stop``."""

    def __init__(self, served: Served, means: Means, pulse: Pulse) -> None:
        self.account = served.account
        self.epoch = served.epoch
        self.lane: Lane | None = None
        self._means = means
        self._pulse = pulse
        self._changed = asyncio.Event()
        self._ours = True
        self.task = asyncio.create_task(self._serve(), name=f"serving {served.account.name}")

    def claim(self) -> Claim:
        """What may be done right now; the deadline moves with every beat."""
        return Claim(self.account.id, self.epoch, self._pulse.calls_until if self._ours else float("-inf"))

    async def look_again(self) -> None:
        """Take up what a person changed: pause, resume, or a sign-in made good."""
        async with self._means.database.connection() as connection:
            self.account = (await accounts.find(connection, self.account.name)).account
        if self.lane is not None and self.lane.stopped is None:
            (self.lane.resume if self.account.state is AccountState.ACTIVE else self.lane.pause)()
        self._changed.set()

    async def stop(self) -> None:
        """Make no further call, let those in flight end for a moment, and disconnect."""
        if self.lane is not None:
            await self.lane.drain(LET_FINISH)
        self.cut()
        await asyncio.wait([self.task])

    def cut(self) -> None:
        """Make no further call from this moment on, and begin to disconnect, calls in flight or not."""
        self._ours = False
        self.task.cancel()

    async def _serve(self) -> None:
        wait = FIRST_RETRY
        while True:
            if self.account.state is not AccountState.ACTIVE:
                self._changed.clear()
                await self._changed.wait()
                continue
            try:
                await self._pulse.steady()
                await self._connect_and_work()
                wait = FIRST_RETRY
            except NotOurs:
                continue  # steady() waits for the next beat; if somebody else has the account, the worker stops us
            except (SignedOut, Banned) as problem:
                await self._wait_for_a_person(problem)
            except Exception as problem:  # noqa: BLE001 - told, counted, and tried again: one account's trouble stops no other
                tell = log.warning if isinstance(problem, (TidegateError, *LOST)) else log.exception
                tell("account.trouble", account=self.account.name, problem=str(problem), next_try_in=str(wait))
                await self._means.clock.sleep(wait)
                wait = min(wait * 2, LAST_RETRY)

    async def _connect_and_work(self) -> None:
        client = await self._open()
        limits = self._means.limits(self.account)
        self.lane = Lane(
            self.account,
            client,
            claim=self.claim,
            database=self._means.database,
            ledger=self._means.ledger,
            clock=self._means.clock,
            reads=limits.reads,
            sends=limits.sends,
        )
        try:
            await self.lane.load()
            while True:
                await self._pulse.steady()
                try:
                    self._changed.clear()
                    await self._means.work(self.lane)
                    await self._changed.wait()
                except NotOurs:  # calls stopped for want of a beat: stay connected, go on when it comes
                    log.info("account.waits_for_beat", account=self.account.name)
        finally:
            self.lane = None
            await client.close()

    async def _open(self) -> Client:
        opener = self._means.openers.get(self.account.platform)
        if opener is None:
            raise PlatformError(f"This Tidegate has no adapter for {self.account.platform.value}.")
        return await opener(self.account, self._means.vault(self.account.id), self._note_connect)

    def _note_connect(self, method: str) -> None:
        self._means.ledger.note(self.account.id, CallKind.CONNECT, method, Outcome.OK)

    async def _wait_for_a_person(self, problem: SignedOut | Banned) -> None:
        """Store what the platform said, unless the lane already did, and keep still until somebody acts."""
        state = AccountState.SIGNED_OUT if isinstance(problem, SignedOut) else AccountState.BANNED
        until = problem.until if isinstance(problem, Banned) else None
        async with self._means.database.transaction() as connection:
            await accounts.fence(connection, self.claim())
            await accounts.change_state(
                connection, self.account.id, state, expected=[AccountState.ACTIVE, AccountState.PAUSED], until=until
            )
        log.warning("account.needs_a_person", account=self.account.name, state=state.value, problem=str(problem))
        async with self._means.database.connection() as connection:
            self.account = (await accounts.find(connection, self.account.name)).account
