"""Events that tests record: of kinds that Tidegate does not know, and when readers see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.waiting import until
from tidegate.database.pool import Database
from tidegate.events.event_data import EventData
from tidegate.events.queries import feed


def unknown_event(kind: str = "test.happened", data: Mapping[str, Any] | None = None) -> EventData:
    """An event of a made-up kind with made-up data, as another release may have recorded it."""
    made: EventData = type("UnknownEvent", (EventData,), {"kind": kind, "as_json": lambda _: dict(data or {})})()
    return made


async def can_be_told(database: Database) -> None:
    """Wait for what was recorded: transactions of other tests on the server may hide it for a moment."""

    async def all_told() -> bool:
        async with database.connection() as connection:
            return not await feed.lag(connection)

    await until(all_told)
