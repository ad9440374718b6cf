"""Parts that a dead worker was sending: resent only where that is harmless (claim-before-send)."""

from __future__ import annotations

import structlog

from tidegate.accounts.queries import accounts
from tidegate.database.pool import Connection, Database
from tidegate.lanes import Lane
from tidegate.reminders.queries import unknown_sends
from tidegate.reminders.queries.unknown_sends import LeftBehind
from tidegate.reminders.rules.send_states import SendState, after_crash

log = structlog.get_logger()

LEFT_BEHIND = "Its worker ended while it was being sent, so nobody knows whether it arrived."


async def recover_parts(lane: Lane, database: Database) -> int:
    """Give a known state to the parts that an earlier owner of the account was sending; returns how many there were."""
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        left = await unknown_sends.left_behind(connection, lane.account.id)
        for one in left:
            state = await _recover(connection, lane, one)
            log.info(
                "run.taken_up", run=one.place.run, target=one.place.target, part=one.place.number, state=state.value
            )
    return len(left)


async def _recover(connection: Connection, lane: Lane, one: LeftBehind) -> SendState:
    again = after_crash(
        removes_duplicates=lane.removes_duplicates, for_how_long=lane.recognises_for, claimed_ago=one.claimed_ago
    )
    if again is SendState.PENDING:
        await unknown_sends.resend(connection, one.place, LEFT_BEHIND)
        return again
    await unknown_sends.doubt(connection, one.place, LEFT_BEHIND)
    resolved = one.when_unknown.resolves_to
    if resolved is not None:
        await unknown_sends.resolve(connection, one.place.run, resolved, targets=[one.place.target])
    return resolved or SendState.UNKNOWN
