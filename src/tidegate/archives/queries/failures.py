"""Archives that could not be processed, and their retries (the seed's SkippedPackage)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from tidegate.archives.rules.retry import (
    ArchiveFailure,
    FailureReason,
    FailureState,
    RetryPolicy,
    after_jump,
    keeps_awake,
    state_of,
)
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ArchiveId, ChannelId, ChannelKey, MessageId, TopicId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure of an archive in a channel; *key* is our number of the channel. *in_hand*: it is being tried again."""

    archive: ArchiveId
    key: ChannelKey
    channel: ChannelId
    topic: TopicId
    failure: ArchiveFailure
    in_hand: bool


async def of_reader(
    connection: Connection, account: AccountId, *, only: Collection[ChannelId] | None = None
) -> list[Failed]:
    """Every open failure in the enabled channels that *account* reads, in one query."""
    rows = await connection.fetch(
        """
        SELECT f.*, c.number, a.state
        FROM failures f JOIN channels c ON c.id = f.channel JOIN archives a ON a.id = f.archive
        WHERE c.reader = $1 AND c.enabled AND f.reason <> 'source_gone' AND ($2::bigint[] IS NULL OR c.number = ANY($2))
        ORDER BY f.channel, f.message
        """,
        account, None if only is None else list(only),
    )  # fmt: skip
    return [_failed(row) for row in rows]


async def of_channel(connection: Connection, key: ChannelKey) -> list[Failed]:
    """Every open failure of a channel."""
    rows = await connection.fetch(
        """
        SELECT f.*, c.number, a.state
        FROM failures f JOIN channels c ON c.id = f.channel JOIN archives a ON a.id = f.archive
        WHERE f.channel = $1 AND f.reason <> 'source_gone'
        ORDER BY f.message
        """,
        key,
    )
    return [_failed(row) for row in rows]


def count_failures(
    failed: list[Failed], policy: RetryPolicy, now: datetime
) -> tuple[Counter[tuple[ChannelKey, TopicId]], Counter[tuple[ChannelKey, TopicId]]]:
    """The failures that are due, and those that may still succeed; those of a whole channel are all of its topics'."""
    due: Counter[tuple[ChannelKey, TopicId]] = Counter()
    awake: Counter[tuple[ChannelKey, TopicId]] = Counter()
    for one in failed:
        for topic in (one.topic, NO_TOPIC):
            due[one.key, topic] += not one.in_hand and state_of(one.failure, policy, now) is FailureState.DUE
            awake[one.key, topic] += keeps_awake(one.failure, policy, now)
    return due, awake


async def record(connection: Connection, archive: ArchiveId, failure: ArchiveFailure, detail: str = "") -> None:
    """Put an archive on record as failed, or note one more failed try; call inside a transaction."""
    await connection.execute(
        """
        INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at, size, by_hand, detail)
        SELECT a.id, a.channel, a.topic, $2, $3, $4, $5, $6, $7, $8 FROM archives a WHERE a.id = $1
        ON CONFLICT (archive) DO UPDATE
        SET message = excluded.message, reason = excluded.reason, attempts = excluded.attempts,
            next_try_at = excluded.next_try_at, size = excluded.size, by_hand = excluded.by_hand,
            detail = excluded.detail
        """,
        archive, failure.message, failure.reason.value, failure.attempts, failure.next_try_at, failure.size,
        failure.by_hand, detail,
    )  # fmt: skip
    await _wake(connection, archive)


async def _wake(connection: Connection, archive: ArchiveId) -> None:
    """Mark the channel and topic of a failed archive as not idle.

    A scan locks the place before it counts failures. So this waits for a scan that did not count this failure, and
    comes after it.
    """
    await connection.execute(
        """
        WITH woken AS MATERIALIZED (
            SELECT p.channel, p.topic FROM places p JOIN archives a ON a.channel = p.channel
            WHERE a.id = $1 AND p.topic IN (0, a.topic) ORDER BY p.topic FOR UPDATE OF p
        )
        UPDATE places p SET consecutive_empty_scans = 0, last_scan_found_archives = true
        FROM woken w WHERE p.channel = w.channel AND p.topic = w.topic
        """,
        archive,
    )


async def move_next_tries(
    connection: Connection, account: AccountId, jump: timedelta, policy: RetryPolicy, *, after: datetime
) -> int:
    """The clock jumped: move the next tries that lay beyond *after* along; returns how many."""
    rows = await connection.fetch(
        """
        SELECT f.*, c.number, a.state, clock_now() AS now
        FROM failures f JOIN channels c ON c.id = f.channel JOIN archives a ON a.id = f.archive
        WHERE c.reader = $1 AND f.next_try_at > $2
        FOR UPDATE OF f
        """,
        account, after,
    )  # fmt: skip
    tries = {row["archive"]: after_jump(_failed(row).failure, policy, now=row["now"], jump=jump) for row in rows}
    moved = {row["archive"]: tries[row["archive"]] for row in rows if tries[row["archive"]] != row["next_try_at"]}
    await connection.execute(
        """
        UPDATE failures f SET next_try_at = m.at FROM unnest($1::bigint[], $2::timestamptz[]) AS m (archive, at)
        WHERE f.archive = m.archive
        """,
        list(moved), list(moved.values()),
    )  # fmt: skip
    return len(moved)


async def hand_back(connection: Connection, archives: Collection[ArchiveId]) -> int:
    """Let failed archives whose messages are still there be worked on again; returns how many."""
    rows = await connection.fetch(
        "UPDATE archives SET state = 'waiting' WHERE id = ANY($1) AND state IN ('failed', 'given_up') RETURNING id",
        list(archives),
    )
    return len(rows)


async def close_as_gone(connection: Connection, archives: Collection[ArchiveId]) -> None:
    """Their messages no longer exist: they are not retried, and the reason stays on record."""
    await connection.execute(
        "UPDATE failures SET reason = $2, by_hand = false WHERE archive = ANY($1)",
        list(archives), FailureReason.SOURCE_GONE.value,
    )  # fmt: skip
    await connection.execute(
        "UPDATE archives SET state = 'gone' WHERE id = ANY($1) AND state <> 'filed'", list(archives)
    )


async def close_topics(connection: Connection, key: ChannelKey, topics: Iterable[TopicId]) -> None:
    """Close what failed in topics that are gone."""
    rows = await connection.fetch(
        "SELECT archive FROM failures WHERE channel = $1 AND topic = ANY($2)", key, list(topics)
    )
    await close_as_gone(connection, [row["archive"] for row in rows])


async def messages_of(connection: Connection, archives: Collection[ArchiveId]) -> dict[ArchiveId, list[MessageId]]:
    """The messages that the parts of archives came in."""
    rows = await connection.fetch(
        "SELECT archive, array_agg(message ORDER BY message) AS messages FROM archive_parts "
        "WHERE archive = ANY($1) AND NOT spare GROUP BY archive",
        list(archives),
    )
    return {ArchiveId(row["archive"]): [MessageId(one) for one in row["messages"]] for row in rows}


def failure_of(row: Mapping[str, Any] | asyncpg.Record) -> ArchiveFailure:
    """A row of failures as a value for the rules."""
    return from_row(ArchiveFailure, row, reason=FailureReason(row["reason"]))


def _failed(row: asyncpg.Record) -> Failed:
    in_hand = row["state"] not in ("failed", "given_up")
    key, channel = ChannelKey(row["channel"]), ChannelId(row["number"])
    return Failed(ArchiveId(row["archive"]), key, channel, TopicId(row["topic"]), failure_of(row), in_hand)
