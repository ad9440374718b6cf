"""How much Tidegate does, in a few figures, for a glance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.database.pool import Connection
from tidegate.workers.queries.workers import SERVED


@dataclass(frozen=True, slots=True)
class ServiceSummary:
    """Accounts and how many of them are connected, mirrored channels and their last check, runs, the next reminder."""

    accounts: int
    connected: int
    channels: int
    checked_at: datetime | None
    runs: int
    next_reminder: str | None
    next_due_at: datetime | None
    next_zone: str | None
    backed_up_at: datetime | None


async def summary(connection: Connection) -> ServiceSummary:
    """The figures, in one query."""
    row = await connection.fetchrow(
        f"""
        SELECT (SELECT count(*) FROM accounts) AS accounts,
            (SELECT count(*) FROM accounts
             WHERE state = 'active' AND unreachable_since IS NULL AND id IN ({SERVED})) AS connected,
            (SELECT count(*) FROM channels WHERE enabled AND kind <> 'thread') AS channels,
            (SELECT max(ended_at) FROM cycles) AS checked_at,
            (SELECT count(*) FROM runs WHERE state <> 'ended') AS runs,
            next.name AS next_reminder, next.due_at AS next_due_at, next.zone AS next_zone, house.backed_up_at
        FROM house LEFT JOIN LATERAL (
            SELECT name, due_at, timezone AS zone FROM reminders
            WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
        ) AS next ON true
        """
    )
    assert row is not None
    return ServiceSummary(**row)
