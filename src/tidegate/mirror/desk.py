"""Where wishes for an account's next cycle are left, by people, by the platform's hints and by the time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidegate.errors import NotOurs, TidegateError
from tidegate.mirror.report import Report
from tidegate.port import ChannelId


@dataclass(slots=True)
class Wish:
    """What the next cycle is for: *channels*, or everything when it is *whole*; *askers* wait for its report.

    Where only *archives* wait to be judged and worked off, no cycle is made at all.
    """

    whole: bool = False
    archives: bool = False
    channels: set[ChannelId] = field(default_factory=set)
    askers: list[asyncio.Future[Report]] = field(default_factory=list)

    @property
    def wants_cycle(self) -> bool:
        return self.whole or bool(self.channels)

    def fulfil(self, report: Report) -> None:
        """Give every asker the report."""
        for asker in self._waiting():
            asker.set_result(report)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell every asker when there is none, and why; the failure goes on to whoever serves the account."""
        try:
            yield
        except (NotOurs, asyncio.CancelledError):
            for asker in self._waiting():
                asker.cancel()  # a command stays with its account: whoever serves it next takes it up again
            raise
        except TidegateError as problem:
            for asker in self._waiting():
                asker.set_exception(problem)
            raise

    def _waiting(self) -> list[asyncio.Future[Report]]:
        return [asker for asker in self.askers if not asker.done()]


class Desk:
    """Where wishes for one account's next cycle are left."""

    def __init__(self) -> None:
        self._wish = Wish()
        self._left = asyncio.Event()

    def ask(self, channel: ChannelId | None) -> asyncio.Future[Report]:
        """Ask for a cycle over *channel*, or over everything; the future is its report."""
        self.hint(channel)
        report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._wish.askers.append(report)
        return report

    def hint(self, channel: ChannelId | None) -> None:
        """Something changed in *channel*, or nobody knows where."""
        if channel is None:
            self._wish.whole = True
        else:
            self._wish.channels.add(channel)
        self._left.set()

    def note_archives(self) -> None:
        """Archives have come without a cycle, or may have become whole meanwhile."""
        self._wish.archives = True
        self._left.set()

    @property
    def is_asked(self) -> bool:
        """Whether a person waits for the next cycle."""
        return bool(self._wish.askers)

    def take(self) -> Wish:
        """Everything wished for so far; what is wished from now on is for the cycle after."""
        taken, self._wish = self._wish, Wish()
        self._left.clear()
        return taken

    async def left(self) -> None:
        """Wait until something is wished for."""
        await self._left.wait()
