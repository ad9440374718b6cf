"""What a command about many histories reports: one result for each channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from tidegate.events.event_data import EventData


class ChannelResult(Protocol):
    """What was done for one channel; with an *error* it did not succeed."""

    error: str | None

    def event(self) -> EventData: ...


R = TypeVar("R", bound=ChannelResult)


@dataclass(frozen=True, slots=True)
class HistoryReport(Generic[R]):
    """What was done for each channel."""

    channels: list[R] = field(default_factory=list)

    @property
    def succeeded(self) -> int:
        return sum(one.error is None for one in self.channels)

    def as_json(self) -> dict[str, Any]:
        """The answer of ``tidegate backfill`` and ``tidegate reconcile``."""
        return {
            "channels": [one.event().as_json() for one in self.channels],
            "succeeded": self.succeeded,
            "failed": len(self.channels) - self.succeeded,
        }
