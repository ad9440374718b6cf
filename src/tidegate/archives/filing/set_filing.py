"""The steps of one set: hashed, compared with the sets already delivered, copied or uploaded, and marked as filed."""

from __future__ import annotations

import asyncio

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.failures import DestinationClosed, NotFiled, SourceClosed, failing_as, record_failure
from tidegate.archives.filing.archive_part_fetch import ArchivePartFetch, NotWanted
from tidegate.archives.filing.disk_space import DiskWatch
from tidegate.archives.filing.filing_context import FilingContext
from tidegate.archives.filing.set_delivery import CopyRefused, SetDelivery
from tidegate.archives.filing.work_folder import Shortage
from tidegate.archives.queries import closed_destinations, deliveries, filing_queue
from tidegate.archives.queries.filing_queue import Destination, SetToFile, Wish
from tidegate.archives.rules import retry
from tidegate.archives.rules.delivery_plan import (
    DeliveryWay,
    manifest,
    way_for,
)
from tidegate.archives.rules.duplicates import FilingDecision
from tidegate.archives.rules.file_names import largest_piece
from tidegate.archives.rules.retry import FailureReason
from tidegate.archives.set_outcome import SetOutcome
from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import ArchiveId
from tidegate.platforms.interface import SourceProtected

log = structlog.get_logger()


class SetFiling:
    """The steps of one set; a kill may end any of them, and the next worker resumes there."""

    def __init__(self, context: FilingContext, one: SetToFile, disk: DiskWatch, *, as_large: bool) -> None:
        """*as_large*: no small set waits for it. Otherwise it is left as soon as it turns out to be large."""
        self._context = context
        self._one = one
        self._disk = disk
        self._as_large = as_large
        self._way: DeliveryWay | None = None
        self._fetching = ArchivePartFetch(context, one.taken, self._is_wanted)

    async def work(self) -> SetOutcome:
        """File the set; an error that ends the account's work is raised, and the next owner resumes the set."""
        taken, destination = self._one.taken, self._one.destination
        if retry.is_too_large(taken.size, self._context.policy.retries, taken.earlier):
            return await self._not_filed(NotFiled(FailureReason.SIZE_LIMIT))
        if destination is not None and not destination.may_post:
            lacks = "may not post there" if destination.may_post is False else "does not see it"
            why = f"It {lacks}, as the last list of its channels says (tidegate channel sync ACCOUNT)."
            return await self._close_destination(why)
        try:
            if destination is None:
                if self._one.hashed:
                    await self._fetching.hash_all()
                ended = await self._finish()
            else:
                try:
                    ended = await self._deliver(destination, way_for(taken.parts, protected=self._one.protected))
                except CopyRefused as refused:
                    ended = await self._upload_instead(destination, refused)
        except (NotFiled, DestinationClosed, SourceClosed, NotWanted, MachineTrouble) as problem:
            return await self._not_filed(problem)
        await asyncio.to_thread(self._context.work.clear, [taken.archive])
        return ended

    async def _deliver(self, destination: Destination, way: DeliveryWay) -> SetOutcome:
        """Freeze the set's manifest and post it, unless the same content is there or on its way.

        A first part that no other set begins with proves that the content is new. Each further part is then read only
        once, when it is uploaded. A copy is not read on the way, so its parts are hashed before, where hashes are
        wanted.
        """
        self._way = way
        largest = await self._largest() if way is DeliveryWay.UPLOAD else 0  # a copy is never cut
        if way is DeliveryWay.UPLOAD:
            if not self._fetching.digests:
                await self._fetching.fetch(self._one.taken.parts[0])
        elif self._one.hashed:
            await self._fetching.hash_all()
        planned = manifest(self._one.taken.parts, way, largest)
        while True:
            async with owned_transaction(self._context.database, self._context.lane.claim()) as connection:
                decision, original = await filing_queue.claim(connection, self._one, self._fetching.digests, planned)
            if decision is not FilingDecision.HASH_FIRST:
                break
            await self._fetching.hash_all()
        if decision is FilingDecision.DUPLICATE:
            return await self._finish(original)
        if decision is FilingDecision.WAIT:
            return await self._leave(SetOutcome.LEFT)
        await SetDelivery(self._context, self._one, destination, self._fetching).deliver()
        return await self._finish(delivered=True)

    async def _upload_instead(self, destination: Destination, refused: CopyRefused) -> SetOutcome:
        """Upload a set that the platform does not let be copied; where it is large, another queue does."""
        taken = self._one.taken
        log.info("archive.not_copied", archive=taken.archive, why=str(refused.__cause__), next="uploaded")
        protected = isinstance(refused.__cause__, SourceProtected)
        async with owned_transaction(self._context.database, self._context.lane.claim()) as connection:
            await deliveries.release(connection, taken.archive, destination.key)
            await filing_queue.protect(connection, taken.archive, whole_channel=protected)
        if not self._as_large and taken.size > self._context.policy.small_at_most:
            return await self._leave(SetOutcome.CHANGED)
        return await self._deliver(destination, DeliveryWay.UPLOAD)

    def _is_wanted(self, now: Wish) -> bool:
        """Whether the bytes being moved are still needed: a hash alone is not, once the operator wants none."""
        destination = None if self._one.destination is None else self._one.destination.key
        return now.enabled and now.destination == destination and (now.hashed or self._way is DeliveryWay.UPLOAD)

    async def _largest(self) -> int:
        """The largest file the account may upload; whether it is premium is asked only where that matters."""
        ordinary = self._context.policy.largest or largest_piece(premium=False)
        if self._context.policy.largest or self._one.taken.largest_part <= ordinary:
            return ordinary
        with failing_as(FailureReason.UPLOAD):
            me = await self._context.lane.me(cycle=self._context.cycle)
        return largest_piece(premium=me.premium)

    async def _finish(self, duplicate_of: ArchiveId | None = None, *, delivered: bool = False) -> SetOutcome:
        taken, digests, destination = self._one.taken, self._fetching.digests, self._one.destination
        async with owned_transaction(self._context.database, self._context.lane.claim()) as connection:
            known = digests if len(digests) == len(taken.parts) else None
            original = await filing_queue.finish(connection, self._one, known, duplicate_of)
            if delivered and destination is not None:
                await closed_destinations.reopen(connection, self._context.lane.account.id, destination.key)
        log.info("archive.filed", archive=taken.archive, name=taken.name, duplicate_of=original)
        return SetOutcome.FILED if original is None else SetOutcome.DUPLICATE

    # Why it was not filed

    async def _not_filed(self, problem: Exception) -> SetOutcome:
        """Record a failure of the set, or leave it waiting because of a problem that is not its own."""
        taken, context = self._one.taken, self._context
        named = {"archive": taken.archive, "name": taken.name}
        match problem:
            case NotFiled():
                if not problem.trouble:
                    await asyncio.to_thread(context.work.clear, [taken.archive])
                retries, detail = self._context.policy.retries, str(problem)
                await record_failure(
                    context.lane, context.database, retries, taken, reason=problem.reason, detail=detail
                )
                return SetOutcome.IN_TROUBLE if problem.trouble else SetOutcome.FAILED
            case DestinationClosed():
                return await self._close_destination(str(problem))
            case NotWanted():
                log.info("archive.no_longer_wanted", **named)
                return await self._leave(SetOutcome.CHANGED)
            case SourceClosed():
                log.warning("archive.source_closed", **named, problem=str(problem))
                return await self._leave(SetOutcome.WITHOUT_SOURCE)
            case _:
                log.warning("archive.not_filed", **named, problem=str(problem))
                if not isinstance(problem, Shortage):
                    self._disk.note_trouble(str(problem))
                return await self._leave(SetOutcome.LEFT)

    async def _leave(self, ended: SetOutcome) -> SetOutcome:
        """Leave the set waiting with all its tries; its files on the disk stay for the next batch."""
        async with owned_transaction(self._context.database, self._context.lane.claim()) as connection:
            await filing_queue.leave(connection, self._one.taken.archive)
        return ended

    async def _close_destination(self, why: str) -> SetOutcome:
        """Leave the set waiting, and all others for that destination, until the account may post there again."""
        destination, account = self._one.destination, self._context.lane.account
        assert destination is not None
        sentence = (
            f'"{destination.title}" accepts no archives from account "{account.name}". {why} Let the account join and '
            "post there; the archives resume automatically."
        )
        async with owned_transaction(self._context.database, self._context.lane.claim()) as connection:
            await filing_queue.leave(connection, self._one.taken.archive)
            after = retry.look_after(await closed_destinations.looks(connection, account.id, destination.key))
            await closed_destinations.close(connection, account.id, destination.key, sentence, look_after=after)
        log.warning("destination.closed", account=account.name, destination=destination.title, problem=why)
        return SetOutcome.LEFT
