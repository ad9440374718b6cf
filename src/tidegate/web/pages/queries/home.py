"""The data of Home: accounts, requests and their savings, the mirror, what is sent next, and running work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.core.account import AccountState
from tidegate.core.ids import ReminderId
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.events.kinds import parse
from tidegate.events.kinds.archives import ArchiveProgressed
from tidegate.events.kinds.history import BackfillProgressed

_COUNTED = 20_000
"""The most rows that are counted for a glance."""


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """An account and how its lane does right now."""

    name: str
    platform: Platform
    state: AccountState
    served_by: str | None
    paused_until: datetime | None
    rate: int | None
    ceiling: int | None
    sent: int  # calls of the last minute
    read: int  # likewise


@dataclass(frozen=True, slots=True)
class LastDay:
    """The cycles and calls of the last 24 hours."""

    cycles: int
    cycle_calls: int
    naive_calls: int  # what a search of every place would have cost
    calls: int
    connect_calls: int


@dataclass(frozen=True, slots=True)
class ServiceCounts:
    """How much there is of what serves the operator."""

    accounts: int
    served: int  # accounts that a worker serves
    workers: int


@dataclass(frozen=True, slots=True)
class MirrorSummary:
    """What is mirrored."""

    channels: int
    checked_at: datetime | None
    newest_at: datetime | None
    messages: int  # of the last 24 hours
    archives: int
    new_archives: int  # of the last 24 hours
    failed_archives: int


@dataclass(frozen=True, slots=True)
class UpcomingReminder:
    """A reminder that is due next."""

    id: ReminderId
    name: str
    account: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What a person has done so far: connected an account, chosen channels or groups, sent or stored something."""

    connected: bool
    chosen: bool
    begun: bool

    @property
    def done(self) -> bool:
        return self.connected and self.chosen and self.begun


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """The last progress event of running work."""

    subject: str
    event: BackfillProgressed | ArchiveProgressed


@dataclass(frozen=True, slots=True)
class OpenCommand:
    """A command for an account's worker that is not done yet."""

    account: str
    kind: str
    asked_at: datetime
    taken: bool


async def service_counts(connection: Connection) -> ServiceCounts:
    row = await connection.fetchrow(
        """
        SELECT (SELECT count(*) FROM accounts) AS accounts,
            (SELECT count(*) FROM accounts a JOIN workers w ON w.number = a.owner AND w.ended_at IS NULL) AS served,
            (SELECT count(*) FROM workers WHERE ended_at IS NULL) AS workers
        """
    )
    assert row is not None
    return ServiceCounts(**dict(row))


async def lanes(connection: Connection, most: int) -> list[LaneStatus]:
    """Accounts with their lanes in natural order, those that need a person first."""
    rows = await connection.fetch(
        """
        WITH shown AS (
            SELECT a.*, (SELECT max(until) FROM waits
                         WHERE account = a.id AND kind = 'account' AND until > clock_now()) AS paused_until
            FROM accounts a
            ORDER BY a.state = 'active', natural_order(lower(a.name)) COLLATE "C", a.id
            LIMIT $1
        ), lately AS (
            SELECT account, count(*) FILTER (WHERE charged) AS sent, count(*) FILTER (WHERE NOT charged) AS read
            FROM calls
            WHERE at > (SELECT clock_now()) - interval '1 minute' AND kind = 'work'
            GROUP BY account
        )
        SELECT s.name, s.platform, s.state, w.name AS served_by, s.paused_until, p.rate, p.ceiling,
            coalesce(l.sent, 0) AS sent, coalesce(l.read, 0) AS read
        FROM shown s
        LEFT JOIN workers w ON w.number = s.owner AND w.ended_at IS NULL
        LEFT JOIN pace p ON p.account = s.id
        LEFT JOIN lately l ON l.account = s.id
        ORDER BY s.state = 'active', natural_order(lower(s.name)) COLLATE "C", s.id
        """,
        most,
    )
    return [_lane(row) for row in rows]


def _lane(row: asyncpg.Record) -> LaneStatus:
    return LaneStatus(**{**dict(row), "platform": platform_named(row["platform"]), "state": AccountState(row["state"])})


async def lately(connection: Connection) -> LastDay:
    """Sum up a day. The naive way asks every channel, and every topic of a forum, in each whole cycle."""
    row = await connection.fetchrow(
        """
        WITH whole AS (
            SELECT account, count(*) AS cycles, sum((report->>'calls_total')::bigint) AS calls
            FROM cycles
            WHERE ended_at > (SELECT clock_now()) - interval '24 hours' AND whole
            GROUP BY account
        ), places_of AS (
            SELECT c.reader AS account, sum(greatest(1, (
                SELECT count(*) FROM places p WHERE p.channel = c.id AND p.topic <> 0
            ))) AS places
            FROM channels c
            WHERE c.enabled AND c.reader IN (SELECT account FROM whole)
            GROUP BY c.reader
        ), spent AS (
            SELECT count(*) FILTER (WHERE kind = 'work') AS calls, count(*) FILTER (WHERE kind = 'connect') AS connect
            FROM calls
            WHERE at > (SELECT clock_now()) - interval '24 hours' AND outcome <> 'not_sent'
        )
        SELECT coalesce(sum(w.cycles), 0)::bigint AS cycles,
            coalesce(sum(w.calls), 0)::bigint AS cycle_calls,
            coalesce(sum(w.cycles * p.places), 0)::bigint AS naive_calls,
            (SELECT calls FROM spent) AS calls,
            (SELECT connect FROM spent) AS connect_calls
        FROM whole w LEFT JOIN places_of p USING (account)
        """
    )
    assert row is not None
    return LastDay(**dict(row))


async def mirror(connection: Connection) -> MirrorSummary:
    """The copy at a glance. Messages of the last day are counted up to a bound, so that it stays quick."""
    row = await connection.fetchrow(
        f"""
        SELECT (SELECT count(*) FROM channels WHERE enabled AND kind <> 'thread') AS channels,
            (SELECT max(ended_at) FROM cycles) AS checked_at,
            (SELECT max(at) FROM messages WHERE deleted_at IS NULL) AS newest_at,
            (SELECT count(*) FROM (
                SELECT FROM messages WHERE deleted_at IS NULL AND at > (SELECT clock_now()) - interval '24 hours'
                LIMIT {_COUNTED}
            ) AS lately) AS messages,
            (SELECT count(*) FROM (SELECT FROM archives LIMIT {_COUNTED}) AS kept) AS archives,
            (SELECT count(*) FROM (SELECT found_at FROM archives ORDER BY id DESC LIMIT 1000) AS newest
             WHERE found_at > (SELECT clock_now()) - interval '24 hours') AS new_archives,
            (SELECT count(*) FROM archives WHERE state IN ('failed', 'given_up')) AS failed_archives
        """
    )
    assert row is not None
    return MirrorSummary(**dict(row))


async def upcoming(connection: Connection, most: int) -> list[UpcomingReminder]:
    """The reminders that are due next."""
    rows = await connection.fetch(
        """
        SELECT r.id, r.name, a.name AS account, r.due_at FROM reminders r JOIN accounts a ON a.id = r.account
        WHERE r.due_at IS NOT NULL ORDER BY r.due_at LIMIT $1
        """,
        most,
    )
    return [UpcomingReminder(**dict(row)) for row in rows]


async def first_steps(connection: Connection) -> FirstSteps:
    row = await connection.fetchrow(
        """
        SELECT EXISTS (SELECT FROM accounts) AS connected,
            EXISTS (SELECT FROM channels WHERE enabled) OR EXISTS (SELECT FROM reminders) AS chosen,
            EXISTS (SELECT FROM messages) OR EXISTS (SELECT FROM runs) AS begun
        """
    )
    assert row is not None
    return FirstSteps(**dict(row))


async def progress(connection: Connection, most: int = 5) -> list[WorkProgress]:
    """Progress of the last 15 seconds of work that has not ended since."""
    rows = await connection.fetch(
        """
        SELECT * FROM (
            SELECT DISTINCT ON (split_part(kind, '.', 1), subject) kind, subject, data, at
            FROM events
            WHERE at > (SELECT clock_now()) - interval '15 seconds'
              AND kind IN ('backfill.progressed', 'backfill.ended', 'archive.progressed', 'archive.filed',
                           'archive.indexed', 'archive.failed')
            ORDER BY split_part(kind, '.', 1), subject, id DESC
        ) AS newest
        WHERE kind LIKE '%.progressed'
        ORDER BY at DESC
        LIMIT $1
        """,
        most,
    )
    found = ((row["subject"], parse(row["kind"], row["data"])) for row in rows)
    return [
        WorkProgress(subject, event)
        for subject, event in found
        if isinstance(event, BackfillProgressed | ArchiveProgressed)
    ]


async def asked(connection: Connection, most: int = 10) -> list[OpenCommand]:
    """Commands that are open, the oldest first."""
    rows = await connection.fetch(
        """
        SELECT a.name AS account, c.kind, c.asked_at, c.state = 'taken' AS taken
        FROM commands c JOIN accounts a ON a.id = c.account
        WHERE c.state IN ('asked', 'taken')
        ORDER BY c.id
        LIMIT $1
        """,
        most,
    )
    return [OpenCommand(**dict(row)) for row in rows]
