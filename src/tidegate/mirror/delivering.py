"""A frozen manifest posted message by message, in order, by copy or by upload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import structlog

from tidegate.errors import PlatformError, Refused
from tidegate.lanes import Claimed
from tidegate.mirror.downloading import RENEWALS
from tidegate.mirror.failing import failing_as
from tidegate.mirror.fetching import Fetching, Tools, source_of
from tidegate.mirror.posting import Poster
from tidegate.mirror.uploading import Handover
from tidegate.port import FileHandle, HandleExpired, MayNotPost, Receipt, Upload, UploadLost
from tidegate.rules.filing import DeliveryState, Way
from tidegate.rules.retrying import FailureReason
from tidegate.store import deliveries
from tidegate.store.contents import TakenPart
from tidegate.store.deliveries import Delivery
from tidegate.store.filing import Destination, ToFile

log = structlog.get_logger()

BEGINNINGS = 3
"""How often a file is uploaded from its beginning in one try, because the platform lost its parts."""


class CopyRefused(Exception):
    """The platform does not let this file be copied; it may still be read and uploaded."""


@dataclass(frozen=True, slots=True)
class Delivering:
    """One set on its way into one destination."""

    tools: Tools
    one: ToFile
    destination: Destination
    fetching: Fetching

    async def deliver(self) -> None:
        """Post what is not posted yet. A part that is on our disk goes when its last message is there."""
        parts = {source_of(part): part for part in self.one.taken.parts}
        async with self.tools.database.connection() as connection:
            manifest = await deliveries.of_archive(connection, self.one.taken.archive, self.destination.key)
        left = [one for one in manifest if one.state is not DeliveryState.SENT and one.source in parts]
        for number, delivery in enumerate(left):
            part = parts[delivery.source]
            reason = FailureReason.COPY if delivery.way is Way.COPY else FailureReason.UPLOAD
            with failing_as(reason, destination=self.destination.title):
                await (self._copy if delivery.way is Way.COPY else self._upload)(delivery, part)
            if all(later.source != delivery.source for later in left[number + 1 :]):
                await self.fetching.drop()

    async def _copy(self, delivery: Delivery, part: TakenPart) -> None:
        """Have the platform copy a file: one send and not a byte moved (S-49)."""
        worn: FileHandle | None = None
        for _ in range(RENEWALS + 1):
            handle = await self.fetching.handle(part, worn=worn)
            try:
                return await self._poster.post(delivery, partial(self._send_copy, delivery, handle))
            except HandleExpired:
                worn = handle
            except MayNotPost:
                raise
            except Refused as refused:
                raise CopyRefused from refused
        raise CopyRefused

    async def _send_copy(self, delivery: Delivery, handle: FileHandle, claimed: Claimed) -> Receipt:
        lane = self.tools.lane
        return await lane.copy_file(self.destination.channel, handle, key=delivery.key, claimed=claimed)

    async def _upload(self, delivery: Delivery, part: TakenPart) -> None:
        """Hand a file over and post it; parts the platform has lost are handed over once more, under a new number."""
        tools, progress = self.tools, self.fetching.progress
        handover = Handover(tools.lane, tools.database, delivery, cycle=tools.cycle, tell=progress.add)
        for beginning in range(BEGINNINGS):
            upload = await handover.begin(anew=beginning > 0)
            if handover.missing:
                here = await self.fetching.fetch(part)
                progress.begin("uploading", delivery.name, size=delivery.size, done=handover.done)
                await handover.save(here.read)
            try:
                return await self._poster.post(delivery, partial(self._send, delivery, upload))
            except UploadLost:
                log.info("upload.lost", name=delivery.name, next="uploaded anew")
        raise PlatformError("The platform loses the parts of this file as soon as they are uploaded.")

    async def _send(self, delivery: Delivery, upload: Upload, claimed: Claimed) -> Receipt:
        return await self.tools.lane.send_file(self.destination.channel, upload, key=delivery.key, claimed=claimed)

    @property
    def _poster(self) -> Poster:
        tools = self.tools
        return Poster(tools.lane, tools.database, tools.clock, self.destination, tools.cycle)
