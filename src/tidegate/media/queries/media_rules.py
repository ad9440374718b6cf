"""The operator's policy for files, as it is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import asyncpg

from tidegate.core.ids import AccountId, ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import MediaAction, MediaPlace, MediaRule, PolicyKind, PolicyState


@dataclass(frozen=True, slots=True)
class MediaPolicy:
    """The whole policy. *asks* is whether the operator of an older database has not been asked yet."""

    state: PolicyState
    rules: tuple[MediaRule, ...]
    asks: bool = False


async def policy(connection: Connection) -> MediaPolicy:
    """The policy in force."""
    row = await connection.fetchrow("SELECT enabled, asks, total_limit, keep_protected, revision FROM media_state")
    assert row is not None
    rules = await connection.fetch(
        "SELECT account, channel, kind, action, largest, beyond, whole_limit FROM media_rules ORDER BY id"
    )
    return MediaPolicy(
        from_row(PolicyState, row),
        tuple(_rule(one) for one in rules),
        asks=row["asks"],
    )


def _rule(row: asyncpg.Record) -> MediaRule:
    return from_row(
        MediaRule, row, kind=_kind(row["kind"]), action=_action(row["action"]), beyond=_action(row["beyond"])
    )


def _kind(written: str | None) -> PolicyKind | None:
    return None if written is None else PolicyKind(written)


def _action(written: str | None) -> MediaAction | None:
    return None if written is None else MediaAction(written)


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule as people read it: accounts and channels by their names."""

    account_name: str | None
    channel_number: ChannelId | None
    title: str | None
    kind: str | None
    action: str | None
    largest: int | None
    beyond: str | None
    whole_limit: int | None


async def named_rules(connection: Connection) -> list[NamedRule]:
    """All rules in natural order of their channels and accounts, those for everything first."""
    rows = await connection.fetch(
        """
        SELECT a.name AS account_name, c.number AS channel_number, c.title, r.kind, r.action, r.largest, r.beyond,
            r.whole_limit
        FROM media_rules r LEFT JOIN accounts a ON a.id = r.account LEFT JOIN channels c ON c.id = r.channel
        ORDER BY natural_order(c.sought) NULLS FIRST, c.id, natural_order(lower(a.name)) COLLATE "C" NULLS FIRST,
            r.kind NULLS FIRST
        """
    )
    return [from_row(NamedRule, row) for row in rows]


async def reader_names(connection: Connection, channel: ChannelKey | None) -> list[str]:
    """The accounts that read a channel, or all channels with files that are wanted or not decided about."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT a.name FROM channels c JOIN accounts a ON a.id = c.reader
        WHERE c.enabled AND CASE WHEN $1::bigint IS NOT NULL THEN c.id = $1 ELSE
            EXISTS (SELECT FROM media_totals t
                    WHERE t.channel = c.id AND t.state IN ('wanted', 'failed') AND t.files > 0)
            OR NOT EXISTS (SELECT FROM media_plans p JOIN media_state s ON s.revision = p.revision
                           WHERE p.channel = c.id AND p.below IS NULL)
        END
        ORDER BY a.name
        """,
        channel,
    )
    return [row["name"] for row in rows]


async def place_of(connection: Connection, key: ChannelKey) -> MediaPlace:
    """A channel as the policy sees it."""
    row = await connection.fetchrow(
        "SELECT id AS channel, platform, reader, in_full, keeps_archives, protected FROM channels WHERE id = $1", key
    )
    assert row is not None
    return from_row(MediaPlace, row)


async def mirrored_places(connection: Connection) -> list[MediaPlace]:
    """All mirrored channels as the policy sees them."""
    rows = await connection.fetch(
        "SELECT id AS channel, platform, reader, in_full, keeps_archives, protected FROM channels WHERE enabled"
    )
    return [from_row(MediaPlace, row) for row in rows]


async def set_state(
    connection: Connection,
    *,
    enabled: bool | None = None,
    total_limit: int | None = None,
    automatic_limit: bool = False,
    keep_protected: bool | None = None,
) -> None:
    """Change what is given; *automatic_limit* lets the disk choose the total limit again. No question is open then."""
    await connection.execute(
        """
        UPDATE media_state
        SET enabled = coalesce($1, enabled), keep_protected = coalesce($2, keep_protected),
            total_limit = CASE WHEN $4 THEN NULL ELSE coalesce($3, total_limit) END,
            asks = asks AND $1::boolean IS NULL, revision = revision + 1
        """,
        enabled, keep_protected, total_limit, automatic_limit,
    )  # fmt: skip


async def set_rule(connection: Connection, rule: MediaRule) -> None:
    """Store a rule; of an earlier one for the same place and kind, values that are not given stay."""
    await connection.execute(
        """
        INSERT INTO media_rules AS r (account, channel, kind, action, largest, beyond, whole_limit)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (coalesce(account, 0), coalesce(channel, 0), coalesce(kind, '')) DO UPDATE
        SET action = coalesce(excluded.action, r.action), largest = coalesce(excluded.largest, r.largest),
            beyond = coalesce(excluded.beyond, r.beyond), whole_limit = coalesce(excluded.whole_limit, r.whole_limit)
        """,
        *asdict(rule).values(),
    )
    await _raise_revision(connection)


async def drop_rules(
    connection: Connection, *, account: AccountId | None, channel: ChannelKey | None, kind: PolicyKind | None
) -> int:
    """Remove the rules of one place, all of them or those of one kind; how many there were."""
    rows = await connection.fetch(
        """
        DELETE FROM media_rules
        WHERE account IS NOT DISTINCT FROM $1 AND channel IS NOT DISTINCT FROM $2 AND ($3::text IS NULL OR kind = $3)
        RETURNING id
        """,
        account, channel, kind,
    )  # fmt: skip
    await _raise_revision(connection)
    return len(rows)


async def keep_archives(connection: Connection, key: ChannelKey, *, keep: bool) -> None:
    """Whether the archives of a channel are kept with their bytes."""
    await connection.execute(
        "UPDATE channels SET keeps_archives = $2 WHERE id = $1 AND keeps_archives <> $2", key, keep
    )


async def _raise_revision(connection: Connection) -> None:
    await connection.execute("UPDATE media_state SET revision = revision + 1")
