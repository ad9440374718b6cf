"""What every scan of an account works with, and how a rate limited channel is parked."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.core.errors import LongWait
from tidegate.core.ids import CycleNumber
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.rules.call_bounds import CallLimits

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ScanContext:
    """What a scan works with: the account's lane, the database, and the number of its cycle, if any."""

    lane: Lane
    database: Database
    cycle: CycleNumber | None
    limits: CallLimits
    retries: RetryPolicy


async def park(context: ScanContext, place: ScanPlace, wait: LongWait) -> None:
    """Store how long the platform rate limits a channel. What was read is stored, so it resumes at that page."""
    log.info("channel.parked", account=context.lane.account.name, channel=place.channel, problem=str(wait))
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        await channels.park(connection, place.key, wait.pause)
