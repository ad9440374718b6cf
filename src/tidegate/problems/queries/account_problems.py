"""Problems of accounts: signed out, banned, stopped, unreachable, or with channels that are not checked."""

from __future__ import annotations

from collections.abc import Mapping

import asyncpg

from tidegate.core.account import AccountState
from tidegate.core.platform import platform_named
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.problems.problem import Problem, ProblemKind, ProblemLimits

_KINDS: Mapping[str, ProblemKind] = {
    AccountState.SIGNED_OUT: ProblemKind.ACCOUNT_SIGNED_OUT,
    AccountState.BANNED: ProblemKind.ACCOUNT_BANNED,
}


async def stopped(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """Accounts that a person must bring back; a pause that a person made is none of them."""
    rows = await connection.fetch(
        """
        SELECT name, platform, state, state_why, unreachable_why, state_since, unreachable_since FROM accounts
        WHERE state IN ('signed_out', 'banned') OR state <> 'active' AND state_why IS NOT NULL
            OR state = 'active' AND unreachable_since < clock_now() - $1::interval
        ORDER BY id
        """,
        limits.unreachable_for,
    )
    return [_unreachable(row) if row["state"] == AccountState.ACTIVE else _stopped(row) for row in rows]


def _stopped(row: asyncpg.Record) -> Problem:
    state = AccountState(row["state"])
    why = f" {row['state_why']}" if row["state_why"] else ""
    what = f'Account "{row["name"]}" is {state.value.replace("_", " ")}.{why}'
    action = state.next_action.replace("NAME", row["name"])
    kind = _KINDS.get(state, ProblemKind.ACCOUNT_STOPPED)
    return Problem(kind, what, _sentence(action), row["state_since"], row["name"])


def _unreachable(row: asyncpg.Record) -> Problem:
    brand = platform_named(row["platform"]).brand
    what = f'Account "{row["name"]}" cannot reach {brand}: {row["unreachable_why"]}'
    action = "Check this machine's network; a worker keeps trying."
    return Problem(ProblemKind.ACCOUNT_UNREACHABLE, what, action, row["unreachable_since"], row["name"])


def _sentence(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


async def behind(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """Accounts that can work, and whose mirrored channels were not checked for far longer than they should be."""
    rows = await connection.fetch(
        """
        SELECT a.name, count(*) AS channels, coalesce(last.ended_at, a.made_at) AS since
        FROM accounts a
        JOIN channels c ON c.reader = a.id AND c.enabled
        JOIN unnest($1::text[], $2::interval[]) AS most (platform, unchecked) ON most.platform = a.platform
        LEFT JOIN LATERAL (
            SELECT ended_at FROM cycles WHERE account = a.id ORDER BY id DESC LIMIT 1
        ) AS last ON true
        WHERE a.state = 'active' AND a.unreachable_since IS NULL
          AND coalesce(last.ended_at, a.made_at) < clock_now() - most.unchecked
        GROUP BY a.id, last.ended_at
        ORDER BY a.id
        """,
        list(limits.checked_within), list(limits.checked_within.values()),
    )  # fmt: skip
    return [_behind(row) for row in rows]


def _behind(row: asyncpg.Record) -> Problem:
    are = "is" if row["channels"] == 1 else "are"
    what = f'{counted(row["channels"], "channel")} of account "{row["name"]}" {are} behind: no check has ended.'
    return Problem(
        ProblemKind.CHANNELS_BEHIND, what, f"Check now: tidegate cycle {row['name']}", row["since"], row["name"]
    )


async def unreadable(connection: Connection) -> list[Problem]:
    """Mirrored channels that no account can read any more; a channel that nobody sees has no reader."""
    row = await connection.fetchrow(
        """
        SELECT count(*) AS channels, min(c.title) AS title FROM channels c
        WHERE c.enabled AND c.state <> 'deleted' AND c.kind <> 'thread'
          AND (c.state = 'unreadable' OR c.reader IS NULL)
          AND (c.state = 'unreadable' OR NOT EXISTS (SELECT FROM sights s WHERE s.channel = c.id))
        """
    )
    assert row is not None
    if not row["channels"]:
        return []
    others = f" and {counted(row['channels'] - 1, 'other channel')}" if row["channels"] > 1 else ""
    what = f'No account can read "{row["title"]}"{others} any more.'
    action = "Join again and run: tidegate channel sync ACCOUNT. Or stop mirroring: tidegate channel disable CHANNEL"
    return [Problem(ProblemKind.CHANNELS_UNREADABLE, what, action)]
