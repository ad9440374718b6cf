"""Sends one run: several targets in parallel, the parts of each in order, until nothing can be sent for a while."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tidegate.core.clock import Clock
from tidegate.core.ids import TargetNumber
from tidegate.core.task_groups import together
from tidegate.database.pool import Connection, Database
from tidegate.events.kinds.runs import RunProgressed
from tidegate.events.queries import feed
from tidegate.lanes import Lane
from tidegate.lanes.rules.send_hours import GRACE
from tidegate.reminders.queries.run_parts import ClaimAnswer, RunPart
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.send_states import SendState, next_run_part, target_state
from tidegate.reminders.runs.media_uploads import RunUploads
from tidegate.reminders.runs.run_part_sender import RunPartResult, RunPartSender, SendTicket

SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(milliseconds=200), timedelta(milliseconds=500)
"""Between two parts of one target, so that they show in order. The pace of the lane is what limits the account."""

PATIENCE = timedelta(seconds=30)
"""How long a worker waits for a target that must not be tried yet; after that another run may be sent."""

SHORTEST_SLEEP = timedelta(milliseconds=1)
"""A clock's ticks are finer than the shortest time it can sleep."""

LANDING, MARKING = timedelta(seconds=10), timedelta(seconds=1)
"""How long sends in flight may take to end; and to be marked when the account is no longer ours."""

PROGRESS_EVERY = 1.0
"""Seconds between two progress events of a run."""


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """How many accounts this process sends for at once, and to how many targets per account; *dice* gives 0 to 1."""

    dice: Callable[[], float]
    accounts_at_once: int = 8
    groups_at_once: int = 3


class RunProgress:
    """The states of a run's parts, kept up to date as they change; recorded as an event at most once a second."""

    def __init__(self, run: Run, parts: Sequence[RunPart], clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self.states: dict[TargetNumber, list[SendState]] = {}
        self._recorded_at = float("-inf")
        for part in parts:
            self.states.setdefault(part.place.target, []).append(part.state)
        self._counts = Counter(target_state(states) for states in self.states.values())

    async def note(self, connection: Connection, part: RunPart, state: SendState) -> None:
        """A part has changed its state; the event is recorded in the transaction that stores the change."""
        states = self.states[part.place.target]
        before = target_state(states)
        states[part.place.number - 1] = state
        if state is SendState.FAILED:
            states[part.place.number :] = [SendState.SKIPPED] * (len(states) - part.place.number)
        self._counts[before] -= 1
        self._counts[target_state(states)] += 1
        now = self._clock.ticks()
        if now - self._recorded_at < PROGRESS_EVERY:
            return
        counts = {one.value: self._counts[one] for one in SendState}
        body = f"{self._counts[SendState.SENT]} of {self._counts.total()} delivered"
        await feed.record(connection, self._run.name, RunProgressed(run=self._run.id, counts=counts, body=body))
        self._recorded_at = now


class RunWorker:
    """Sends one run through one lane. ``stop`` lets claimed parts finish and claims nothing more."""

    def __init__(
        self, run: Run, parts: Sequence[RunPart], lane: Lane, database: Database, *, clock: Clock, policy: RunPolicy
    ) -> None:
        self._run = run
        self._lane = lane
        self._clock = clock
        self._policy = policy
        self._progress = RunProgress(run, parts, clock)
        self._uploads = RunUploads(lane, database, run.id, dice=policy.dice)
        self._sender = RunPartSender(run, lane, database, clock, self._uploads, self._progress.note)
        self._parts: dict[TargetNumber, list[RunPart]] = {}
        for part in parts:
            self._parts.setdefault(part.place.target, []).append(part)
        self._ready: list[tuple[int, TargetNumber]] = []  # by rank and target
        self._later: list[tuple[float, TargetNumber]] = []  # by when they may be tried
        self._in_flight: dict[asyncio.Task[RunPartResult], tuple[RunPart, SendTicket]] = {}
        self._preparing: asyncio.Task[bool] | None = None
        self._stopped = self._closed = False
        self.ended = 0
        """How many sends have ended, with whatever result."""
        for target in self._parts:
            self._enqueue(target, timedelta())

    async def work(self) -> None:
        """Send until nothing can be sent for a while, the window has closed or ``stop`` is called.

        All files are uploaded first; when one of them fails, nothing is sent.
        """
        parts = [part for target in self._parts.values() for part in target]
        at_once = 1 if self._lane.account.platform.sends_one_at_a_time else self._policy.groups_at_once
        watching = asyncio.create_task(self._watch_window())
        try:
            self._preparing = asyncio.create_task(self._sender.prepare(parts), name=f"files of run {self._run.id}")
            await asyncio.wait([self._preparing])
            if not self._preparing.cancelled() and self._preparing.result():
                await together(*(self._send_targets() for _ in range(min(at_once, len(self._parts)))))
        finally:
            watching.cancel()
            await self._land()

    def stop(self) -> None:
        """Claim nothing more; claimed parts finish."""
        self._stopped = True
        if self._preparing is not None:
            self._preparing.cancel()
        self._cancel_unclaimed()

    @property
    def is_held_up(self) -> bool:
        """Whether everything waits: no message is being sent, and no file is being uploaded."""
        uploads = self._uploads.under_way and self._lane.gate.paused_until is None
        return not uploads and not any(ticket.is_claimed for _, ticket in self._in_flight.values())

    # Which target is next

    def _enqueue(self, target: TargetNumber, wait: timedelta) -> None:
        """Have a target's next part tried after a wait. Targets that may be tried are ordered by rank, not by age."""
        place = next_run_part(self._progress.states[target])
        if place is None:
            return
        wait = max(wait, self._parts[target][place].waits_for)
        if wait > timedelta():
            heapq.heappush(self._later, (self._clock.ticks() + wait.total_seconds(), target))
        else:
            heapq.heappush(self._ready, (self._rank(target, place), target))

    def _rank(self, target: TargetNumber, place: int) -> int:
        """Targets with a doubtful try first, since platforms recognise a repeat only for a while; then begun ones."""
        return 0 if self._parts[target][place].doubtful else 1 if place else 2

    async def _send_targets(self) -> None:
        while not self._stopped:
            while self._later and self._later[0][0] <= self._clock.ticks():
                _, target = heapq.heappop(self._later)
                place = next_run_part(self._progress.states[target])
                assert place is not None  # nothing else changes a target that waits
                heapq.heappush(self._ready, (self._rank(target, place), target))
            if self._ready:
                _, target = heapq.heappop(self._ready)
                await self._send_target(target)
            elif self._later and (wait := self._later[0][0] - self._clock.ticks()) <= PATIENCE.total_seconds():
                await self._clock.sleep(max(timedelta(seconds=wait), SHORTEST_SLEEP))
            else:
                return

    async def _send_target(self, target: TargetNumber) -> None:
        """Send a target's parts in order, until one of them is not sent."""
        while (place := next_run_part(self._progress.states[target])) is not None:
            if self._stopped or (self._closed and not place):
                return
            part, ticket = self._parts[target][place], SendTicket()
            # In a task of its own: a part that was claimed may outlive the code that waits for it.
            task = asyncio.create_task(self._sender.send(part, ticket), name=f"run {self._run.id}, {part.title}")
            self._in_flight[task] = (part, ticket)
            task.add_done_callback(self._landed)
            await asyncio.wait([task])
            if task.cancelled():  # before it was claimed
                return
            result = task.result()
            if result.why is not None:
                if result.why is ClaimAnswer.CLOSED:
                    self._closed = True
                elif result.why in (ClaimAnswer.STOPPED, ClaimAnswer.NOT_OPEN):
                    self.stop()
                return
            if result.state is SendState.PENDING:
                again = replace(part, tries=part.tries + 1, waits_for=timedelta(), doubtful=result.doubtful)
                self._parts[target][place] = again
                self._enqueue(target, max(result.wait, timedelta(milliseconds=1)))
                return
            if result.state is SendState.SENT and place + 1 < len(self._parts[target]):
                await self._clock.sleep(SHORTEST_PAUSE + self._policy.dice() * (LONGEST_PAUSE - SHORTEST_PAUSE))

    # Sends in flight

    def _landed(self, task: asyncio.Task[RunPartResult]) -> None:
        """A send has ended. Its exception is retrieved here, since its caller may have been cancelled."""
        self._in_flight.pop(task)
        self.ended += 1
        if not task.cancelled():
            task.exception()

    def _cancel_unclaimed(self, *, first_parts_only: bool = False) -> None:
        """Cancel sends that still wait for the pace. A claimed one may be sent any moment, so it continues."""
        for task, (part, ticket) in list(self._in_flight.items()):
            if ticket.answer is None and (part.place.number == 1 or not first_parts_only):
                task.cancel()

    async def _watch_window(self) -> None:
        """Stop waiting for a pace that allows the next send only after the window has closed."""
        run = self._run
        await self._clock.sleep(run.opening.closes - run.now)
        self._closed = True
        if run.finishes_begun:
            self._cancel_unclaimed(first_parts_only=True)
            await self._clock.sleep(GRACE)
        self.stop()

    async def _land(self) -> None:
        """Give claimed parts some time to end and to be marked; the others have not begun."""
        self.stop()
        if not self._in_flight:
            return
        lost = self._clock.ticks() >= self._lane.claim().deadline
        late = asyncio.ensure_future(self._clock.sleep(MARKING if lost else LANDING))
        try:
            while self._in_flight and not late.done():
                await asyncio.wait({late, *self._in_flight}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
            for task in list(self._in_flight):
                task.cancel()
