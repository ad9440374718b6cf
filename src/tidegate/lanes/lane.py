"""A lane: one account's road to its platform, and the only door for calls (law 1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from tidegate.clock import Clock
from tidegate.lanes.limits import CAREFUL, TRANSFERS, ReadLimits, SendLimits
from tidegate.lanes.media_verbs import MediaVerbs
from tidegate.lanes.road import Road, Stop
from tidegate.port import Client, LooksLast
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim


class Lane(MediaVerbs):
    """The platform's verbs for one account, in turn and paced, paused when asked to wait, each call on the ledger.

    A read is repeated here while that can help. A send is made once: what is raised says whether it was handed over.
    ``NotOurs`` means that this worker may not call now; the lane can be used again when the claim is renewed.
    ``claim()`` is what the store asks for when something learned through this lane is written.
    """

    def __init__(
        self,
        account: Account,
        client: Client,
        *,
        claim: Callable[[], Claim],
        database: Database,
        ledger: Ledger,
        clock: Clock,
        reads: ReadLimits,
        sends: SendLimits = CAREFUL,
        transfers: ReadLimits = TRANSFERS,
    ) -> None:
        self.account = account
        self.claim = claim
        self._clock = clock
        road = Road(account, client, claim=claim, database=database, ledger=ledger, clock=clock, sends=sends)
        if isinstance(client, LooksLast):
            client.last_look = road.require_open
        super().__init__(road, reads, transfers)

    # Its state

    @property
    def stopped(self) -> Stop | None:
        """Why the lane stopped for a person to act; None while it may work."""
        return self._road.stopped

    @property
    def calls_in_flight(self) -> int:
        return self._road.in_flight

    @property
    def paused_until(self) -> datetime | None:
        """Until when the platform asked the whole account to wait."""
        left = self._road.account_waits_for
        return self._clock.now() + left if left > timedelta() else None

    async def load(self) -> None:
        """Take over what is stored, before the first call: waits the platform asked for, and the account's pace."""
        await self._road.load()

    def pause(self) -> None:
        """Let the calls in flight end and every further one wait, as a person asked."""
        self._road.pause()

    def resume(self) -> None:
        """Go on after ``pause``."""
        self._road.resume()

    async def write_ledger(self) -> None:
        """Write down every call made so far, for whoever sums them up."""
        await self._road.ledger.flush()

    async def drain(self, span: timedelta) -> None:
        """Let no further call begin, and those in flight end, for at most *span*."""
        await self._road.drain(span)

    async def close(self) -> None:
        """Let no further call begin and disconnect; whoever waits for a turn gets ``NotOurs`` at once."""
        await self._road.close()
