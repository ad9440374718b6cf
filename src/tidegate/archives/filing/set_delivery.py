"""A set's manifest posted in its destination: message by message, in order, by copy or by upload, each once.

Invariant: claim-before-send.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.failures import failing_as
from tidegate.archives.filing.archive_part_fetch import ArchivePartFetch
from tidegate.archives.filing.archive_upload import FileUpload
from tidegate.archives.filing.filing_context import FilingContext
from tidegate.archives.handle_renewal import RENEWALS
from tidegate.archives.queries import deliveries
from tidegate.archives.queries.deliveries import Delivery
from tidegate.archives.queries.filing_queue import Destination, SetToFile
from tidegate.archives.queries.indexing_queue import TakenArchivePart
from tidegate.archives.rules.delivery_plan import (
    DeliveryState,
    DeliveryWay,
)
from tidegate.archives.rules.retry import FailureReason
from tidegate.core.errors import AskedToWait, ChannelGone, NotSent, OutcomeUnknown, PlatformError, Refused
from tidegate.core.ids import MessageId
from tidegate.core.task_groups import first_of
from tidegate.lanes import Claimed
from tidegate.platforms.interface import FileHandle, HandleExpired, MayNotPost, Receipt, UploadLost

log = structlog.get_logger()

BEGINNINGS = 3
"""How often a file is uploaded from its beginning in one try, because the platform lost its parts."""

PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0.5, 1, 2, 4, 8))
"""How long to wait after the first, second … send in a row that got no definite answer; then it is a failure."""

PAGES = 5
"""Maximum number of pages searched for a message whose number the platform did not return."""


class Send(Protocol):
    """Sends one message; *claimed* claims the delivery in the transaction just before."""

    async def __call__(self, *, claimed: Claimed) -> Receipt: ...


class CopyRefused(Exception):
    """The platform does not let this file be copied; it may still be read and uploaded."""


@dataclass(frozen=True, slots=True)
class SetDelivery:
    """One set on its way into one destination."""

    context: FilingContext
    one: SetToFile
    destination: Destination
    fetching: ArchivePartFetch

    async def deliver(self) -> None:
        """Post what is not posted yet. A part on the disk is deleted when its last message is posted."""
        parts = {part.source: part for part in self.one.taken.parts}
        async with self.context.database.connection() as connection:
            manifest = await deliveries.of_archive(connection, self.one.taken.archive, self.destination.key)
        left = [one for one in manifest if one.state is not DeliveryState.SENT and one.source in parts]
        for number, delivery in enumerate(left):
            part = parts[delivery.source]
            reason = FailureReason.COPY if delivery.way is DeliveryWay.COPY else FailureReason.UPLOAD
            with failing_as(reason, into=True):
                await (self._copy if delivery.way is DeliveryWay.COPY else self._upload)(delivery, part)
            if all(later.source != delivery.source for later in left[number + 1 :]):
                await self.fetching.drop()

    async def _copy(self, delivery: Delivery, part: TakenArchivePart) -> None:
        """Have the platform copy a file: one send, and no byte is moved (S-49)."""
        expired: FileHandle | None = None
        for _ in range(RENEWALS + 1):
            with failing_as(FailureReason.COPY):
                handle = await self.fetching.sources[part.source].handle(expired=expired)
            try:
                copy = partial(self.context.lane.copy_file, self.destination.channel, handle, key=delivery.key)
                return await self._post(delivery, copy)
            except HandleExpired:
                expired = handle
            except MayNotPost:
                raise
            except Refused as refused:
                raise CopyRefused from refused
        raise CopyRefused

    async def _upload(self, delivery: Delivery, part: TakenArchivePart) -> None:
        """Upload a file and post it; parts the platform has lost are uploaded once more, under a new number."""
        context, progress = self.context, self.fetching.progress
        transfer = FileUpload(context, delivery, on_moved=progress.add)
        for beginning in range(BEGINNINGS):
            upload = await transfer.begin(anew=beginning > 0)
            if transfer.missing:
                here = await self.fetching.fetch(part)
                progress.begin("uploading", delivery.name, size=delivery.size, done=transfer.done)
                await first_of(transfer.save(here.read), self.fetching.until_unwanted())
            try:
                send = partial(context.lane.send_file, self.destination.channel, upload, key=delivery.key)
                return await self._post(delivery, send)
            except UploadLost:
                log.info("upload.lost", name=delivery.name, next="uploaded anew")
        raise PlatformError("The platform loses the parts of this file as soon as they are uploaded.")

    async def _post(self, delivery: Delivery, send: Send) -> None:
        """Post one message and store its number; it is there afterwards, or the error raised says why it is not.

        A send with an unknown outcome is repeated under its key, by which the platform knows it (S-51). That holds for
        one account: a message that another account was sending is searched for in the destination first. A refusal
        says nothing about an earlier doubtful send either. A rate limit is no failure: the lane waits it out.
        """
        lane, doubtful = self.context.lane, delivery.state is DeliveryState.SENDING
        claimed = partial(deliveries.begin_sending, delivery=delivery.id, account=lane.account.id)
        message = await self._look_up(delivery) if doubtful and delivery.account != lane.account.id else None
        pauses = iter(PAUSES)
        while message is None:
            try:
                receipt = await send(claimed=claimed)
            except AskedToWait:
                await self._take_back(delivery, doubtful=doubtful)
            except (Refused, ChannelGone):
                message = await self._look_up(delivery) if doubtful else None
                if message is None:
                    await self._take_back(delivery, doubtful=False)
                    raise
            except (NotSent, OutcomeUnknown) as problem:
                doubtful = doubtful or isinstance(problem, OutcomeUnknown)
                await self._take_back(delivery, doubtful=doubtful)
                pause = next(pauses, None)
                if pause is None:
                    raise
                await self.context.clock.sleep(pause)
            else:
                message = receipt.message or await self._look_up(delivery)
                break
        async with owned_transaction(self.context.database, lane.claim()) as connection:
            await deliveries.mark_sent(connection, delivery.id, message)

    async def _take_back(self, delivery: Delivery, *, doubtful: bool) -> None:
        """The message is ``pending`` again, unless the platform may have accepted it."""
        if doubtful:
            return
        async with owned_transaction(self.context.database, self.context.lane.claim()) as connection:
            await deliveries.take_back(connection, delivery.id)

    async def _look_up(self, delivery: Delivery) -> MessageId | None:
        """The number of a posted message that the platform did not return.

        It is the newest message of its name and size that does not belong to another delivery.
        """
        before: MessageId | None = None
        for _ in range(PAGES):
            page = await self.context.lane.page(self.destination.channel, before=before, cycle=self.context.cycle)
            wanted = (delivery.name, delivery.size)
            same = [one.id for one in page.messages if wanted in ((file.name, file.size) for file in one.files)]
            async with self.context.database.connection() as connection:
                others = await deliveries.already_known(connection, self.destination.key, same)
            if mine := [number for number in same if number not in others]:
                return max(mine)
            if page.reached_start or not page.messages:
                break
            before = min(one.id for one in page.messages)
        log.warning("delivery.number_unknown", destination=self.destination.title, name=delivery.name)
        return None
