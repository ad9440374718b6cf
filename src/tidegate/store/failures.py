"""Archives that could not be processed, and what becomes of them (the seed's SkippedPackage)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.port import ChannelId, MessageId
from tidegate.rules.retrying import Failure, FailureReason, FailureState, RetryHabits, keeps_awake, state_of
from tidegate.store.channels import WHOLE
from tidegate.store.database import Connection
from tidegate.words import AccountId


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure of an archive in a channel; *key* is our number of the channel. *in_hand*: it is being tried again."""

    archive: int
    key: int
    channel: ChannelId
    topic: int
    failure: Failure
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


async def of_channel(connection: Connection, key: int) -> list[Failed]:
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
    failed: list[Failed], habits: RetryHabits, now: datetime
) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """The failures that are due, and those that may still succeed; those of a whole channel are all of its topics'."""
    due: Counter[tuple[int, int]] = Counter()
    awake: Counter[tuple[int, int]] = Counter()
    for one in failed:
        for topic in (one.topic, WHOLE):
            due[one.key, topic] += not one.in_hand and state_of(one.failure, habits, now) is FailureState.DUE
            awake[one.key, topic] += keeps_awake(one.failure, habits, now)
    return due, awake


async def record(connection: Connection, archive: int, failure: Failure, detail: str = "") -> None:
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


async def hand_back(connection: Connection, archives: Collection[int]) -> int:
    """Let failed archives whose messages are still there be worked on again; returns how many."""
    rows = await connection.fetch(
        "UPDATE archives SET state = 'waiting' WHERE id = ANY($1) AND state IN ('failed', 'given_up') RETURNING id",
        list(archives),
    )
    return len(rows)


async def close_as_gone(connection: Connection, archives: Collection[int]) -> None:
    """Their messages no longer exist: nothing is tried again, and the reason stays on record."""
    await connection.execute(
        "UPDATE failures SET reason = $2, by_hand = false WHERE archive = ANY($1)",
        list(archives), FailureReason.SOURCE_GONE.value,
    )  # fmt: skip
    await connection.execute(
        "UPDATE archives SET state = 'gone' WHERE id = ANY($1) AND state <> 'filed'", list(archives)
    )


async def close_topics(connection: Connection, key: int, topics: Iterable[int]) -> None:
    """Close what failed in topics that are gone."""
    rows = await connection.fetch(
        "SELECT archive FROM failures WHERE channel = $1 AND topic = ANY($2)", key, list(topics)
    )
    await close_as_gone(connection, [row["archive"] for row in rows])


async def messages_of(connection: Connection, archives: Collection[int]) -> dict[int, list[MessageId]]:
    """The messages that the parts of archives came in."""
    rows = await connection.fetch(
        "SELECT archive, array_agg(message ORDER BY message) AS messages FROM archive_parts "
        "WHERE archive = ANY($1) AND NOT spare GROUP BY archive",
        list(archives),
    )
    return {row["archive"]: [MessageId(one) for one in row["messages"]] for row in rows}


def _failed(row: asyncpg.Record) -> Failed:
    failure = Failure(
        message=row["message"],
        reason=FailureReason(row["reason"]),
        attempts=row["attempts"],
        next_try_at=row["next_try_at"],
        size=row["size"],
        by_hand=row["by_hand"],
    )
    in_hand = row["state"] not in ("failed", "given_up")
    return Failed(row["archive"], row["channel"], ChannelId(row["number"]), row["topic"], failure, in_hand)
