"""One part of a run: claimed, handed over, and marked by what became of it (law 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    NotOurs,
    NotSent,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.lanes import Lane
from tidegate.port import Enclosure, Receipt, UploadLost
from tidegate.reminders.uploads import Uploads
from tidegate.rules.delivering import PartState, after_crash
from tidegate.store import doubtful_parts, run_parts, uploads
from tidegate.store.database import AWAY, Connection, Database
from tidegate.store.run_parts import Answer, Part
from tidegate.store.runs import Run

log = structlog.get_logger()

MOST_TRIES = 5
"""After so many tries whose outcome nobody knows, a person decides, whatever platform or policy would allow."""

LONGEST_PAUSE = 60
"""Seconds; the pause after a try that came to nothing doubles up to this."""

OLD_DOUBT = "An earlier try may have arrived, and it is too old for the platform to recognise another one."

TRY_AGAIN = timedelta(seconds=1)


@dataclass(slots=True)
class Ticket:
    """How far one send has come: *answer* is None until it was claimed or refused, *claimed_at* is in ticks."""

    answer: Answer | None = None
    claimed_at: float = 0.0
    tries: int = 0

    @property
    def is_claimed(self) -> bool:
        return self.answer is Answer.GO


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a part: its state now, and how long it waits if it is pending; *why* it was not claimed."""

    state: PartState
    wait: timedelta = timedelta()
    why: Answer | None = None
    doubtful: bool = False


Mark = Callable[[Connection], Awaitable[object]]
Progress = Callable[[Connection, Part, PartState], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends parts of one run through one lane; *progress* is told of each change, in its transaction."""

    run: Run
    lane: Lane
    database: Database
    clock: Clock
    uploads: Uploads
    progress: Progress

    async def send(self, part: Part, ticket: Ticket) -> Told:
        """Send a part once and mark it; ``SignedOut``, ``Banned`` and ``NotOurs`` go to whoever serves the account."""
        try:
            receipt = await self._hand_over(part, ticket)
        except NotSent as problem:
            if ticket.answer is not None and not ticket.is_claimed:
                return await self._not_claimed(part, ticket.answer)
            return await self._take_back(part, ticket, self._pause(part), str(problem))
        except AskedToWait as asked:
            return await self._take_back(part, ticket, asked.pause, str(asked))
        except (SignedOut, Banned, NotOurs) as stop:
            if ticket.is_claimed:
                await self._take_back(part, ticket, timedelta(), str(stop))
            raise
        except (Refused, ChannelGone) as problem:
            return await self._refused(part, ticket, str(problem))
        except PlatformError as problem:
            return await self._doubt(part, ticket, str(problem))
        return await self._sent(part, ticket, receipt)

    # Handing over

    async def _hand_over(self, part: Part, ticket: Ticket) -> Receipt:
        async def claimed(connection: Connection) -> bool:
            ticket.answer, ticket.claimed_at = Answer.GO, self.clock.ticks()
            ticket.answer, ticket.tries = await run_parts.claim(
                connection, part.place, recognises_for=self.lane.recognises_for
            )
            return ticket.is_claimed

        if part.channel is None:
            raise ChannelGone("This group no longer exists.")
        if part.media is None:
            return await self.lane.send(part.channel, part.text, key=part.key, run=self.run.id, claimed=claimed)
        if self.lane.encloses:
            enclosed = Enclosure(part.media.name, await self.uploads.content(part.media))
            return await self.lane.send_with(
                part.channel, part.text, [enclosed], key=part.key, run=self.run.id, claimed=claimed
            )
        reference = await self.uploads.once(part.media)
        try:
            return await self.lane.post(
                part.channel, part.media, reference, caption=part.text, key=part.key, run=self.run.id, claimed=claimed
            )
        except UploadLost as lost:  # nothing was posted: the file goes up once more
            await self.uploads.lost(part.media, reference)
            if part.tries >= MOST_TRIES:
                raise
            raise NotSent(str(lost)) from lost

    # What became of it

    async def _sent(self, part: Part, ticket: Ticket, receipt: Receipt) -> Told:
        took = timedelta(seconds=self.clock.ticks() - ticket.claimed_at)
        message = receipt.name or (None if receipt.message is None else str(receipt.message))

        async def mark(connection: Connection) -> None:
            if part.media is not None and self.lane.encloses:  # it went up with this message
                await uploads.count(connection, self.run.id)
            await run_parts.mark_sent(
                connection, self.lane.claim(), part.place, ticket.tries, latency=took, message=message
            )

        return await self._mark(part, Told(PartState.SENT), mark)

    async def _take_back(
        self, part: Part, ticket: Ticket, wait: timedelta, error: str, *, doubtful: bool = False
    ) -> Told:
        async def mark(connection: Connection) -> None:
            await run_parts.take_back(
                connection, self.lane.claim(), part.place, ticket.tries, wait=wait, doubtful=doubtful, error=error
            )

        return await self._mark(part, Told(PartState.PENDING, wait, doubtful=doubtful or part.doubtful), mark)

    async def _close(self, part: Part, state: PartState, error: str, *, before: PartState = PartState.SENDING) -> Told:
        async def mark(connection: Connection) -> None:
            expected = (PartState.SENDING, before)
            await run_parts.close(connection, self.lane.claim(), part.place, state, error, expected=expected)

        return await self._mark(part, Told(state), mark)

    async def _refused(self, part: Part, ticket: Ticket, error: str) -> Told:
        """A definite no; of an earlier try that may have arrived it says nothing."""
        if part.doubtful:
            return await self._unknown(part, ticket, error)
        before = PartState.SENDING if ticket.is_claimed else PartState.PENDING
        return await self._close(part, PartState.FAILED, error, before=before)

    async def _doubt(self, part: Part, ticket: Ticket, error: str) -> Told:
        """Nobody knows: tried again where the platform removes duplicates, else it is as the operator's policy says."""
        if not ticket.is_claimed:
            return await self._take_back(part, ticket, self._pause(part), error)
        again = after_crash(
            removes_duplicates=self.lane.removes_duplicates,
            for_how_long=self.lane.recognises_for,
            claimed_ago=timedelta(seconds=self.clock.ticks() - ticket.claimed_at),
        )
        if again is PartState.PENDING and ticket.tries < MOST_TRIES:
            return await self._take_back(part, ticket, self._pause(part), error, doubtful=True)
        return await self._unknown(part, ticket, error)

    async def _unknown(self, part: Part, ticket: Ticket, error: str) -> Told:
        settled = self.run.when_unknown.settles_as or PartState.UNKNOWN
        if settled is not PartState.PENDING:
            return await self._close(part, settled, error)
        if ticket.tries < MOST_TRIES:
            return await self._take_back(part, ticket, self._pause(part), error)
        return await self._close(part, PartState.UNKNOWN, error)

    async def _not_claimed(self, part: Part, answer: Answer) -> Told:
        if answer is not Answer.STALE:
            return Told(PartState.PENDING, why=answer)
        settled = self.run.when_unknown.settles_as

        async def mark(connection: Connection) -> None:
            pending = (PartState.PENDING,)
            claim = self.lane.claim()
            await run_parts.close(connection, claim, part.place, PartState.UNKNOWN, OLD_DOUBT, expected=pending)
            if settled is not None:
                await doubtful_parts.settle(connection, self.run.id, settled, targets=[part.place.target])

        return await self._mark(part, Told(settled or PartState.UNKNOWN), mark)

    async def _mark(self, part: Part, told: Told, mark: Mark) -> Told:
        """Write down what became of a part, however long the database is away: a sent part must not stay in doubt."""
        while True:
            try:
                async with self.database.transaction() as connection:
                    await mark(connection)
                    await self.progress(connection, part, told.state)
            except AWAY as problem:
                log.warning("run.not_marked_yet", run=self.run.id, problem=str(problem), next="tried again")
                await self.clock.sleep(TRY_AGAIN)
            else:
                return told

    def _pause(self, part: Part) -> timedelta:
        return timedelta(seconds=min(2**part.tries, LONGEST_PAUSE))
