"""The data of the page of an account: its errors of the last day, and what would be deleted with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import AccountId, RunId
from tidegate.core.platform_call import CallOutcome
from tidegate.database.pool import Connection

_ERRORS = 100


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A request that did not succeed."""

    at: datetime
    method: str
    outcome: CallOutcome  # how it ended
    run: RunId | None  # the run of a reminder that it belongs to


@dataclass(frozen=True, slots=True)
class HeldByAccount:
    """What is deleted with an account, and the channels that only it reads."""

    reminders: int
    sends: int
    channels: int


async def errors(connection: Connection, account: AccountId) -> list[FailedCall]:
    """The newest requests of the last 24 hours that the accounts page counts as errors."""
    rows = await connection.fetch(
        """
        SELECT at, method, outcome, run FROM calls
        WHERE account = $1 AND at > (SELECT clock_now()) - interval '24 hours' AND kind = 'work'
          AND outcome IN ('asked_to_wait', 'unknown', 'failed')
        ORDER BY at DESC
        LIMIT $2
        """,
        account, _ERRORS,
    )  # fmt: skip
    return [
        FailedCall(
            row["at"], row["method"], CallOutcome(row["outcome"]), None if row["run"] is None else RunId(row["run"])
        )
        for row in rows
    ]


async def held(connection: Connection, account: AccountId) -> HeldByAccount:
    row = await connection.fetchrow(
        """
        SELECT (SELECT count(*) FROM reminders WHERE account = $1) AS reminders,
            (SELECT count(*) FROM runs WHERE account = $1) AS sends,
            (SELECT count(*) FROM channels c WHERE c.reader = $1 AND c.enabled
                AND NOT EXISTS (SELECT FROM sights s WHERE s.channel = c.id AND s.account <> $1)) AS channels
        """,
        account,
    )
    assert row is not None
    return HeldByAccount(**dict(row))
