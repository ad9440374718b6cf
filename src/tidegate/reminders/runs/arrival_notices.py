"""Arrival notices that come late: an unknown part was sent after all (D-22)."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from tidegate.accounts.queries import accounts
from tidegate.core.errors import Banned, PlatformError, SignedOut
from tidegate.database.pool import AWAY, Database
from tidegate.lanes import Lane
from tidegate.lanes.metrics import count_foreign_receipt
from tidegate.platforms.interface.uploads import Arrived
from tidegate.reminders.queries import run_states, runs, unknown_sends
from tidegate.reminders.rules.send_states import arrived_run_part
from tidegate.reminders.runs.run_next_state import advance

log = structlog.get_logger()


async def note_arrivals(lane: Lane, database: Database, changed: Callable[[], None]) -> None:
    """Store the platform's notices of arrived messages, without end; calls *changed* for each that changes a run."""
    while True:
        arrived = await lane.next_arrival()
        try:
            if await note_arrival(lane, database, arrived):
                changed()
        except (SignedOut, Banned):
            raise
        except (*AWAY, PlatformError) as problem:
            log.warning("receipt.not_stored", account=lane.account.name, problem=str(problem))


async def note_arrival(lane: Lane, database: Database, arrived: Arrived) -> bool:
    """Mark the part that a notice is about as sent, even while its own send waits for the answer; False for none."""
    async with database.connection() as connection:
        parts = await unknown_sends.handed_over(connection, lane.account.id, arrived.channel)
    if not parts:
        return False
    place = arrived_run_part(arrived.message, {one: await lane.names_of(key) for one, key in parts.items()})
    if place is None:
        await _note_foreign(lane, database, arrived, in_doubt=len(parts))
        return False
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        run = await runs.find(connection, place.run, lock=True)
        if not await unknown_sends.note_arrived(connection, place, arrived.message):
            return False
        await run_states.reopen(connection, run)
        await advance(connection, run.id)
    return True


async def _note_foreign(lane: Lane, database: Database, arrived: Arrived, *, in_doubt: int) -> None:
    """Count a notice about no message of ours, where it could have been about a doubtful one."""
    async with database.connection() as connection:
        ours = await unknown_sends.is_sent(connection, lane.account.id, arrived.channel, arrived.message)
    if not ours:
        count_foreign_receipt(lane.account.platform)
        log.info("receipt.foreign", account=lane.account.name, channel=arrived.channel, in_doubt=in_doubt)
