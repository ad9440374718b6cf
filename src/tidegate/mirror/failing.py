"""How a set that could not be worked on goes on record, whatever was being done with it."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.lanes import Lane
from tidegate.rules import retrying
from tidegate.rules.retrying import FailureReason, FailureState, RetryHabits
from tidegate.store import accounts, contents
from tidegate.store.contents import Taken
from tidegate.store.database import Database

log = structlog.get_logger()


async def record_failure(
    lane: Lane, database: Database, habits: RetryHabits, taken: Taken, *, reason: FailureReason, detail: str = ""
) -> None:
    """Note one more try that failed, with the sentence an operator reads; the cap decides whether it is the last."""
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        now: datetime = await connection.fetchval("SELECT clock_now()")
        failure = retrying.fail(
            taken.earlier, message=taken.message, reason=reason, size=taken.size, habits=habits, now=now
        )
        given_up = retrying.state_of(failure, habits, now) is FailureState.GIVEN_UP
        await contents.fail(connection, taken, failure, detail, given_up=given_up)
    log.warning("archive.failed", archive=taken.archive, name=taken.name, reason=reason.value, detail=detail)
