"""A platform that is far away, in held time: each call takes a while, and so does each byte upwards."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tidegate.core.clock import HeldClock
from tidegate.platforms.telegram.connection import TelegramConnection

ROUND_TRIP = timedelta(milliseconds=100)
BYTES_PER_SECOND = 2_500_000
"""What a line of 20 Mbit/s takes upwards."""


@dataclass
class Distance:
    """Lets the time pass that calls take, and holds the clock still only while one is really under way."""

    clock: HeldClock
    under_way: int = 0

    def __post_init__(self) -> None:
        self.clock.busy_when(lambda: self.under_way > 0)

    async def travel(self, size: int) -> None:
        """Wait as long as so many bytes take to get there and their answer to come back."""
        await self.clock.sleep(ROUND_TRIP + timedelta(seconds=size / BYTES_PER_SECOND))

    def __enter__(self) -> None:
        self.under_way += 1

    def __exit__(self, *_: object) -> None:
        self.under_way -= 1


class FarWire:
    """A Telegram connection of Tidegate's own over a distance; everything but asking is as it was."""

    def __init__(self, wire: TelegramConnection, distance: Distance) -> None:
        self._wire = wire
        self._distance = distance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)

    async def ask(self, request: Any, *, centre: int | None = None) -> Any:
        await self._distance.travel(len(bytes(request)))
        with self._distance:
            return await self._wire.ask(request, centre=centre)
