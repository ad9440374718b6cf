"""What a worker that died left behind: parts in mid-send, resent only where that is harmless (law 6)."""

from __future__ import annotations

import structlog

from tidegate.lanes import Lane
from tidegate.rules.delivering import PartState, after_crash
from tidegate.store import accounts, doubtful_parts
from tidegate.store.database import Connection, Database
from tidegate.store.doubtful_parts import LeftBehind

log = structlog.get_logger()

LEFT_BEHIND = "Its worker ended while it was being sent, so nobody knows whether it arrived."


async def take_up(lane: Lane, database: Database) -> int:
    """Settle what was being sent when nobody served the account any more; returns how many parts that were."""
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        left = await doubtful_parts.left_behind(connection, lane.account.id)
        for one in left:
            state = await _settle(connection, lane, one)
            log.info(
                "run.taken_up", run=one.place.run, target=one.place.target, part=one.place.number, state=state.value
            )
    return len(left)


async def _settle(connection: Connection, lane: Lane, one: LeftBehind) -> PartState:
    again = after_crash(
        removes_duplicates=lane.removes_duplicates, for_how_long=lane.recognises_for, claimed_ago=one.claimed_ago
    )
    if again is PartState.PENDING:
        await doubtful_parts.resend(connection, one.place, LEFT_BEHIND)
        return again
    await doubtful_parts.doubt(connection, one.place, LEFT_BEHIND)
    settled = one.when_unknown.settles_as
    if settled is not None:
        await doubtful_parts.settle(connection, one.place.run, settled, targets=[one.place.target])
    return settled or PartState.UNKNOWN
