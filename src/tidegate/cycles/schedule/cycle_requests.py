"""Requests for an account's next cycle, made by people, by push updates and by the timetable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidegate.core.errors import NotOurs, TidegateError
from tidegate.core.ids import ChannelId
from tidegate.cycles.cycle_report import CycleReport


@dataclass(slots=True)
class CycleRequest:
    """What the next cycle is for: *channels*, or everything when it is *whole*; *askers* wait for its report.

    Where only *archives* wait to be judged and indexed, no cycle runs.
    """

    whole: bool = False
    archives: bool = False
    channels: set[ChannelId] = field(default_factory=set)
    askers: list[asyncio.Future[CycleReport]] = field(default_factory=list)

    @property
    def wants_cycle(self) -> bool:
        return self.whole or bool(self.channels)

    def fulfil(self, report: CycleReport) -> None:
        """Give the report to every caller that waits for it."""
        for asker in self._waiting():
            asker.set_result(report)

    @contextmanager
    def pass_on_errors(self) -> Iterator[None]:
        """Give the error to every waiting caller when there is no report; it is raised again for the worker."""
        try:
            yield
        except (NotOurs, asyncio.CancelledError):
            for asker in self._waiting():
                asker.cancel()  # a command stays with its account: the next worker runs it again
            raise
        except TidegateError as problem:
            for asker in self._waiting():
                asker.set_exception(problem)
            raise

    def _waiting(self) -> list[asyncio.Future[CycleReport]]:
        return [asker for asker in self.askers if not asker.done()]


class CycleRequests:
    """Collects requests for one account's next cycle; with *only_asked*, only requests by people."""

    def __init__(self, *, only_asked: bool = False) -> None:
        self._only_asked = only_asked
        self._next = CycleRequest()
        self.left = asyncio.Event()
        """Set while there is a request."""

    def ask(self, channel: ChannelId | None) -> asyncio.Future[CycleReport]:
        """Request a cycle over *channel*, or over everything; the future is its report."""
        self._add(channel)
        report: asyncio.Future[CycleReport] = asyncio.get_running_loop().create_future()
        self._next.askers.append(report)
        return report

    def hint(self, channel: ChannelId | None) -> None:
        """Something changed in *channel*, or in an unknown one."""
        if not self._only_asked:
            self._add(channel)

    def _add(self, channel: ChannelId | None) -> None:
        if channel is None:
            self._next.whole = True
        else:
            self._next.channels.add(channel)
        self.left.set()

    def note_archives(self) -> None:
        """Archives arrived without a cycle, or may have become complete meanwhile."""
        self._next.archives = True
        self.left.set()

    @property
    def is_asked(self) -> bool:
        """Whether a person waits for the next cycle."""
        return bool(self._next.askers)

    def take(self) -> CycleRequest:
        """All requests so far; later ones belong to the cycle after."""
        taken, self._next = self._next, CycleRequest()
        self.left.clear()
        return taken
