"""Late words that messages have arrived: what was unknown is sent after all (D-22)."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from tidegate.lanes import Lane
from tidegate.port.media import Arrived
from tidegate.reminders.ending import settle
from tidegate.rules.delivering import PartState
from tidegate.store import accounts, doubtful_parts, run_moves, runs
from tidegate.store.database import AWAY, Database

log = structlog.get_logger()


async def hear_arrivals(lane: Lane, database: Database, settled: Callable[[], None]) -> None:
    """Take down what the platform tells of messages that arrived, without end; calls *settled* for each that helps."""
    while True:
        arrived = await lane.next_arrival()
        try:
            if await note_arrival(lane, database, arrived):
                settled()
        except AWAY as problem:
            log.warning("receipt.not_stored", account=lane.account.name, problem=str(problem))


async def note_arrival(lane: Lane, database: Database, arrived: Arrived) -> bool:
    """Mark the unknown part that a late word speaks of as sent; False when it speaks of none."""
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        place = await doubtful_parts.meant(connection, lane.account.id, arrived.channel, arrived.message, arrived.at)
        if place is None:
            return False
        run = await runs.find(connection, place.run, lock=True)
        await doubtful_parts.settle(connection, run.id, PartState.SENT, targets=[place.target], message=arrived.message)
        await run_moves.reopen(connection, run)
        await settle(connection, run.id)
    return True
