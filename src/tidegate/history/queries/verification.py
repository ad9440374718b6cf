"""Rounds of comparing whole histories again: where each channel is, and what an account has spent on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.history.rules.verification_round import FreeCounter


@dataclass(frozen=True, slots=True)
class HistoryRound:
    """A channel's round. *below* is where it goes on, None before its first page and after its last.

    All that was stored at *verified_until* has been compared since. *ends_at* is when the account's rounds will have
    ended, as of its last pass; None where this channel's round has not begun.
    """

    below: int | None
    running: bool
    verified_until: datetime | None
    ends_at: datetime | None


_HISTORIES = """
    FROM channels c
    JOIN places p ON p.channel = c.id AND p.topic = 0
    JOIN coverage h ON h.channel = c.id AND h.topic = 0 AND h.kind = 'messages' AND NOT isempty(h.spans)
"""
_DISPUTED = "EXISTS (SELECT FROM message_counts n WHERE n.channel = c.id AND n.misses > 0)"
_MIRRORED = "c.reader = $1 AND c.enabled AND c.in_full AND NOT c.by_topic AND c.kind <> 'board' AND c.state = 'ok'"


async def note_histories(connection: Connection, account: AccountId) -> None:
    """Histories that are new count as compared now: they were just read."""
    await connection.execute(
        f"""
        INSERT INTO history_rounds (channel)
        SELECT c.id {_HISTORIES} LEFT JOIN history_rounds r ON r.channel = c.id
        WHERE {_MIRRORED} AND r.channel IS NULL
        ON CONFLICT DO NOTHING
        """,
        account,
    )


# A channel whose free counters disagree, or between whose counters changes may be unknown, is due after a day.
async def due(connection: Connection, account: AccountId, *, every: timedelta, most: int) -> list[ChannelKey]:
    """Up to *most* histories whose round is running or due.

    First those whose free counters say that something changed unseen, then those that had fewer rounds, then the most
    active ones: so all have ended a round before any begins the next.
    """
    rows = await connection.fetch(
        f"""
        SELECT c.id {_HISTORIES} JOIN history_rounds r ON r.channel = c.id
        CROSS JOIN LATERAL (
            SELECT p.unread_upto IS NOT NULL OR {_DISPUTED} AS doubted
        ) AS d
        WHERE {_MIRRORED} AND coalesce(c.parked_until, '-infinity') <= clock_now()
          AND (r.ended_at IS NULL OR r.began_at <= clock_now() - $2::interval
               OR (d.doubted AND r.began_at <= clock_now() - interval '1 day'))
        ORDER BY d.doubted DESC, r.rounds,
            (SELECT coalesce(sum(m.messages), 0) FROM message_hours m WHERE m.channel = c.id) DESC, c.id
        LIMIT $3
        """,
        account, every, most,
    )  # fmt: skip
    return [ChannelKey(row["id"]) for row in rows]


async def free_counters(
    connection: Connection, keys: Collection[ChannelKey], *, older: timedelta
) -> dict[ChannelKey, FreeCounter]:
    """The counters of those histories that have one, and whose last comparison began that long ago, or *older*."""
    rows = await connection.fetch(
        f"""
        SELECT c.id, r.counter, p.changes, p.unread_upto IS NOT NULL AS unread, {_DISPUTED} AS disputed
        {_HISTORIES} JOIN history_rounds r ON r.channel = c.id
        WHERE c.id = ANY($1) AND r.counter IS NOT NULL AND r.ended_at IS NOT NULL
          AND r.began_at <= clock_now() - $2::interval
        """,
        list(keys), older,
    )  # fmt: skip
    return {
        ChannelKey(row["id"]): FreeCounter(row["counter"], row["changes"], row["unread"], row["disputed"])
        for row in rows
    }


async def count_as_compared(connection: Connection, keys: Collection[ChannelKey], *, at: datetime) -> None:
    """All that was stored at that instant is known to be as the platform has it, without a page of it."""
    await connection.execute(
        """
        UPDATE history_rounds SET began_at = $2, verified_until = $2, ended_at = clock_now()
        WHERE channel = ANY($1) AND ended_at IS NOT NULL AND began_at < $2
        """,
        sorted(keys), at,
    )  # fmt: skip


async def pages_ahead(connection: Connection, account: AccountId, *, every: timedelta) -> int:
    """About how many pages the rounds that are running or due still take, by the numbers left below each."""
    pages: int = await connection.fetchval(
        f"""
        SELECT coalesce(sum(1 + ceil(c.depth / 100.0 * CASE WHEN r.ended_at IS NULL AND r.below IS NOT NULL
            THEN greatest(0, r.below - lower(h.spans))::float / greatest(1, upper(h.spans) - lower(h.spans))
            ELSE 1 END)), 0)::bigint
        {_HISTORIES} JOIN history_rounds r ON r.channel = c.id
        WHERE {_MIRRORED} AND (r.ended_at IS NULL OR r.began_at <= clock_now() - $2::interval)
        """,
        account, every,
    )  # fmt: skip
    return pages


async def spent_today(connection: Connection, account: AccountId) -> int:
    """How many calls the account has made for rounds since midnight, UTC."""
    calls: int | None = await connection.fetchval(
        "SELECT calls FROM verification_budgets WHERE account = $1 AND day = (clock_now() AT TIME ZONE 'UTC')::date",
        account,
    )
    return calls or 0


async def spend(connection: Connection, account: AccountId, calls: int) -> None:
    """Count calls towards the day's budget."""
    await connection.execute(
        """
        INSERT INTO verification_budgets AS b (account, day, calls)
        VALUES ($1, (clock_now() AT TIME ZONE 'UTC')::date, $2)
        ON CONFLICT (account) DO UPDATE
        SET day = excluded.day, calls = excluded.calls + CASE WHEN b.day = excluded.day THEN b.calls ELSE 0 END
        """,
        account, calls,
    )  # fmt: skip


async def note_end(connection: Connection, account: AccountId, ends_at: datetime | None) -> None:
    """Store when the account's rounds will have ended."""
    await spend(connection, account, 0)
    await connection.execute("UPDATE verification_budgets SET ends_at = $2 WHERE account = $1", account, ends_at)


async def load(connection: Connection, key: ChannelKey) -> HistoryRound | None:
    """Where the round of a channel is; None for a history that no round knows yet."""
    row = await connection.fetchrow(
        """
        SELECT r.below, r.ended_at IS NULL AS running, r.verified_until, b.ends_at
        FROM history_rounds r JOIN channels c ON c.id = r.channel
        LEFT JOIN verification_budgets b ON b.account = c.reader
        WHERE r.channel = $1
        """,
        key,
    )
    if row is None:
        return None
    running = row["running"]
    return HistoryRound(row["below"], running, row["verified_until"], row["ends_at"] if running else None)


async def advance(connection: Connection, key: ChannelKey, below: int | None, *, asked_at: datetime) -> None:
    """A page was compared. The round goes on *below*, or has ended; where none was running, *asked_at* began one."""
    await connection.execute(
        """
        UPDATE history_rounds
        SET began_at = CASE WHEN ended_at IS NULL THEN began_at ELSE $3 END,
            verified_until = CASE WHEN $2::bigint IS NOT NULL THEN verified_until
                                  WHEN ended_at IS NULL THEN began_at ELSE $3 END,
            counter = CASE WHEN ended_at IS NULL THEN counter
                           ELSE (SELECT p.changes FROM places p
                                 WHERE p.channel = $1 AND p.topic = 0 AND p.unread_upto IS NULL) END,
            ended_at = CASE WHEN $2 IS NULL THEN clock_now() END,
            rounds = rounds + CASE WHEN $2 IS NULL THEN 1 ELSE 0 END,
            below = $2
        WHERE channel = $1
        """,
        key, below, asked_at,
    )  # fmt: skip
