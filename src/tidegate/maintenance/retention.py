"""Retention: old rows are deleted a few at a time, so that no sweep blocks other work.

Invariant: everything-kept-ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from tidegate.access.queries import password_tries, sign_in_retention, tokens
from tidegate.archives.queries import previews
from tidegate.core.message_content import ExpiredMessages
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Connection, Database, rows_deleted
from tidegate.history.expiry import end_expired
from tidegate.history.queries import deletions
from tidegate.lanes.queries import calls, pace, waits
from tidegate.maintenance import hour_sums
from tidegate.reminders.queries import media_files, runs

_LOCK = 0x7467_6B70  # "tgkp": one sweep at a time
_BATCH = 2_000


class Prune(Protocol):
    """Removes up to *limit* rows that ended before an instant, by an index, and returns how many."""

    async def __call__(self, connection: Connection, before: datetime, *, limit: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each kind of row outlives its use. The operator sets the first five; the others only tidy up."""

    calls: timedelta
    events: timedelta
    commands: timedelta
    runs: timedelta
    expired_messages: ExpiredMessages = ExpiredMessages.KEEP
    workers: timedelta = timedelta(days=7)
    waits: timedelta = timedelta(days=1)
    chats: timedelta = timedelta(days=1)
    pictures: timedelta = timedelta(days=1)
    media: timedelta = timedelta(days=1)
    early_deletions: timedelta = timedelta(days=1)
    sessions: timedelta = timedelta()
    sign_in_tries: timedelta = password_tries.TRIES_IN
    sign_in_clients: timedelta = password_tries.KNOWN_FOR
    expired_tokens: timedelta = timedelta(days=30)
    hours: timedelta = hour_sums.KEPT_FOR
    storage_days: timedelta = hour_sums.STORAGE_KEPT_FOR


async def sweep(database: Database, keep: Retention) -> dict[str, int]:
    """Delete what is older than *keep* allows, and end messages that expired; returns how many rows of each kind.

    Any process may sweep at any time. When two meet, one of them stops and leaves the rest to the other.
    """
    now: datetime = await database.pool.fetchval("SELECT clock_now()")
    removed = {}
    for kind, (span, prune) in _work(keep).items():
        count, alone = await _in_batches(database, prune, now - span)
        if count:
            removed[kind] = count
        if not alone:
            break
    return removed


def _work(keep: Retention) -> dict[str, tuple[timedelta, Prune]]:
    return {
        "calls": (keep.calls, calls.prune),
        "events": (keep.events, prune_events),
        "cycles": (keep.events, cycles.prune),
        "commands": (keep.commands, prune_commands),
        "runs": (keep.runs, runs.prune),
        "media": (keep.media, media_files.prune),
        "workers": (keep.workers, prune_workers),
        "waits": (keep.waits, waits.prune),
        "chats": (keep.chats, pace.prune),
        "pictures": (keep.pictures, previews.prune),
        "expired_messages": (timedelta(), partial(end_expired, outcome=keep.expired_messages)),
        "early_deletions": (keep.early_deletions, deletions.prune_early_deletions),
        "sessions": (keep.sessions, sign_in_retention.prune_sessions),
        "sign_in_tries": (keep.sign_in_tries, sign_in_retention.prune_tries),
        "sign_in_clients": (keep.sign_in_clients, sign_in_retention.prune_clients),
        "expired_tokens": (keep.expired_tokens, tokens.prune_expired),
        "message_hours": (keep.hours, hour_sums.prune_message_hours),
        "account_hours": (keep.hours, hour_sums.prune_account_hours),
        "storage_days": (keep.storage_days, hour_sums.prune_storage_days),
    }


async def _in_batches(database: Database, prune: Prune, before: datetime) -> tuple[int, bool]:
    """How many rows were deleted, and whether this process was the only one sweeping all the time."""
    total = 0
    while True:
        async with database.transaction() as connection:
            if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", _LOCK):
                return total, False
            count = await prune(connection, before, limit=_BATCH)
        total += count
        if not count:
            return total, True


_OLD_EVENTS = "DELETE FROM events WHERE (tx, id) IN (SELECT tx, id FROM events WHERE at < $1 ORDER BY at LIMIT $2)"

_OLD_COMMANDS = """
DELETE FROM commands
WHERE id IN (SELECT id FROM commands WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)
"""

_OLD_WORKERS = """
DELETE FROM workers
WHERE number IN (
    SELECT number FROM workers w
    WHERE ended_at < $1 AND NOT EXISTS (SELECT FROM accounts WHERE owner = w.number)
    LIMIT $2
)
"""


async def prune_events(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* of the oldest events; a reader left behind resumes with the oldest that remains."""
    return rows_deleted(await connection.execute(_OLD_EVENTS, before, limit))


async def prune_commands(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* commands that ended before that instant; one without an answer is kept."""
    return rows_deleted(await connection.execute(_OLD_COMMANDS, before, limit))


async def prune_workers(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* workers that ended before that instant and have no accounts left."""
    return rows_deleted(await connection.execute(_OLD_WORKERS, before, limit))
