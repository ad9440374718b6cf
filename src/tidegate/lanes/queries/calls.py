"""The call log (ledger): every platform call, its purpose and its outcome (calls-through-a-lane).

A send is written before it is made (``claim_send``). All other calls are noted in memory and written once a second,
so that nothing blocks a call; kill -9 loses at most that second.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

import asyncpg
import structlog
from prometheus_client import Counter

from tidegate.core.clock import Clock
from tidegate.core.ids import AccountId, CallId, CycleNumber, RunId
from tidegate.core.platform_call import CallKind, CallOutcome
from tidegate.database.pool import Connection, Database

_EVERY = timedelta(seconds=1)
_BATCH = 10_000
_TRIES_AT_CLOSE = 5
_FAILED = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)

_DROPPED = Counter("tidegate_ledger_dropped_total", "Calls the ledger could not keep while the database was away.")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Note:
    account: AccountId
    kind: CallKind
    method: str
    outcome: CallOutcome
    at: datetime
    took: timedelta | None
    cycle: CycleNumber | None
    run: RunId | None


@dataclass(frozen=True, slots=True)
class _Answer:
    outcome: CallOutcome
    took: timedelta | None


@dataclass(slots=True)
class _Batch:
    """Notes and answers being written; *tx* is the transaction that may or may not have committed them."""

    notes: list[_Note]
    answers: dict[CallId, _Answer]
    tx: int | None = None


class CallLog:
    """Accepts notes without waiting and writes them in the background; its task runs only while there is work."""

    def __init__(self, database: Database, clock: Clock, *, room: int = 100_000) -> None:
        """Keep up to *room* notes while the database is unavailable; beyond that the oldest are dropped and counted."""
        self._database = database
        self._clock = clock
        self._room = room
        self._notes: deque[_Note] = deque()
        self._answers: dict[CallId, _Answer] = {}
        self._batch: _Batch | None = None
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._troubled = False
        self._dropping = False

    def note(
        self,
        account: AccountId,
        kind: CallKind,
        method: str,
        outcome: CallOutcome,
        *,
        at: datetime | None = None,
        took: timedelta | None = None,
        cycle: CycleNumber | None = None,
        run: RunId | None = None,
    ) -> None:
        """Count one call; never waits and never fails."""
        if len(self._notes) >= self._room:
            self._drop_oldest()
        self._notes.append(_Note(account, kind, method, outcome, at or self._clock.now(), took, cycle, run))
        self._wake()

    def connecting(self, account: AccountId) -> Callable[[str], None]:
        """Counts what connecting an account takes, method by method."""
        return lambda method: self.note(account, CallKind.CONNECT, method, CallOutcome.OK)

    def answer(self, call: CallId, outcome: CallOutcome, took: timedelta | None = None) -> None:
        """Record how a charged call ended; one that is never answered stays ``claimed``."""
        self._answers[call] = _Answer(outcome, took)
        self._wake()

    @property
    def waiting(self) -> int:
        """How many notes and answers are not written yet."""
        batch = self._batch
        on_the_way = len(batch.notes) + len(batch.answers) if batch else 0
        return len(self._notes) + len(self._answers) + on_the_way

    async def flush(self) -> None:
        """Write all notes so far; raises what the database raises, and keeps what was not written."""
        async with self._writing:
            while batch := self._next_batch():
                if not (batch.tx is not None and await self._committed(batch.tx)):
                    await self._write(batch)
                self._batch = None
        if self._troubled:
            _log.info("ledger.writes_again")
        self._troubled = self._dropping = False

    async def close(self) -> None:
        """Write what is left, with a few tries; logs how many calls were lost if the database stays unavailable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for _ in range(_TRIES_AT_CLOSE):
            try:
                await self.flush()
            except _FAILED as problem:
                self._complain(problem)
                await self._clock.sleep(_EVERY / 2)
            else:
                return
        _log.error("ledger.lost", calls=self.waiting, why="the database did not come back before the end")

    def _wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_until_empty(), name="ledger")

    async def _write_until_empty(self) -> None:
        while self.waiting:
            await self._clock.sleep(_EVERY)
            try:
                await self.flush()
            except _FAILED as problem:
                self._complain(problem)

    def _next_batch(self) -> _Batch | None:
        if self._batch is None and (self._notes or self._answers):
            notes = list(islice(self._notes, _BATCH))
            for _ in notes:
                self._notes.popleft()
            self._batch = _Batch(notes, self._answers)
            self._answers = {}
        return self._batch

    async def _write(self, batch: _Batch) -> None:
        async with self._database.transaction() as connection:
            batch.tx = await connection.fetchval("SELECT pg_current_xact_id()")
            if batch.notes:
                await _insert(connection, batch.notes)
            if batch.answers:
                await _answer(connection, batch.answers)

    async def _committed(self, tx: int) -> bool:
        """Whether the last write was committed although its answer was lost: otherwise calls would be counted twice."""
        try:
            status = await self._database.pool.fetchval("SELECT pg_xact_status($1)", tx)
        except asyncpg.InvalidParameterValueError:  # a number this server has not reached, so it is another server
            return False
        if status == "in progress":
            raise TimeoutError("the last write to the ledger is still under way")
        return bool(status == "committed")

    def _drop_oldest(self) -> None:
        self._notes.popleft()
        _DROPPED.inc()
        if not self._dropping:
            self._dropping = True
            _log.error(
                "ledger.full", room=self._room, why="the database is away for too long; the oldest notes are lost"
            )

    def _complain(self, problem: BaseException) -> None:
        if not self._troubled:
            self._troubled = True
            _log.warning("ledger.not_written", waiting=self.waiting, problem=str(problem), next="kept and tried again")


async def _insert(connection: Connection, notes: list[_Note]) -> None:
    await connection.execute(
        """
        INSERT INTO calls (account, kind, method, outcome, at, took, cycle, run)
        SELECT *
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[],
                    $5::timestamptz[], $6::interval[], $7::bigint[], $8::bigint[])
        """,
        [note.account for note in notes], [note.kind.value for note in notes], [note.method for note in notes],
        [note.outcome.value for note in notes], [note.at for note in notes], [note.took for note in notes],
        [note.cycle for note in notes], [note.run for note in notes],
    )  # fmt: skip


async def _answer(connection: Connection, answers: dict[CallId, _Answer]) -> None:
    await connection.execute(
        """
        UPDATE calls c
        SET outcome = a.outcome, took = a.took
        FROM unnest($1::bigint[], $2::text[], $3::interval[]) AS a (id, outcome, took)
        WHERE c.id = a.id AND c.outcome = 'claimed'
        """,
        list(answers), [one.outcome.value for one in answers.values()], [one.took for one in answers.values()],
    )  # fmt: skip


# Sums


class CallGrouping(StrEnum):
    """What ``tidegate calls`` sums over."""

    METHOD = "method"
    ACCOUNT = "account"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class CallSum:
    """Calls of one kind. *count* leaves out calls that were never sent, so it equals the platform's own count."""

    account: str | None
    kind: CallKind
    method: str | None
    cycle: CycleNumber | None
    count: int
    errors: int
    not_sent: int
    unanswered: int


_GROUPS: dict[CallGrouping | None, tuple[str, ...]] = {
    None: ("account", "kind", "method"),
    CallGrouping.METHOD: ("kind", "method"),
    CallGrouping.ACCOUNT: ("account", "kind"),
    CallGrouping.CYCLE: ("account", "cycle", "kind"),
}


async def recorded_since(connection: Connection) -> datetime | None:
    """When the oldest call on record was made; None where there is none."""
    at: datetime | None = await connection.fetchval("SELECT min(at) FROM calls")
    return at


async def sums(
    connection: Connection, by: CallGrouping | None = None, *, skip: int = 0, most: int | None = None
) -> list[CallSum]:
    """Sums over the call log: all, or *most* rows after the first *skip*.

    Removed accounts appear as their number.
    """
    groups = _GROUPS[by]
    # Grouped by number first and named later: a million rows are read once and a few hundred groups joined.
    rows = await connection.fetch(
        f"""
        SELECT s.*, coalesce(a.name, s.account::text) AS name
        FROM (
            SELECT {", ".join(groups)}{"" if "account" in groups else ", NULL::bigint AS account"},
                count(*) FILTER (WHERE outcome <> 'not_sent') AS count,
                count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')) AS errors,
                count(*) FILTER (WHERE outcome = 'not_sent') AS not_sent,
                count(*) FILTER (WHERE outcome = 'claimed') AS unanswered
            FROM calls
            GROUP BY {", ".join(groups)}
        ) AS s
        LEFT JOIN accounts a ON a.id = s.account
        ORDER BY {", ".join(f"s.{group}" for group in groups)}
        LIMIT $1 OFFSET $2
        """,
        most, skip,
    )  # fmt: skip
    return [_sum(dict(row)) for row in rows]


def _sum(row: dict[str, Any]) -> CallSum:
    return CallSum(
        account=row["name"],
        kind=CallKind(row["kind"]),
        method=row.get("method"),
        cycle=row.get("cycle"),
        count=row["count"],
        errors=row["errors"],
        not_sent=row["not_sent"],
        unanswered=row["unanswered"],
    )


async def prune(connection: Connection, before: datetime, *, limit: int = 10_000) -> int:
    """Delete up to *limit* of the oldest calls made before that instant; returns how many."""
    # An array, because with a subquery the planner would read the whole table for the join.
    removed = await connection.fetch(
        """
        DELETE FROM calls
        WHERE id = ANY (ARRAY(SELECT id FROM calls WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING 1
        """,
        before, limit,
    )  # fmt: skip
    return len(removed)
