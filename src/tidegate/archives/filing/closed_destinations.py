"""Checks whether closed destinations accept archives again: one cheap call, and no archive is moved for it."""

from __future__ import annotations

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.queries import closed_destinations
from tidegate.archives.queries.closed_destinations import ClosedDestination
from tidegate.archives.rules.retry import look_after
from tidegate.channels.queries import channels
from tidegate.core.errors import ENDS_CYCLE, PlatformError
from tidegate.core.ids import CycleNumber
from tidegate.database.pool import Database
from tidegate.lanes import Lane

log = structlog.get_logger()


async def look_at_destinations(lane: Lane, database: Database, *, cycle: CycleNumber | None) -> None:
    """Ask whether the account may post again where it could not, for those destinations whose time has come."""
    async with owned_transaction(database, lane.claim()) as connection:
        due = await closed_destinations.claim_looks(connection, lane.account.id)
    for one in due:
        may_post = await _may_post(lane, database, one, cycle)
        async with owned_transaction(database, lane.claim()) as connection:
            if may_post:
                await closed_destinations.try_again(connection, lane.account.id, one.key)
            else:
                await closed_destinations.look_later(connection, lane.account.id, one.key, look_after(one.looks))


async def _may_post(lane: Lane, database: Database, one: ClosedDestination, cycle: CycleNumber | None) -> bool:
    """Whether the account may post there, as the platform says, which is stored; False where it cannot be asked."""
    try:
        heads = await lane.heads([one.channel], cycle=cycle)
    except ENDS_CYCLE:
        raise
    except PlatformError as problem:
        log.warning("destination.not_asked", destination=one.title, problem=str(problem))
        return False
    seen = [head.channel for head in heads.values() if head.channel is not None]
    async with owned_transaction(database, lane.claim()) as connection:
        await channels.see(connection, lane.account.platform, lane.account.id, seen)
    return any(channel.id == one.channel and channel.may_post for channel in seen)
