"""Sends one part of a run: claims it, sends it, and stores the result (claim-before-send)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    FileRefused,
    NotOurs,
    NotSent,
    PlatformError,
    Refused,
    ServerTrouble,
    SignedOut,
)
from tidegate.core.ids import ChannelId
from tidegate.database.pool import AWAY, Connection, Database
from tidegate.lanes import Claimed, Lane
from tidegate.platforms.interface import Enclosure, Receipt, UploadLost
from tidegate.platforms.interface.uploads import Media
from tidegate.reminders.queries import media_uploads, run_parts, run_states, runs, unknown_sends
from tidegate.reminders.queries.run_parts import ClaimAnswer, RunPart
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.send_states import SendState, after_crash
from tidegate.reminders.runs.media_uploads import RunUploads, UploadFailed

log = structlog.get_logger()

MOST_TRIES = 5
"""After this many tries with an unknown outcome a person decides, whatever the platform or policy allows."""

LONGEST_PAUSE = 60
"""Seconds; the pause after a try that sent nothing doubles up to this."""

OLD_DOUBT = "An earlier try may have arrived, and it is too old for the platform to recognise another one."

TRY_AGAIN = timedelta(seconds=1)


@dataclass(slots=True)
class SendTicket:
    """The progress of one send: *answer* is None until it was claimed or refused, *claimed_at* is in ticks."""

    answer: ClaimAnswer | None = None
    claimed_at: float = 0.0
    tries: int = 0

    @property
    def is_claimed(self) -> bool:
        return self.answer is ClaimAnswer.GO


@dataclass(frozen=True, slots=True)
class RunPartResult:
    """The result of a send: the part's state, how long it waits if it is pending, and *why* it was not claimed."""

    state: SendState
    wait: timedelta = timedelta()
    why: ClaimAnswer | None = None
    doubtful: bool = False


HELD = RunPartResult(SendState.PENDING, why=ClaimAnswer.STOPPED)
"""The result of a send that held or paused its run."""

Mark = Callable[[Connection], Awaitable[bool]]
"""Stores a part's new state; False when something else has changed it meanwhile."""

Progress = Callable[[Connection, RunPart, SendState], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RunPartSender:
    """Sends the parts of one run through one lane; *progress* is called in the transaction of each change."""

    run: Run
    lane: Lane
    database: Database
    clock: Clock
    uploads: RunUploads
    progress: Progress

    async def prepare(self, parts: Iterable[RunPart]) -> bool:
        """Upload every file before the first send; False when the run is held or paused instead."""
        pending = (part.media for part in parts if part.state is SendState.PENDING and part.media is not None)
        try:
            for media in () if self.lane.encloses else dict.fromkeys(pending):
                await self.uploads.once(media)
        except UploadFailed as failed:
            await self._hold(failed.wait, failed.cause)
            return False
        return True

    async def send(self, part: RunPart, ticket: SendTicket) -> RunPartResult:
        """Send a part once and store the result.

        ``SignedOut``, ``Banned`` and ``NotOurs`` are raised to the code that serves the account.
        """

        async def claimed(connection: Connection) -> bool:
            ticket.answer, ticket.claimed_at = ClaimAnswer.GO, self.clock.ticks()
            ticket.answer, ticket.tries = await run_parts.claim(
                connection, part.place, recognises_for=self.lane.recognises_for
            )
            return ticket.is_claimed

        try:
            if part.channel is None:
                raise ChannelGone("This group no longer exists.")
            if part.media is None:
                receipt = await self.lane.send(part.channel, part.text, key=part.key, run=self.run.id, claimed=claimed)
            else:
                receipt = await self._send_file(part, part.channel, part.media, claimed)
        except (UploadFailed, PlatformError, NotOurs) as problem:
            return await self._not_sent(part, ticket, problem)
        took = timedelta(seconds=self.clock.ticks() - ticket.claimed_at)
        message = receipt.name or (None if receipt.message is None else str(receipt.message))

        async def mark(connection: Connection) -> bool:
            if part.media is not None and self.lane.encloses:  # it was uploaded with this message
                await media_uploads.count(connection, self.run.id)
            if self.run.cause:
                await run_states.release(connection, self.run)
            return await run_parts.mark_sent(
                connection, self.lane.claim(), part.place, ticket.tries, latency=took, message=message
            )

        return await self._mark(part, RunPartResult(SendState.SENT), mark)

    async def _send_file(self, part: RunPart, channel: ChannelId, media: Media, claimed: Claimed) -> Receipt:
        if self.lane.encloses:
            enclosed = Enclosure(media.name, await self.uploads.content(media))
            return await self.lane.send_with(
                channel, part.text, [enclosed], key=part.key, run=self.run.id, claimed=claimed
            )
        reference = await self.uploads.once(media)
        try:
            return await self.lane.post(
                channel, media, reference, caption=part.text, key=part.key, run=self.run.id, claimed=claimed
            )
        except UploadLost as lost:  # nothing was posted: the file is uploaded once more
            await self.uploads.lost(media, reference)
            if part.tries >= MOST_TRIES:
                raise
            raise NotSent(str(lost)) from lost

    # Why it was not sent

    async def _not_sent(self, part: RunPart, ticket: SendTicket, problem: Exception) -> RunPartResult:
        match problem:
            case UploadFailed():
                await self._hold(problem.wait, problem.cause)
                return HELD
            case SignedOut() | Banned() | NotOurs():
                if ticket.is_claimed:
                    await self._take_back(part, ticket, timedelta(), str(problem))
                raise problem
            case FileRefused() if await self._is_for_all(part):
                await self._take_back(part, ticket, timedelta(), str(problem))
                await self._hold(None, str(problem))
                return HELD
            case NotSent() if ticket.answer is not None and not ticket.is_claimed:
                result = await self._not_claimed(part, ticket.answer)
            case NotSent():
                result = await self._take_back(part, ticket, self._pause(part), str(problem))
            case AskedToWait():
                result = await self._take_back(part, ticket, problem.pause, str(problem))
            case Refused() | ChannelGone():
                result = await self._refused(part, ticket, str(problem))
            case _:
                result = await self._doubt(part, ticket, str(problem), in_trouble=isinstance(problem, ServerTrouble))
        if result.state is not SendState.SENT and (rest := self.lane.failure_pause) is not None:
            await self._hold(rest.left, rest.why)
            return replace(result, why=ClaimAnswer.STOPPED)
        return result

    async def _is_for_all(self, part: RunPart) -> bool:
        """Whether a file that one group refused would probably be refused by all.

        This is assumed at the first refusal, while no group has the file. When the file is refused again after a person
        resumed the run, it is that group's own limit.
        """
        if part.media is None or part.tries or part.doubtful:
            return False
        async with self.database.connection() as connection:
            return not await run_parts.has_arrived(connection, self.run.id, part.media.sha256)

    async def _hold(self, wait: timedelta | None, cause: str) -> None:
        """Claim nothing more of this run for that long, or until a person resumes it."""
        async with self.database.transaction() as connection:
            run = await runs.find(connection, self.run.id, lock=True)
            if wait is None:
                await run_states.pause(connection, run, by="upload", cause=cause)
            else:
                await run_states.hold(connection, run, wait, cause)

    # The result

    async def _take_back(
        self, part: RunPart, ticket: SendTicket, wait: timedelta, error: str, *, doubtful: bool = False
    ) -> RunPartResult:
        async def mark(connection: Connection) -> bool:
            return await run_parts.take_back(
                connection, self.lane.claim(), part.place, ticket.tries, wait=wait, doubtful=doubtful, error=error
            )

        return await self._mark(part, RunPartResult(SendState.PENDING, wait, doubtful=doubtful or part.doubtful), mark)

    async def _close(
        self, part: RunPart, state: SendState, error: str, *, before: SendState = SendState.SENDING
    ) -> RunPartResult:
        async def mark(connection: Connection) -> bool:
            expected = (SendState.SENDING, before)
            return await run_parts.close(connection, self.lane.claim(), part.place, state, error, expected=expected)

        return await self._mark(part, RunPartResult(state), mark)

    async def _refused(self, part: RunPart, ticket: SendTicket, error: str) -> RunPartResult:
        """The platform refused this try. An earlier doubtful try may still have arrived."""
        if part.doubtful:
            return await self._unknown(part, ticket, error)
        before = SendState.SENDING if ticket.is_claimed else SendState.PENDING
        return await self._close(part, SendState.FAILED, error, before=before)

    async def _doubt(self, part: RunPart, ticket: SendTicket, error: str, *, in_trouble: bool) -> RunPartResult:
        """The outcome is unknown: try again where the platform removes duplicates, else apply the operator's policy."""
        if not ticket.is_claimed:
            return await self._take_back(part, ticket, self._pause(part), error)
        again = after_crash(
            removes_duplicates=self.lane.removes_duplicates,
            for_how_long=self.lane.recognises_for,
            claimed_ago=timedelta(seconds=self.clock.ticks() - ticket.claimed_at),
        )
        # A platform that always recognises a repeated send may be tried until its trouble ends.
        patient = in_trouble and self.lane.recognises_for is None
        if again is SendState.PENDING and (patient or ticket.tries < MOST_TRIES):
            return await self._take_back(part, ticket, self._pause(part), error, doubtful=True)
        return await self._unknown(part, ticket, error)

    async def _unknown(self, part: RunPart, ticket: SendTicket, error: str) -> RunPartResult:
        state = self.run.when_unknown.resolves_to or SendState.UNKNOWN
        if state is not SendState.PENDING:
            return await self._close(part, state, error)
        if ticket.tries < MOST_TRIES:
            return await self._resend(part, ticket, error)
        return await self._close(part, SendState.UNKNOWN, error)

    async def _resend(self, part: RunPart, ticket: SendTicket, error: str) -> RunPartResult:
        """Try again as the operator's policy says, though it may have arrived; note that it may arrive twice."""
        wait = self._pause(part)

        async def mark(connection: Connection) -> bool:
            done = await run_parts.take_back(
                connection, self.lane.claim(), part.place, ticket.tries, wait=wait, doubtful=False, error=error
            )
            if done:
                await unknown_sends.note_resent(connection, part.place, error)
            return done

        return await self._mark(part, RunPartResult(SendState.PENDING, wait, doubtful=part.doubtful), mark)

    async def _not_claimed(self, part: RunPart, answer: ClaimAnswer) -> RunPartResult:
        if answer is not ClaimAnswer.STALE:
            return RunPartResult(SendState.PENDING, why=answer)
        resolved = self.run.when_unknown.resolves_to

        async def mark(connection: Connection) -> bool:
            pending = (SendState.PENDING,)
            claim = self.lane.claim()
            done = await run_parts.close(connection, claim, part.place, SendState.UNKNOWN, OLD_DOUBT, expected=pending)
            if resolved is not None:
                await unknown_sends.resolve(connection, self.run.id, resolved, targets=[part.place.target])
            return done

        return await self._mark(part, RunPartResult(resolved or SendState.UNKNOWN), mark)

    async def _mark(self, part: RunPart, result: RunPartResult, mark: Mark) -> RunPartResult:
        """Store the result of a part, however long the database is away: a sent part must not stay doubtful.

        An arrival may have been noted meanwhile. It is more certain than any error of this try.
        """
        while True:
            try:
                async with self.database.transaction() as connection:
                    if not await mark(connection) and await run_parts.is_sent(connection, part.place):
                        result = RunPartResult(SendState.SENT)
                    await self.progress(connection, part, result.state)
            except AWAY as problem:
                log.warning("run.not_marked_yet", run=self.run.id, problem=str(problem), next="tried again")
                await self.clock.sleep(TRY_AGAIN)
            else:
                return result

    def _pause(self, part: RunPart) -> timedelta:
        return timedelta(seconds=min(2**part.tries, LONGEST_PAUSE))
