"""One run's turn: several targets in flight, the parts of each in order, until there is nothing to send just now."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tidegate.clock import Clock
from tidegate.reminders.sending import Sender, Ticket, Told
from tidegate.rules.delivering import PartState, TargetState, next_part, target_state
from tidegate.rules.window import GRACE
from tidegate.side_by_side import together
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.store.run_parts import Answer, Part
from tidegate.store.runs import Run

SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(milliseconds=200), timedelta(milliseconds=500)
"""Between two parts of a target, so that they show in order; the pace is what limits the account."""

PATIENCE = timedelta(seconds=30)
"""How long a turn waits for a target that must not be tried yet; another run may go on meanwhile."""

NEXT_LOOK = timedelta(milliseconds=1)
"""The shortest sleep: a clock's ticks are finer than what it can be told to sleep."""

LANDING, MARKING = timedelta(seconds=10), timedelta(seconds=1)
"""How long sends in flight may take to end; and to be marked when the account is no longer ours to call for."""

TOLD_EVERY = 1.0
"""Seconds between two events about the progress of a run."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How runs are delivered: accounts at once in this process, targets at once per account; *dice* gives 0 to 1."""

    dice: Callable[[], float]
    accounts_at_once: int = 8
    groups_at_once: int = 3


class Progress:
    """How a run stands, kept up by what becomes of its parts and told at most once a second."""

    def __init__(self, run: Run, parts: Sequence[Part], clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._states: dict[int, list[PartState]] = {}
        self._told_at = float("-inf")
        for part in parts:
            self._states.setdefault(part.place.target, []).append(part.state)
        self._counts = Counter(target_state(states) for states in self._states.values())

    def of(self, target: int) -> Sequence[PartState]:
        return self._states[target]

    async def note(self, connection: Connection, part: Part, state: PartState) -> None:
        """A part has come into a state; told in the same transaction, unless something was told just now."""
        self._move(part, state)
        now = self._clock.ticks()
        if now - self._told_at < TOLD_EVERY:
            return
        counts = {one.value: self._counts[one] for one in TargetState}
        body = f"{self._counts[TargetState.SENT]} of {self._counts.total()} delivered"
        await feed.record(
            connection, "run.progressed", self._run.name, {"run": self._run.id, "counts": counts, "body": body}
        )
        self._told_at = now

    def _move(self, part: Part, state: PartState) -> None:
        states = self._states[part.place.target]
        before = target_state(states)
        states[part.place.number - 1] = state
        if state is PartState.FAILED:
            states[part.place.number :] = [PartState.SKIPPED] * (len(states) - part.place.number)
        self._counts[before] -= 1
        self._counts[target_state(states)] += 1


class Delivery:
    """One turn of one run. ``stop`` lets what is claimed end and claims nothing more."""

    def __init__(
        self, parts: Sequence[Part], progress: Progress, sender: Sender, *, clock: Clock, dice: Callable[[], float]
    ) -> None:
        self._run = sender.run
        self._progress = progress
        self._sender = sender
        self._clock = clock
        self._dice = dice
        self._lines: dict[int, list[Part]] = {}
        for part in parts:
            self._lines.setdefault(part.place.target, []).append(part)
        self._ready: list[tuple[int, int]] = []  # by rank and target
        self._later: list[tuple[float, int]] = []  # by when they may be tried
        self._flying: dict[asyncio.Task[Told], tuple[Part, Ticket]] = {}
        self._stopped = self._closed = False
        self.ended = 0
        """How many sends have ended, whatever became of them."""
        for target in self._lines:
            self._enqueue(target, timedelta())

    async def go(self, at_once: int) -> None:
        """Deliver until nothing can be sent for a while, the window has closed or somebody stops it."""
        watching = asyncio.create_task(self._watch_window())
        try:
            await together(*(self._work() for _ in range(min(at_once, len(self._lines)))))
        finally:
            watching.cancel()
            await self._land()

    def stop(self) -> None:
        """Claim nothing more; what is claimed goes on to its end."""
        self._stopped = True
        self._let_go(lambda part: True)

    @property
    def is_held_up(self) -> bool:
        """Whether all that goes on is waiting: nothing is being handed over, and no file goes up."""
        uploads = self._sender.uploads.under_way and self._sender.lane.paused_until is None
        return not uploads and not any(ticket.is_claimed for _, ticket in self._flying.values())

    # Which target is next

    def _enqueue(self, target: int, wait: timedelta) -> None:
        """Have a target's next part tried after a wait; what may be tried goes by its rank and not by its age."""
        place = next_part(self._progress.of(target))
        if place is None:
            return
        wait = max(wait, self._lines[target][place].waits_for)
        if wait > timedelta():
            heapq.heappush(self._later, (self._clock.ticks() + wait.total_seconds(), target))
        else:
            heapq.heappush(self._ready, (self._rank(target, place), target))

    def _rank(self, target: int, place: int) -> int:
        """Those with a try in doubt first, since platforms recognise it only for a while; begun ones before others."""
        return 0 if self._lines[target][place].doubtful else 1 if place else 2

    async def _work(self) -> None:
        while not self._stopped:
            self._call_up()
            if self._ready:
                _, target = heapq.heappop(self._ready)
                await self._deliver(target)
            elif self._later and (wait := self._later[0][0] - self._clock.ticks()) <= PATIENCE.total_seconds():
                await self._clock.sleep(max(timedelta(seconds=wait), NEXT_LOOK))
            else:
                return

    def _call_up(self) -> None:
        """Have those tried whose wait is over."""
        while self._later and self._later[0][0] <= self._clock.ticks():
            _, target = heapq.heappop(self._later)
            place = next_part(self._progress.of(target))
            assert place is not None  # nobody else moves a target that waits
            heapq.heappush(self._ready, (self._rank(target, place), target))

    async def _deliver(self, target: int) -> None:
        """Send a target's parts in order for as long as each is sent."""
        while (place := next_part(self._progress.of(target))) is not None:
            if self._stopped or (self._closed and not place):
                return
            part = self._lines[target][place]
            told = await self._send(part)
            if told is None or told.why is not None:
                if told is not None and told.why is Answer.CLOSED:
                    self._closed = True
                elif told is not None and told.why in (Answer.STOPPED, Answer.NOT_OPEN):
                    self._stopped = True
                return
            if told.state is PartState.PENDING:
                again = replace(part, tries=part.tries + 1, waits_for=timedelta(), doubtful=told.doubtful)
                self._lines[target][place] = again
                self._enqueue(target, max(told.wait, timedelta(milliseconds=1)))
                return
            if told.state is PartState.SENT and place + 1 < len(self._lines[target]):
                await self._clock.sleep(self._pause())

    def _pause(self) -> timedelta:
        return SHORTEST_PAUSE + self._dice() * (LONGEST_PAUSE - SHORTEST_PAUSE)

    # Sends that outlive whoever waits for them

    async def _send(self, part: Part) -> Told | None:
        """Send one part in a task of its own; None when it was let go before it was claimed."""
        ticket = Ticket()
        task = asyncio.create_task(self._sender.send(part, ticket), name=f"run {self._run.id}, {part.title}")
        self._flying[task] = (part, ticket)
        task.add_done_callback(self._landed)
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    def _landed(self, task: asyncio.Task[Told]) -> None:
        """A send has ended; whoever waited for it may be gone, and what it raised is not news then."""
        self._flying.pop(task)
        self.ended += 1
        if not task.cancelled():
            task.exception()

    def _let_go(self, which: Callable[[Part], bool]) -> None:
        """Give up sends that wait for their pace. One that is claimed is handed over any moment, so it goes on."""
        for task, (part, ticket) in list(self._flying.items()):
            if ticket.answer is None and which(part):
                task.cancel()

    async def _watch_window(self) -> None:
        """Do not wait for a pace that lies behind the close of the window."""
        run = self._run
        await self._clock.sleep(run.opening.closes - run.now)
        self._closed = True
        if run.finishes_begun:
            self._let_go(lambda part: part.place.number == 1)
            await self._clock.sleep(GRACE)
        self.stop()

    async def _land(self) -> None:
        """Let what is claimed end and be marked, for a while; the rest was not begun."""
        self.stop()
        if not self._flying:
            return
        lost = self._clock.ticks() >= self._sender.lane.claim().deadline
        late = asyncio.ensure_future(self._clock.sleep(MARKING if lost else LANDING))
        try:
            while self._flying and not late.done():
                await asyncio.wait({late, *self._flying}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
            for task in list(self._flying):
                task.cancel()
