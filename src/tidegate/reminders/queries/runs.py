"""Runs: one firing of a reminder each, what state they are in, and what is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.core.errors import NotThere
from tidegate.core.ids import AccountId, ReminderId, RunId
from tidegate.core.rules.wall_clock import zone_named
from tidegate.database.pool import Connection
from tidegate.lanes.rules.send_estimate import QueuedSends
from tidegate.lanes.rules.send_hours import DAY, GRACE, SendWindow, WindowDay
from tidegate.reminders.rules.run_summary import RunState, RunStatus
from tidegate.reminders.rules.send_states import SendState, WhenUnknown


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the store knows it. *counts* are its targets by state once it has ended.

    *behind* is the older run of its account that is sent before it.
    """

    id: RunId
    reminder: ReminderId | None
    name: str
    account: AccountId
    account_name: str
    test: bool
    due_at: datetime | None
    fired_at: datetime
    window: SendWindow
    opening: WindowDay
    resumes_next: bool
    finishes_begun: bool
    when_unknown: WhenUnknown
    state: RunState
    paused_by: str | None
    cause: str
    held_until: datetime | None
    status: RunStatus | None
    error_summary: str
    counts: Mapping[str, int] | None
    uploads: int
    began_at: datetime | None
    paused_for: timedelta
    cancelled_at: datetime | None
    ended_at: datetime | None
    behind: RunId | None
    now: datetime

    @property
    def is_shut(self) -> bool:
        """Whether its window has closed, and the extra time for begun targets has passed too."""
        return self.now >= self.opening.closes + (GRACE if self.finishes_begun else timedelta())

    @property
    def could_send_from(self) -> datetime:
        """When its first send could have been made: at its due time, or when its window opened after that."""
        return max(self.opening.opens, self.due_at or self.fired_at)


LOOK_AT_RUNS = "look_at_runs"
"""The command by which an account's worker looks at its reminders and runs at once. A later worker looks anyway."""

AT_A_TIME = 100
"""How many old runs are deleted at once, since each may have thousands of parts."""

_RUN = """
    SELECT r.*, a.name AS account_name, clock_now() AS now,
        CASE WHEN r.state = 'running' AND r.cancelled_at IS NULL THEN (
            SELECT min(o.id) FROM runs o
            WHERE o.account = r.account AND o.id < r.id AND o.state = 'running' AND o.cancelled_at IS NULL
              AND o.opens_at <= clock_now() AND clock_now() < o.closes_at
              AND (o.held_until IS NULL OR o.held_until <= clock_now())
              AND EXISTS (SELECT FROM run_parts p WHERE p.run = o.id AND p.state IN ('pending', 'sending'))
        ) END AS behind
    FROM runs r JOIN accounts a ON a.id = r.account
"""


async def find(connection: Connection, run: RunId, *, lock: bool = False) -> Run:
    """The run of that number; ``NotThere`` when there is none. *lock* prevents others from changing it."""
    row = await connection.fetchrow(f"{_RUN} WHERE r.id = $1{' FOR UPDATE OF r' if lock else ''}", run)
    if row is None:
        raise _not_there(run)
    return _run(row)


async def begin(connection: Connection, run: RunId) -> Run:
    """A run that is about to be sent; *began_at* is None the first time, and is set now."""
    row = await connection.fetchrow(
        f"""
        WITH begun AS (UPDATE runs SET began_at = clock_now() WHERE id = $1 AND began_at IS NULL)
        {_RUN} WHERE r.id = $1
        """,
        run,
    )
    if row is None:
        raise _not_there(run)
    return _run(row)


async def listing(
    connection: Connection,
    *,
    account: AccountId | None = None,
    ended: bool | None = None,
    before: RunId | None = None,
    limit: int = 50,
) -> list[Run]:
    """Runs, newest first; of one account, only those that have *ended* or not, and *before* one, where given."""
    rows = await connection.fetch(
        f"""{_RUN}
        WHERE ($1::bigint IS NULL OR r.account = $1) AND ($2::boolean IS NULL OR (r.state = 'ended') = $2)
          AND ($4::bigint IS NULL OR r.id < $4)
        ORDER BY r.id DESC
        LIMIT $3
        """,
        account, ended, limit, before,
    )  # fmt: skip
    return [_run(row) for row in rows]


async def open_of(connection: Connection, account: AccountId) -> list[Run]:
    """An account's runs that have not ended, the oldest first."""
    rows = await connection.fetch(f"{_RUN} WHERE r.account = $1 AND r.state <> 'ended' ORDER BY r.id", account)
    return [_run(row) for row in rows]


@dataclass(frozen=True, slots=True)
class SendingTotals:
    """How many runs have not ended, and how many reminders will be sent by their schedule."""

    runs: int
    scheduled: int


async def totals(connection: Connection) -> SendingTotals:
    """What a pause of all sending concerns."""
    row = await connection.fetchrow(
        """
        SELECT (SELECT count(*) FROM runs WHERE state <> 'ended') AS runs,
            (SELECT count(*) FROM reminders WHERE due_at IS NOT NULL) AS scheduled
        """
    )
    assert row is not None
    return SendingTotals(**row)


async def counts(connection: Connection, runs: Collection[RunId]) -> dict[RunId, Counter[SendState]]:
    """How many targets of each of these runs are in which state."""
    rows = await connection.fetch(
        "SELECT run, state, count(*) FROM run_target_states WHERE run = ANY($1) GROUP BY run, state", list(runs)
    )
    found = {run: Counter[SendState]() for run in runs}
    for row in rows:
        found[RunId(row["run"])][SendState(row["state"])] = row["count"]
    return found


# What is due


@dataclass(frozen=True, slots=True)
class DueRuns:
    """What is due of an account's reminders and runs.

    *at_rest* are runs whose state must change: their window opened or closed, or nothing of them is left to send.
    *next_to_send* is the oldest run with a part to send now; runs that wait, rest or are held are skipped.
    """

    has_firing: bool
    at_rest: Sequence[RunId]
    next_to_send: RunId | None


async def due(connection: Connection, account: AccountId, *, only: Collection[RunId] | None = None) -> DueRuns:
    """What there is to do for an account, in one query; *only* one of these is next, where a command asked for them."""
    row = await connection.fetchrow(
        """
        WITH t AS (SELECT clock_now() AS now)
        SELECT EXISTS (SELECT FROM reminders d WHERE d.account = $1 AND d.due_at <= t.now) AS has_firing, ARRAY(
            SELECT r.id
            FROM runs r
            WHERE r.account = $1
              AND (r.state = 'waiting' AND r.opens_at <= t.now
                   OR r.state = 'running' AND (
                       r.cancelled_at IS NOT NULL OR t.now < r.opens_at OR t.now >= r.closes_at
                       OR NOT EXISTS (SELECT FROM run_target_states s
                                      WHERE s.run = r.id AND s.state IN ('pending', 'sending'))
                   ))
            ORDER BY r.id
        ) AS at_rest, (
            SELECT r.id
            FROM runs r
            WHERE r.account = $1 AND r.state = 'running' AND r.cancelled_at IS NULL AND r.opens_at <= t.now
              AND (r.held_until IS NULL OR r.held_until <= t.now)
              AND ($3::bigint[] IS NULL OR r.id = ANY($3))
              AND EXISTS (
                  SELECT FROM run_parts p
                  WHERE p.run = r.id AND p.state = 'pending' AND (p.not_before IS NULL OR p.not_before <= t.now)
                    AND t.now < r.closes_at
                        + CASE WHEN r.begun_target = 'finish' AND p.number > 1 THEN $2::interval ELSE '0' END
                    AND NOT EXISTS (SELECT FROM run_parts e WHERE e.run = p.run AND e.target = p.target
                                    AND e.number < p.number AND e.state <> 'sent')
              )
            ORDER BY r.id
            LIMIT 1
        ) AS next_to_send
        FROM t
        """,
        account, GRACE, None if only is None else list(only),
    )  # fmt: skip
    assert row is not None  # the clock always answers
    return DueRuns(**row)


async def next_moment(connection: Connection, account: AccountId) -> timedelta | None:
    """How long until something of an account's reminders or runs is due; None when nothing is."""
    left: timedelta | None = await connection.fetchval(
        """
        WITH t AS (SELECT clock_now() AS now), moments AS (
            SELECT due_at AS at FROM reminders WHERE account = $1
            UNION ALL
            SELECT opens_at FROM runs WHERE account = $1 AND state = 'waiting'
            UNION ALL
            SELECT m FROM t, runs, unnest(ARRAY[closes_at, closes_at + $2::interval]) AS m
            WHERE account = $1 AND state = 'running' AND m > t.now
            UNION ALL
            SELECT greatest(p.not_before, r.held_until) FROM runs r JOIN run_parts p ON p.run = r.id
            WHERE r.account = $1 AND r.state = 'running' AND p.state = 'pending'
        )
        SELECT min(greatest(m.at - t.now, '0')) FROM t, moments m WHERE m.at IS NOT NULL
        """,
        account, GRACE,
    )  # fmt: skip
    return left


async def queued(connection: Connection, account: AccountId) -> list[QueuedSends]:
    """What an account's runs have yet to send, the oldest first; paused runs are left out."""
    rows = await connection.fetch(
        """
        SELECT count(*) AS sends, r.opens_at, r.closes_at, r.when_window_closes = 'stop' AS ends
        FROM runs r JOIN run_parts p ON p.run = r.id
        WHERE r.account = $1 AND r.state NOT IN ('ended', 'paused') AND p.state IN ('pending', 'sending')
        GROUP BY r.id
        ORDER BY r.id
        """,
        account,
    )
    return [QueuedSends(row["sends"], WindowDay(row["opens_at"], row["closes_at"]), row["ends"]) for row in rows]


async def paused_sends(connection: Connection, account: AccountId) -> dict[RunId, int]:
    """What an account's paused runs have yet to send, by run."""
    rows = await connection.fetch(
        """
        SELECT r.id, count(*) AS sends FROM runs r JOIN run_parts p ON p.run = r.id
        WHERE r.account = $1 AND r.state = 'paused' AND p.state IN ('pending', 'sending')
        GROUP BY r.id ORDER BY r.id
        """,
        account,
    )
    return {RunId(row["id"]): row["sends"] for row in rows}


@dataclass(frozen=True, slots=True)
class SendsMade:
    """What an account sent while a run could have: *sends* since it was due, *in_a_day* in the day up to its close."""

    sends: int
    in_a_day: int
    rate: int
    per_hour: int | None
    per_day: int | None


async def spent_meanwhile(connection: Connection, run: Run) -> SendsMade | None:
    """What the account of a run sent in any run until the window closed, and what it was allowed."""
    row = await connection.fetchrow(
        """
        SELECT count(c.id) FILTER (WHERE c.at >= $2) AS sends, count(c.id) FILTER (WHERE c.at >= $4) AS in_a_day,
            p.rate, p.per_hour, least(p.per_day, p.warm_cap) AS per_day
        FROM pace p
        LEFT JOIN calls c ON c.account = p.account AND c.charged
          AND c.at >= least($2::timestamptz, $4::timestamptz) AND c.at < $3
        WHERE p.account = $1
        GROUP BY p.account
        """,
        run.account, run.could_send_from, run.opening.closes, run.opening.closes - DAY,
    )  # fmt: skip
    return None if row is None else SendsMade(**row)


async def prune(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* runs that ended before that instant, with their targets and parts."""
    removed = await connection.fetch(
        "DELETE FROM runs "
        "WHERE id IN (SELECT id FROM runs WHERE state = 'ended' AND ended_at < $1 LIMIT $2) RETURNING 1",
        before, min(limit, AT_A_TIME),
    )  # fmt: skip
    return len(removed)


def _not_there(run: RunId) -> NotThere:
    return NotThere(f"run {run}", "See them with: tidegate runs list")


def _run(row: asyncpg.Record) -> Run:
    return Run(
        id=RunId(row["id"]),
        reminder=None if row["reminder"] is None else ReminderId(row["reminder"]),
        name=row["name"],
        account=AccountId(row["account"]),
        account_name=row["account_name"],
        test=row["test"],
        due_at=row["due_at"],
        fired_at=row["fired_at"],
        window=SendWindow(row["start_hour"], row["end_hour"], zone_named(row["timezone"])),
        opening=WindowDay(row["opens_at"], row["closes_at"]),
        resumes_next=row["when_window_closes"] == "resume_next",
        finishes_begun=row["begun_target"] == "finish",
        when_unknown=WhenUnknown(row["when_unknown"]),
        state=RunState(row["state"]),
        paused_by=row["paused_by"],
        cause=row["cause"],
        held_until=row["held_until"],
        status=RunStatus(row["status"]) if row["status"] else None,
        error_summary=row["error_summary"],
        counts=row["counts"],
        uploads=row["uploads"],
        began_at=row["began_at"],
        paused_for=row["paused_for"],
        cancelled_at=row["cancelled_at"],
        ended_at=row["ended_at"],
        behind=None if row["behind"] is None else RunId(row["behind"]),
        now=row["now"],
    )
