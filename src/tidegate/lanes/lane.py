"""A lane: one account's road to its platform, and the only door for calls (law 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from tidegate.clock import Clock
from tidegate.errors import AskedToWait, Banned, Refused, SignedOut
from tidegate.lanes.limits import CAREFUL, ReadLimits, SendLimits
from tidegate.lanes.reading import Reading
from tidegate.lanes.road import Road, Stop
from tidegate.lanes.sending import Claimed, Order, Sending
from tidegate.port import ChannelId, Client, Gates, Head, LooksLast, MessageId, Page, Reads, Receipt, SendKey, Sends
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim

A = TypeVar("A")


class Lane:
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
    ) -> None:
        self.account = account
        self.claim = claim
        self._clock = clock
        self._road = Road(account, client, claim=claim, database=database, ledger=ledger, clock=clock, sends=sends)
        if isinstance(client, LooksLast):
            client.last_look = self._road.require_open
        self._gates = client if isinstance(client, Gates) else None
        self._reads = client if isinstance(client, Reads) else None
        self._sends = client if isinstance(client, Sends) else None
        self._reading = Reading(self._road, reads)
        self._sending = Sending(self._road)

    # The verbs

    async def heads(self, channels: Sequence[ChannelId], *, cycle: int | None = None) -> Mapping[ChannelId, Head]:
        """For many channels at once: the newest message and the platform's counter of changes."""
        client = self._able(self._gates, "say for many channels at once whether anything changed")
        return await self._reading.read("heads", None, cycle, lambda: client.heads(channels))

    async def page(self, channel: ChannelId, *, before: MessageId | None, cycle: int | None = None) -> Page:
        """One page of a channel's history, newest first, below *before* when it is given."""
        client = self._able(self._reads, "page through a channel's history")
        return await self._reading.read("page", channel, cycle, lambda: client.page(channel, before=before))

    async def send(
        self,
        channel: ChannelId,
        text: str,
        *,
        key: SendKey,
        run: int | None = None,
        claimed: Claimed | None = None,
    ) -> Receipt:
        """Post a text as soon as the pace allows.

        *claimed* makes the caller's own change of state in the transaction that charges the pace. When it returns
        False the transaction is rolled back, nothing is charged and ``NotSent`` is raised.
        """
        client = self._able(self._sends, "post a text")
        order = Order("send", channel, run, claimed)
        try:
            return await self._sending.send(order, lambda: client.send(channel, text, key=key))
        except AskedToWait as asked:
            await self._road.heed_wait(asked, order.method, channel)
            raise
        except (SignedOut, Banned) as stop:
            await self._road.heed_stop(stop)
            raise

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

    async def drain(self, span: timedelta) -> None:
        """Let no further call begin, and those in flight end, for at most *span*."""
        await self._road.drain(span)

    async def close(self) -> None:
        """Let no further call begin and disconnect; whoever waits for a turn gets ``NotOurs`` at once."""
        await self._road.close()

    def _able(self, ability: A | None, what: str) -> A:
        if ability is None:
            raise Refused(f"A {self.account.platform.value.title()} account cannot {what}.")
        return ability
