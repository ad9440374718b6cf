"""Runs: one firing of a reminder each, what state they are in, and what is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.errors import NotThere
from tidegate.rules.capacity import Queued
from tidegate.rules.delivering import RunState, RunStatus, TargetState, WhenUnknown
from tidegate.rules.window import DAY, GRACE, Opening, Window, zone_named
from tidegate.store.database import Connection
from tidegate.words import AccountId, ReminderId, RunId


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the store knows it. *counts* are its targets by state once it has ended."""

    id: RunId
    reminder: ReminderId | None
    name: str
    account: AccountId
    account_name: str
    test: bool
    due_at: datetime | None
    fired_at: datetime
    window: Window
    opening: Opening
    resumes_next: bool
    finishes_begun: bool
    when_unknown: WhenUnknown
    state: RunState
    paused_by: str | None
    status: RunStatus | None
    error_summary: str
    counts: Mapping[str, int] | None
    uploads: int
    began_at: datetime | None
    paused_for: timedelta
    cancelled_at: datetime | None
    ended_at: datetime | None
    now: datetime

    @property
    def is_shut(self) -> bool:
        """Whether its window has closed, and the time after it in which begun targets may finish is over too."""
        return self.now >= self.opening.closes + (GRACE if self.finishes_begun else timedelta())

    @property
    def could_send_from(self) -> datetime:
        """When its first send could have been made: at its due time, or when its window opened after that."""
        return max(self.opening.opens, self.due_at or self.fired_at)


AT_A_TIME = 100
"""How many old runs are removed in one go, since each may have thousands of parts."""

_RUN = """
    SELECT r.*, a.name AS account_name, clock_now() AS now
    FROM runs r JOIN accounts a ON a.id = r.account
"""


async def find(connection: Connection, run: RunId, *, lock: bool = False) -> Run:
    """The run of that number, or a sentence; *lock* keeps others from moving it."""
    row = await connection.fetchrow(f"{_RUN} WHERE r.id = $1{' FOR UPDATE OF r' if lock else ''}", run)
    return _found(row, run)


async def begin_turn(connection: Connection, run: RunId) -> Run:
    """A run as it was before this turn, noting when the first send of it comes up; *began_at* is None then."""
    row = await connection.fetchrow(
        f"""
        WITH begun AS (UPDATE runs SET began_at = clock_now() WHERE id = $1 AND began_at IS NULL)
        {_RUN} WHERE r.id = $1
        """,
        run,
    )
    return _found(row, run)


async def listing(
    connection: Connection,
    *,
    account: AccountId | None = None,
    ended: bool | None = None,
    before: int | None = None,
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


async def counts(connection: Connection, runs: Collection[RunId]) -> dict[RunId, Counter[TargetState]]:
    """How many targets of each of these runs are in which state."""
    rows = await connection.fetch(
        "SELECT run, state, count(*) FROM run_target_states WHERE run = ANY($1) GROUP BY run, state", list(runs)
    )
    found = {run: Counter[TargetState]() for run in runs}
    for row in rows:
        found[RunId(row["run"])][TargetState(row["state"])] = row["count"]
    return found


# When what is next


@dataclass(frozen=True, slots=True)
class Wants:
    """What an account's reminders and runs want now.

    *at_rest* are runs whose state has to move: their window opened or closed, or nothing of them is left to send.
    *next_to_send* is the oldest with a part to send now; those that wait, rest or are held are passed over.
    """

    is_due: bool
    at_rest: Sequence[RunId]
    next_to_send: RunId | None


async def wants(connection: Connection, account: AccountId, *, only: Collection[RunId] | None = None) -> Wants:
    """What there is to do for an account, in one look; *only* one of these is next, where a command asked for them."""
    row = await connection.fetchrow(
        """
        WITH t AS (SELECT clock_now() AS now)
        SELECT EXISTS (SELECT FROM reminders d WHERE d.account = $1 AND d.due_at <= t.now) AS is_due, ARRAY(
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
    return Wants(**row)


async def next_moment(connection: Connection, account: AccountId) -> timedelta | None:
    """How long until something of an account's reminders or runs is due; None when nothing is foreseen."""
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
            SELECT p.not_before FROM runs r JOIN run_parts p ON p.run = r.id
            WHERE r.account = $1 AND r.state = 'running' AND p.state = 'pending'
        )
        SELECT min(greatest(m.at - t.now, '0')) FROM t, moments m WHERE m.at IS NOT NULL
        """,
        account, GRACE,
    )  # fmt: skip
    return left


async def queued(connection: Connection, account: AccountId) -> list[Queued]:
    """What an account's runs have yet to send, the oldest first, those that are paused among them."""
    rows = await connection.fetch(
        """
        SELECT count(*) AS sends, r.opens_at, r.closes_at, r.state = 'paused' AS rests,
            r.when_window_closes = 'stop' AS ends
        FROM runs r JOIN run_parts p ON p.run = r.id
        WHERE r.account = $1 AND r.state <> 'ended' AND p.state IN ('pending', 'sending')
        GROUP BY r.id
        ORDER BY r.id
        """,
        account,
    )
    return [Queued(row["sends"], Opening(row["opens_at"], row["closes_at"]), row["rests"], row["ends"]) for row in rows]


@dataclass(frozen=True, slots=True)
class Spent:
    """What an account sent while a run could have: *sends* since it was due, *in_a_day* in the day up to its close."""

    sends: int
    in_a_day: int
    rate: int
    per_hour: int | None
    per_day: int | None


async def spent_meanwhile(connection: Connection, run: Run) -> Spent | None:
    """What the account of a run sent up to the close of its window, for whichever run, and what it was allowed."""
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
    return None if row is None else Spent(**row)


async def prune(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* runs that ended before that instant, with all they delivered."""
    removed = await connection.fetch(
        "DELETE FROM runs "
        "WHERE id IN (SELECT id FROM runs WHERE state = 'ended' AND ended_at < $1 LIMIT $2) RETURNING 1",
        before, min(limit, AT_A_TIME),
    )  # fmt: skip
    return len(removed)


def _found(row: asyncpg.Record | None, run: RunId) -> Run:
    if row is None:
        raise NotThere(f"run {run}", "See them with: tidegate runs list")
    return _run(row)


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
        window=Window(row["start_hour"], row["end_hour"], zone_named(row["timezone"])),
        opening=Opening(row["opens_at"], row["closes_at"]),
        resumes_next=row["when_window_closes"] == "resume_next",
        finishes_begun=row["begun_target"] == "finish",
        when_unknown=WhenUnknown(row["when_unknown"]),
        state=RunState(row["state"]),
        paused_by=row["paused_by"],
        status=RunStatus(row["status"]) if row["status"] else None,
        error_summary=row["error_summary"],
        counts=row["counts"],
        uploads=row["uploads"],
        began_at=row["began_at"],
        paused_for=row["paused_for"],
        cancelled_at=row["cancelled_at"],
        ended_at=row["ended_at"],
        now=row["now"],
    )
