"""Destinations that accept nothing from an account. Each is reported once when it closes and once when it opens."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from tidegate.core.ids import AccountId, ArchiveId, ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.archives import DestinationChanged, DestinationFoundClosed, DestinationOpened
from tidegate.events.queries import feed


@dataclass(frozen=True, slots=True)
class ClosedDestination:
    """A destination that accepted nothing from an account when last tried; *looks* counts the checks since then."""

    key: ChannelKey
    channel: ChannelId
    title: str
    looks: int


async def close(
    connection: Connection, account: AccountId, key: ChannelKey, sentence: str, *, look_after: timedelta
) -> None:
    """A destination accepts nothing from the account; reported once, also when a later try ends the same way."""
    row = await connection.fetchrow(
        """
        INSERT INTO closed_destinations AS d (account, channel, sentence, allowed, look_at)
        SELECT $1, $2, $3,
            coalesce((SELECT may_post FROM sights WHERE account = $1 AND channel = $2), false), clock_now() + $4
        ON CONFLICT (account, channel) DO UPDATE
        SET sentence = excluded.sentence, allowed = excluded.allowed, trying = false, look_at = excluded.look_at
        RETURNING xmax = 0 AS is_new
        """,
        account, key, sentence, look_after,
    )  # fmt: skip
    assert row is not None
    if row["is_new"]:
        await _record_change(connection, DestinationFoundClosed, account, key, sentence)


async def reopen(connection: Connection, account: AccountId, key: ChannelKey) -> None:
    """A destination has accepted something from the account."""
    was_closed = await connection.fetchval(
        "DELETE FROM closed_destinations WHERE account = $1 AND channel = $2 RETURNING true", account, key
    )
    if was_closed:
        await _record_change(connection, DestinationOpened, account, key)


async def looks(connection: Connection, account: AccountId, key: ChannelKey) -> int:
    """How often a destination was checked since it closed."""
    number: int | None = await connection.fetchval(
        "SELECT looks FROM closed_destinations WHERE account = $1 AND channel = $2", account, key
    )
    return number or 0


async def claim_looks(connection: Connection, account: AccountId) -> list[ClosedDestination]:
    """The closed destinations that are due for a check; they count as checked, so that no other worker checks them now.

    One whose right to post was granted since, by a list of the account's channels, needs no check: it is tried.
    """
    await connection.execute(
        """
        DELETE FROM closed_destinations d
        WHERE d.account = $1
          AND NOT EXISTS (SELECT FROM channels c WHERE c.destination = d.channel AND c.reader = $1 AND c.enabled)
        """,
        account,
    )
    await connection.execute(
        """
        UPDATE closed_destinations d SET trying = true
        FROM sights s
        WHERE d.account = $1 AND NOT d.trying AND NOT d.allowed
          AND s.account = d.account AND s.channel = d.channel AND s.may_post
        """,
        account,
    )
    rows = await connection.fetch(
        """
        UPDATE closed_destinations d SET looks = looks + 1, look_at = clock_now() + interval '5 minutes'
        FROM channels c
        WHERE d.account = $1 AND NOT d.trying AND d.look_at <= clock_now() AND c.id = d.channel
        RETURNING c.id AS key, c.number AS channel, c.title, d.looks
        """,
        account,
    )
    return [from_row(ClosedDestination, row) for row in rows]


async def look_now(connection: Connection, archives: Collection[ArchiveId] | None) -> list[ArchiveId]:
    """The operator wants closed destinations checked in the next cycle: those of these waiting archives, or all.

    Returns the archives that wait for them.
    """
    rows = await connection.fetch(
        """
        WITH asked AS (
            SELECT a.id, d.account, d.channel
            FROM closed_destinations d
            JOIN channels c ON c.reader = d.account AND c.destination = d.channel
            JOIN archives a ON a.channel = c.id
            WHERE NOT d.trying AND a.state = 'waiting' AND ($1::bigint[] IS NULL OR a.id = ANY($1))
        ), looked_at AS (
            UPDATE closed_destinations d SET look_at = clock_now()
            FROM asked WHERE d.account = asked.account AND d.channel = asked.channel
        )
        SELECT id FROM asked ORDER BY id
        """,
        None if archives is None else list(archives),
    )
    return [ArchiveId(row["id"]) for row in rows]


async def try_again(connection: Connection, account: AccountId, key: ChannelKey) -> None:
    """The account may post there again, as the platform says: the next archive tries it."""
    await connection.execute(
        "UPDATE closed_destinations SET trying = true WHERE account = $1 AND channel = $2", account, key
    )


async def look_later(connection: Connection, account: AccountId, key: ChannelKey, after: timedelta) -> None:
    """Check a closed destination again in a while."""
    await connection.execute(
        "UPDATE closed_destinations SET look_at = clock_now() + $3 WHERE account = $1 AND channel = $2 AND NOT trying",
        account, key, after,
    )  # fmt: skip


async def _record_change(
    connection: Connection,
    change: type[DestinationChanged],
    account: AccountId,
    key: ChannelKey,
    sentence: str | None = None,
) -> None:
    row = await connection.fetchrow(
        "SELECT c.title, c.number, a.name FROM channels c, accounts a WHERE c.id = $1 AND a.id = $2", key, account
    )
    assert row is not None
    changed = change(channel=row["number"], account=row["name"], sentence=sentence)
    await feed.record(connection, row["title"], changed)
