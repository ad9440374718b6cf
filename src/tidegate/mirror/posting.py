"""One message of a manifest posted once, whatever happens on the way (law 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import AskedToWait, ChannelGone, NotSent, OutcomeUnknown, Refused
from tidegate.lanes import Claimed, Lane
from tidegate.port import MessageId, Receipt
from tidegate.rules.filing import DeliveryState
from tidegate.store import accounts, deliveries
from tidegate.store.database import Connection, Database
from tidegate.store.deliveries import Delivery
from tidegate.store.filing import Destination

log = structlog.get_logger()

PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0.5, 1, 2, 4, 8))
"""How long to wait after the first, second … send in a row that got no definite answer; then it is a failure."""

PAGES = 5
"""How far back a message is looked for whose number the platform did not tell."""

Send = Callable[[Claimed], Awaitable[Receipt]]
"""Makes the send; the argument is the claim's part of it."""


@dataclass(frozen=True, slots=True)
class Poster:
    """Posts messages of manifests into one destination."""

    lane: Lane
    database: Database
    clock: Clock
    destination: Destination
    cycle: int | None

    async def post(self, delivery: Delivery, send: Send) -> None:
        """Post one message and keep its number; it is there afterwards, or what is raised says why it is not.

        A send whose outcome nobody knows is repeated under its key, by which the platform knows it (S-51). That holds
        for one account: what another had in hand is looked for in the destination first.
        """
        doubtful = delivery.state is DeliveryState.SENDING
        if doubtful and delivery.account != self.lane.account.id:
            message = await self._look_up(delivery)
            if message is not None:
                return await self._keep(delivery, message)

        async def claimed(connection: Connection) -> bool:
            return await deliveries.begin_sending(connection, delivery.id, self.lane.account.id)

        receipt = await self._insist(delivery, lambda: send(claimed), doubtful=doubtful)
        await self._keep(delivery, receipt.message or await self._look_up(delivery))
        return None

    async def _keep(self, delivery: Delivery, message: MessageId | None) -> None:
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await deliveries.mark_sent(connection, delivery.id, message)

    async def _insist(self, delivery: Delivery, send: Callable[[], Awaitable[Receipt]], *, doubtful: bool) -> Receipt:
        """Send until there is a definite answer; being told to wait is no failure, and the lane does the waiting.

        It goes back to ``pending`` only when the platform definitely has not taken it: a refusal says nothing of an
        earlier send that is *doubtful*, which is therefore looked for.
        """
        pauses = iter(PAUSES)
        while True:
            try:
                return await send()
            except AskedToWait:
                await self._take_back(delivery, doubtful=doubtful)
            except (Refused, ChannelGone):
                message = await self._look_up(delivery) if doubtful else None
                if message is not None:
                    return Receipt(message, None)
                await self._take_back(delivery, doubtful=False)
                raise
            except (NotSent, OutcomeUnknown) as problem:
                doubtful = doubtful or isinstance(problem, OutcomeUnknown)
                await self._take_back(delivery, doubtful=doubtful)
                pause = next(pauses, None)
                if pause is None:
                    raise
                await self.clock.sleep(pause)

    async def _take_back(self, delivery: Delivery, *, doubtful: bool) -> None:
        if doubtful:
            return
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await deliveries.move(connection, delivery.id, DeliveryState.PENDING)

    async def _look_up(self, delivery: Delivery) -> MessageId | None:
        """The number of a message that is there and whose number nobody told: the newest of its name and size that is
        not known as another's."""
        before: MessageId | None = None
        for _ in range(PAGES):
            page = await self.lane.page(self.destination.channel, before=before, cycle=self.cycle)
            wanted = (delivery.name, delivery.size)
            same = [one.id for one in page.messages if wanted in ((file.name, file.size) for file in one.files)]
            async with self.database.connection() as connection:
                others = await deliveries.already_known(connection, self.destination.key, same)
            if mine := [number for number in same if number not in others]:
                return max(mine)
            if page.reached_start or not page.messages:
                break
            before = min(one.id for one in page.messages)
        log.warning("delivery.number_unknown", destination=self.destination.title, name=delivery.name)
        return None
