"""Problems of sending: everything paused, runs that wait for a person, messages that may not have arrived."""

from __future__ import annotations

import asyncpg

from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection
from tidegate.problems.problem import Problem, ProblemKind, ProblemLimits

_PAUSES = {
    "restore": "is paused, because the database was restored and its last sends may be missing",
    "upload": "is paused, because a file could not be uploaded",
}


async def all_paused(connection: Connection) -> list[Problem]:
    """A person paused all sending, which is easily forgotten."""
    since = await connection.fetchval("SELECT runs_paused_at FROM house")
    if since is None:
        return []
    resume = "Resume it: tidegate runs resume --all"
    return [Problem(ProblemKind.SENDING_PAUSED, "All sending is paused.", resume, since)]


async def waiting_runs(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """Open runs that a person must decide about."""
    rows = await connection.fetch(
        """
        SELECT r.id, r.name, r.state, r.paused_by, r.cause, r.paused_at, doubt.messages, doubt.since
        FROM runs r
        LEFT JOIN LATERAL (
            SELECT count(*) AS messages, min(p.claimed_at) AS since FROM run_parts p
            WHERE p.run = r.id AND p.state = 'unknown'
        ) AS doubt ON true
        WHERE r.state <> 'ended'
          AND (r.state = 'needs_attention' OR r.paused_by IN ('restore', 'upload')
               OR doubt.since < clock_now() - $1::interval)
        ORDER BY r.id
        """,
        limits.unknown_for,
    )
    return [_waiting(row) for row in rows]


def _waiting(row: asyncpg.Record) -> Problem:
    number, run = str(row["id"]), f'Run {row["id"]} of "{row["name"]}"'
    if row["paused_by"] in _PAUSES:
        cause = f" {row['cause']}" if row["cause"] else ""
        what = f"{run} {_PAUSES[row['paused_by']]}.{cause}"
        action = f"Look at it, then resume or cancel it: tidegate runs show {number}, tidegate runs resume {number}"
        return Problem(ProblemKind.RUN_PAUSED, what, action, row["paused_at"], number)
    waits = row["state"] == "needs_attention"
    kind = ProblemKind.RUN_NEEDS_ATTENTION if waits else ProblemKind.OUTCOME_UNKNOWN
    what = f"{run}: delivery of {counted(row['messages'], 'message')} is not confirmed."
    return Problem(kind, what, f"Decide: tidegate runs resolve {number} --as sent|resend|skip", row["since"], number)


async def undelivered(connection: Connection, limits: ProblemLimits) -> list[Problem]:
    """The last run of a reminder, if it ended lately without reaching every group, and nobody saw to the others.

    A newer run of the reminder takes its place, and so does a reminder that was made for the groups that are left.
    """
    rows = await connection.fetch(
        """
        SELECT r.id, r.name, r.status, r.error_summary, r.ended_at
        FROM runs r
        WHERE r.state = 'ended' AND r.ended_at > (SELECT clock_now()) - $1::interval AND NOT r.test
          AND r.status IN ('failed', 'partial')
          AND NOT EXISTS (SELECT FROM runs n WHERE n.reminder = r.reminder AND n.id > r.id AND NOT n.test)
          AND NOT EXISTS (SELECT FROM reminders d WHERE d.rest_of = r.id)
        ORDER BY r.id
        """,
        limits.not_delivered_within,
    )
    return [
        Problem(
            ProblemKind.RUN_NOT_DELIVERED,
            f'Run {row["id"]} of "{row["name"]}" was {_delivered(row["status"])}. {row["error_summary"]}'.rstrip(),
            f"See who is left: tidegate runs show {row['id']}. Send to them: tidegate runs remainder {row['id']} "
            "--account NAME",
            row["ended_at"],
            str(row["id"]),
        )
        for row in rows
    ]


def _delivered(status: str) -> str:
    return "partly delivered" if status == "partial" else "not delivered"
