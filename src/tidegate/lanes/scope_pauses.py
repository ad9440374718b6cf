"""Pauses of a lane: scopes the platform paused, and sleeps that a change ends early."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from tidegate.core.clock import Clock
from tidegate.core.platform_call import Scope, ScopeKind


class ScopePauses:
    """Which scopes of one account are paused, on the monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[Scope, float] = {}

    def __bool__(self) -> bool:
        return bool(self._until)

    def pause(self, scope: Scope, span: timedelta) -> None:
        """Pause *scope* for *span* from now; a shorter pause never shortens a longer one."""
        until = self._clock.ticks() + span.total_seconds()
        self._until[scope] = max(until, self._until.get(scope, until))

    def left(self, scopes: Iterable[Scope]) -> float:
        """The seconds until none of *scopes* is paused; 0 when a call may be made."""
        now = self._clock.ticks()
        self._until = {scope: until for scope, until in self._until.items() if until > now}
        return max((self._until[scope] - now for scope in scopes if scope in self._until), default=0.0)

    @property
    def account(self) -> float:
        """The seconds for which the whole account is paused."""
        return self.left((Scope(ScopeKind.ACCOUNT),))


class InterruptibleSleep:
    """Sleeps on the clock that can be ended early."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sleeps: set[asyncio.Future[None]] = set()

    async def sleep(self, seconds: float) -> None:
        """Sleep that long, or until ``ring``."""
        sleep = asyncio.ensure_future(self._clock.sleep(timedelta(seconds=seconds)))
        self._sleeps.add(sleep)
        try:
            await asyncio.wait((sleep,))
        finally:
            self._sleeps.discard(sleep)
            sleep.cancel()

    def ring(self) -> None:
        """Wake all sleeping tasks, so that they check again what they wait for."""
        for sleep in self._sleeps:
            sleep.cancel()
