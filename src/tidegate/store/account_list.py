"""Accounts as the page shows them: their health, pace and warm-up, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.store.database import Connection
from tidegate.words import AccountState, Platform, Standing

AT_A_TIME = 50


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """An account. *sent*, *read* and *errors* are of the last 24 hours; *warm_cap* is what a warm-up allows today.

    *state_why* is what was said when it was stopped.
    """

    id: int
    name: str
    platform: Platform
    standing: Standing
    state: AccountState
    state_until: datetime | None
    state_why: str | None
    loopback: str | None
    served_by: str | None
    paused_until: datetime | None
    rate: int | None
    ceiling: int | None
    per_hour: int | None
    per_day: int | None
    warm_since: datetime | None
    warm_cap: int | None
    sent: int
    read: int
    errors: int
    last_cycle_at: datetime | None
    channels: int

    @property
    def next_action(self) -> str:
        return self.state.next_action.replace("NAME", self.name)


_SHOWN = """
    WITH shown AS (
        SELECT * FROM accounts
        WHERE ($1 = '' OR position(lower($1) IN lower(name)) > 0) AND id > $2 AND ($4::text IS NULL OR name = $4)
        ORDER BY id
        LIMIT $3
    ), lately AS (
        SELECT account, count(*) FILTER (WHERE charged) AS sent, count(*) FILTER (WHERE NOT charged) AS read,
            count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')) AS errors
        FROM calls
        WHERE at > clock_now() - interval '24 hours' AND kind = 'work' AND account IN (SELECT id FROM shown)
        GROUP BY account
    )
    SELECT s.id, s.name, s.platform, s.standing, s.state, s.state_until, s.state_why, s.loopback, w.name AS served_by,
        (SELECT max(until) FROM waits
         WHERE account = s.id AND kind = 'account' AND until > clock_now()) AS paused_until,
        p.rate, p.ceiling, p.per_hour, p.per_day, p.warm_since, p.warm_cap,
        coalesce(l.sent, 0) AS sent, coalesce(l.read, 0) AS read, coalesce(l.errors, 0) AS errors,
        (SELECT c.ended_at FROM cycles c WHERE c.account = s.id ORDER BY c.id DESC LIMIT 1) AS last_cycle_at,
        (SELECT count(*) FROM channels c WHERE c.reader = s.id AND c.enabled) AS channels
    FROM shown s
    LEFT JOIN workers w ON w.number = s.owner AND w.ended_at IS NULL
    LEFT JOIN pace p ON p.account = s.id
    LEFT JOIN lately l ON l.account = s.id
    ORDER BY s.id
"""


async def some(connection: Connection, *, like: str = "", after: int = 0) -> Sequence[ShownAccount]:
    """Accounts whose name has *like* in it, those after a number, so many at a time."""
    return [_shown(row) for row in await connection.fetch(_SHOWN, like, after, AT_A_TIME, None)]


async def one(connection: Connection, name: str) -> ShownAccount | None:
    """The account of that name."""
    row = await connection.fetchrow(_SHOWN, "", 0, 1, name)
    return _shown(row) if row else None


def _shown(row: asyncpg.Record) -> ShownAccount:
    kinds = {
        "platform": Platform(row["platform"]),
        "standing": Standing(row["standing"]),
        "state": AccountState(row["state"]),
    }
    return ShownAccount(**{**dict(row), **kinds})
