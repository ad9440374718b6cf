"""Accounts as the page shows them: their health, pace and warm-up, some at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import asyncpg

from tidegate.accounts.rules.standing_upgrade import AccountRecord
from tidegate.core.account import AccountFields, AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.core.platform import platform_named, registered_platforms
from tidegate.database.pool import Connection

AT_A_TIME = 50


@dataclass(frozen=True, slots=True)
class ShownAccount(AccountFields):
    """An account. *sent*, *read* and *errors* are of the last 24 hours; *warm_cap* is what a warm-up allows today.

    *state_why* is the reason why it was stopped.
    """

    state_why: str | None
    unreachable_since: datetime | None
    unreachable_why: str | None
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


_SHOWN = """
    WITH shown AS (
        SELECT *, row_number() OVER (ORDER BY {order}, id) AS place FROM accounts
        WHERE ($1 = '' OR position(lower($1) IN lower(name)) > 0) AND ($4 = '' OR platform = $4) AND {condition}
          AND ($2 = 0 OR ({order}, id) > (SELECT {order}, id FROM accounts WHERE id = $2))
        ORDER BY place LIMIT $3
    ), lately AS (
        SELECT account, count(*) FILTER (WHERE charged) AS sent, count(*) FILTER (WHERE NOT charged) AS read,
            count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')) AS errors
        FROM calls
        WHERE at > (SELECT clock_now()) - interval '24 hours' AND kind = 'work' AND account IN (SELECT id FROM shown)
        GROUP BY account
    )
    SELECT s.id, s.name, s.platform, s.standing, s.state, s.state_until, s.state_why,
        s.unreachable_since, s.unreachable_why, s.loopback, w.name AS served_by,
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
    ORDER BY s.place
"""

_IN_ORDER = """natural_order(lower(name)) COLLATE "C" """


class AccountCondition(StrEnum):
    """How an account does, as a page shows it."""

    CONNECTED = "connected"
    NOT_CONNECTED = "not_connected"
    UNREACHABLE = "unreachable"
    PAUSED = "paused"
    SIGNED_OUT = "signed_out"
    BANNED = "banned"


_SERVED = "EXISTS (SELECT FROM workers w WHERE w.number = owner AND w.ended_at IS NULL)"
_CONDITIONS: Mapping[AccountCondition | None, str] = {
    None: "true",
    AccountCondition.CONNECTED: f"state = 'active' AND unreachable_since IS NULL AND {_SERVED}",
    AccountCondition.NOT_CONNECTED: f"state = 'active' AND unreachable_since IS NULL AND NOT {_SERVED}",
    AccountCondition.UNREACHABLE: "state = 'active' AND unreachable_since IS NOT NULL",
    AccountCondition.PAUSED: "state = 'paused'",
    AccountCondition.SIGNED_OUT: "state = 'signed_out'",
    AccountCondition.BANNED: "state = 'banned'",
}


async def some(
    connection: Connection,
    *,
    like: str = "",
    after: int = 0,
    platform: str = "",
    condition: AccountCondition | None = None,
) -> Sequence[ShownAccount]:
    """A page of accounts in natural order, after the one of that number, whose name contains *like*."""
    query = _SHOWN.format(order=_IN_ORDER, condition=_CONDITIONS[condition])
    return [_shown(row) for row in await connection.fetch(query, like, after, AT_A_TIME, platform)]


async def records(connection: Connection) -> dict[AccountId, AccountRecord]:
    """The records from which a higher standing is offered, of each account whose pace depends on its standing."""
    rows = await connection.fetch(
        """
        SELECT a.id, a.platform, a.standing, clock_now() - a.made_at AS age, p.claimed_at IS NOT NULL AS has_sent,
            p.warm_cap IS NOT NULL AS is_warming_up, clock_now() - p.cut_at AS warned_ago
        FROM accounts a JOIN pace p ON p.account = a.id
        WHERE a.platform = ANY($1) AND a.state = 'active' AND a.standing <> 'established'
        """,
        [platform.name for platform in registered_platforms() if platform.paced_by_standing],
    )
    return {
        AccountId(row["id"]): AccountRecord(
            platform_named(row["platform"]), Standing(row["standing"]), row["age"],
            has_sent=row["has_sent"], is_warming_up=row["is_warming_up"], warned_ago=row["warned_ago"],
        )
        for row in rows
    }  # fmt: skip


def _shown(row: asyncpg.Record) -> ShownAccount:
    kinds = {
        "platform": platform_named(row["platform"]),
        "standing": Standing(row["standing"]),
        "state": AccountState(row["state"]),
    }
    return ShownAccount(**{**dict(row), **kinds})
