"""Channels in guilds, as an account sees them: which there are, their newest messages, and which are gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import asyncpg

from tidegate.channels.queries import message_counts
from tidegate.channels.queries.message_counts import PlatformCount
from tidegate.channels.rules.message_counts import MessageCounter
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, GuildId
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.channels import ChannelFoundDeleted, ChannelHistoryClosed
from tidegate.events.queries import feed
from tidegate.platforms.interface import Channel, ChannelKind, Head


@dataclass(frozen=True, slots=True)
class ThreadParent:
    """A channel whose archived threads are to be listed. *listed* says that this was done before."""

    key: ChannelKey
    number: ChannelId
    title: str
    kind: ChannelKind
    listed: bool


@dataclass(frozen=True, slots=True)
class GuildExtent:
    """How much of an account's guilds is mirrored."""

    guilds: int
    channels: int
    threads: int


# What can be read is mirrored when it is first seen, a thread where its parent is. Only what differs is written.
_SEE = """
    INSERT INTO channels AS c (platform, number, title, kind, guild, parent, archived, private, protected, state,
                               enabled, in_full, to_start, reader, largest_file, description)
    SELECT $1, t.number, t.title, t.kind, t.guild, t.parent, t.archived, t.private, false,
        CASE WHEN t.readable THEN 'ok' ELSE 'no_history_permission' END,
        coalesce(p.enabled, true), true, false, $2, t.largest_file, t.description
    FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::boolean[], $9::boolean[],
                $10::boolean[], $11::bigint[], $12::text[])
        AS t (number, title, kind, guild, parent, archived, private, readable, largest_file, description)
    LEFT JOIN channels p ON p.platform = $1 AND p.number = t.parent
    ORDER BY t.number
    ON CONFLICT (platform, number) DO UPDATE
    SET title = coalesce(nullif(excluded.title, ''), c.title), kind = excluded.kind, guild = excluded.guild,
        parent = excluded.parent, archived = excluded.archived, private = excluded.private, state = excluded.state,
        reader = coalesce(c.reader, excluded.reader), largest_file = coalesce(excluded.largest_file, c.largest_file),
        description = excluded.description
    WHERE (c.title, c.kind, c.guild, c.parent, c.archived, c.private, c.state, c.reader IS NULL, c.largest_file,
           c.description)
          IS DISTINCT FROM (coalesce(nullif(excluded.title, ''), c.title), excluded.kind, excluded.guild,
                            excluded.parent, excluded.archived,
                            excluded.private, excluded.state, false,
                            coalesce(excluded.largest_file, c.largest_file), excluded.description)
"""

# All that change channels and what accounts see of them lock the channels first, by their numbers.
_LOCK = "SELECT FROM channels WHERE platform = $1 AND number = ANY($2) ORDER BY number FOR UPDATE"

_SIGHTS = """
    INSERT INTO sights AS s (account, channel, may_post)
    SELECT $2, c.id, t.may_post
    FROM unnest($3::bigint[], $4::boolean[]) AS t (number, may_post)
    JOIN channels c ON c.platform = $1 AND c.number = t.number
    ON CONFLICT (account, channel) DO UPDATE SET may_post = excluded.may_post WHERE s.may_post <> excluded.may_post
"""

_HEADS = """
    INSERT INTO places AS p (channel, topic, newest_seen)
    SELECT c.id, 0, t.newest
    FROM unnest($2::bigint[], $3::bigint[]) AS t (number, newest)
    JOIN channels c ON c.platform = $1 AND c.number = t.number
    ORDER BY c.number
    ON CONFLICT (channel, topic) DO UPDATE SET newest_seen = excluded.newest_seen
    WHERE p.newest_seen < excluded.newest_seen
"""


async def see(connection: Connection, platform: Platform, account: AccountId, heads: Mapping[ChannelId, Head]) -> None:
    """Store the newest messages of channels, and what the account may do there.

    A channel that can be read is mirrored from then on; one that can be read again is resumed where its history ends.
    """
    described = [(head.channel, head.newest or 0) for head in heads.values() if head.channel is not None]
    shown = [(channel, newest) for channel, newest in described if channel.visible]
    numbers = [channel.id for channel, _ in shown]
    closed = [channel.id for channel, _ in shown if not channel.readable]
    await _report_closed(connection, platform, closed)
    await connection.execute(
        _SEE, platform, account, numbers,
        [channel.title for channel, _ in shown], [channel.kind.value for channel, _ in shown],
        [channel.guild for channel, _ in shown], [channel.parent for channel, _ in shown],
        [channel.archived for channel, _ in shown], [channel.private for channel, _ in shown],
        [channel.readable for channel, _ in shown], [channel.largest_file for channel, _ in shown],
        [channel.description for channel, _ in shown],
    )  # fmt: skip
    await connection.execute(_SIGHTS, platform, account, numbers, [channel.may_post for channel, _ in shown])
    await connection.execute(_HEADS, platform, numbers, [newest for _, newest in shown])
    await note_counts(connection, platform, heads)
    await _hide(connection, platform, account, [channel for channel, _ in described if not channel.visible])


async def of_channels(connection: Connection, keys: Collection[ChannelKey] | None = None) -> dict[ChannelKey, GuildId]:
    """The guilds of these channels, or of all; a channel without one is left out."""
    rows = await connection.fetch(
        "SELECT id, guild FROM channels WHERE guild IS NOT NULL AND ($1::bigint[] IS NULL OR id = ANY($1))",
        None if keys is None else list(keys),
    )
    return {ChannelKey(row["id"]): GuildId(row["guild"]) for row in rows}


async def _report_closed(connection: Connection, platform: Platform, closed: Collection[ChannelId]) -> None:
    """Report mirrored histories that could be read until now; ``see`` stores their state."""
    rows = await connection.fetch(
        "SELECT number, title FROM channels "
        "WHERE platform = $1 AND number = ANY($2) AND enabled AND kind <> 'board' AND state = 'ok' "
        "ORDER BY number FOR UPDATE",
        platform, list(closed),
    )  # fmt: skip
    for row in rows:
        await feed.record(connection, row["title"], ChannelHistoryClosed(channel=row["number"]))


_COUNTED_SINCE = 992_217_976_012_800_000
"""The first number of 1 July 2022. In older threads Discord counts to 50 and no further."""

_COUNTED_TO = 50


async def note_counts(connection: Connection, platform: Platform, heads: Mapping[ChannelId, Head]) -> None:
    """Store how many messages threads have and ever had, and up to which one, where Discord counts them all."""
    counts = [
        PlatformCount(number, counter, reported, head.newest)
        for number, head in heads.items()
        for counter, reported in ((MessageCounter.MESSAGES, head.messages), (MessageCounter.POSTED, head.posted))
        if reported is not None and head.newest is not None and (number >= _COUNTED_SINCE or reported < _COUNTED_TO)
    ]
    await message_counts.store(connection, platform, counts)


async def _hide(connection: Connection, platform: Platform, account: AccountId, hidden: Collection[Channel]) -> None:
    """Channels the account may no longer be in: their rows stay, and they are not read any more."""
    numbers = [channel.id for channel in hidden]
    await connection.execute(_LOCK, platform, numbers)
    lost = await connection.fetch(
        """
        DELETE FROM sights s USING channels c
        WHERE s.account = $1 AND s.channel = c.id AND c.platform = $2 AND c.number = ANY($3)
        RETURNING c.id
        """,
        account, platform, numbers,
    )  # fmt: skip
    await connection.execute(
        "UPDATE channels SET state = 'unreadable', reader = NULL WHERE id = ANY($1) AND reader = $2",
        [row["id"] for row in lost], account,
    )  # fmt: skip


async def miss(
    connection: Connection, platform: Platform, account: AccountId, heads: Mapping[ChannelId, Head]
) -> list[ChannelKey]:
    """What a survey of guilds does not name any more: a channel is deleted, a thread is archived.

    Returns the keys of threads that were active before. Guilds that are not in the survey keep their channels.
    """
    guilds = {head.channel.guild for head in heads.values() if head.channel and head.channel.guild}
    missing = """
        FROM sights s
        WHERE s.account = $1 AND s.channel = c.id AND c.platform = $2 AND c.guild = ANY($3) AND c.number <> ALL($4)
    """
    survey = (account, platform, list(guilds), list(heads))
    gone = await connection.fetch(
        f"UPDATE channels c SET state = 'deleted' {missing} AND c.kind <> $5 AND c.state <> 'deleted' "
        "RETURNING c.number, c.title",
        *survey, ChannelKind.THREAD.value,
    )  # fmt: skip
    for row in gone:
        await feed.record(connection, row["title"], ChannelFoundDeleted(channel=row["number"]))
    asleep = await connection.fetch(
        f"UPDATE channels c SET archived = true {missing} AND c.kind = $5 AND NOT c.archived AND c.state = 'ok' "
        "RETURNING c.id",
        *survey, ChannelKind.THREAD.value,
    )  # fmt: skip
    return [ChannelKey(row["id"]) for row in asleep]


async def lose(connection: Connection, platform: Platform, channel: ChannelId) -> None:
    """The platform says that a channel is gone; what is stored of it stays."""
    row = await connection.fetchrow(
        "UPDATE channels SET state = 'deleted' WHERE platform = $1 AND number = $2 AND state <> 'deleted' "
        "RETURNING number, title",
        platform, channel,
    )  # fmt: skip
    if row is not None:
        await feed.record(connection, row["title"], ChannelFoundDeleted(channel=row["number"]))


async def extent(connection: Connection, account: AccountId) -> GuildExtent:
    """How many guilds *account* sees, and how many channels and threads it mirrors there and in chats with people."""
    row = await connection.fetchrow(
        """
        SELECT count(DISTINCT c.guild) AS guilds,
            count(*) FILTER (WHERE c.reader = $1 AND c.enabled AND c.kind NOT IN ('board', 'thread')) AS channels,
            count(*) FILTER (WHERE c.reader = $1 AND c.enabled AND c.kind = 'thread') AS threads
        FROM sights s JOIN channels c ON c.id = s.channel
        WHERE s.account = $1 AND c.state IN ('ok', 'no_history_permission')
        """,
        account,
    )
    assert row is not None
    return GuildExtent(row["guilds"], row["channels"], row["threads"])


# Archived threads

# A message names the thread that it started, and a board its newest thread.
_SPOKEN_OF = """
    SELECT m.thread AS number FROM messages m WHERE m.channel = c.id AND m.thread IS NOT NULL AND m.deleted_at IS NULL
    UNION ALL
    SELECT p.newest_seen FROM places p WHERE p.channel = c.id AND p.topic = 0 AND p.newest_seen > 0 AND c.kind = 'board'
"""
_UNKNOWN = "NOT EXISTS (SELECT FROM channels k WHERE k.platform = c.platform AND k.number = spoken.number)"

_PARENTS = """
    SELECT c.id AS key, c.number, c.title, c.kind, c.archives_listed_at IS NOT NULL AS listed
    FROM channels c
    WHERE c.reader = $1 AND c.enabled AND c.state = 'ok' AND c.kind <> 'thread' AND c.guild IS NOT NULL
"""


async def with_unknown_threads(connection: Connection, account: AccountId) -> list[ThreadParent]:
    """The channels whose messages name unknown threads, because those were archived before; and new boards."""
    rows = await connection.fetch(
        f"""{_PARENTS} AND ((c.kind = 'board' AND c.archives_listed_at IS NULL)
                            OR EXISTS (SELECT FROM ({_SPOKEN_OF}) AS spoken WHERE {_UNKNOWN}))""",
        account,
    )
    return [_parent(row) for row in rows]


async def parents(connection: Connection, account: AccountId) -> list[ThreadParent]:
    """The channels that may have threads, as if those were never listed."""
    return [replace(_parent(row), listed=False) for row in await connection.fetch(_PARENTS, account)]


async def never_listed(connection: Connection, account: AccountId) -> list[ThreadParent]:
    """The channels whose archived threads were never listed, private ones among them."""
    rows = await connection.fetch(f"{_PARENTS} AND c.private_archives_listed_at IS NULL", account)
    return [_parent(row) for row in rows]


async def listed_long_ago(connection: Connection, account: AccountId, *, most: int) -> list[ThreadParent]:
    """Up to *most* channels whose archived threads were not listed for a day, the longest first."""
    rows = await connection.fetch(
        f"""{_PARENTS} AND c.archives_listed_at <= clock_now() - interval '1 day'
        ORDER BY c.archives_listed_at, c.id LIMIT $2
        """,
        account, most,
    )  # fmt: skip
    return [_parent(row) for row in rows]


async def are_known(connection: Connection, platform: Platform, threads: Collection[ChannelId]) -> bool:
    """Whether all of these threads were known before."""
    count: int = await connection.fetchval(
        "SELECT count(*) FROM channels WHERE platform = $1 AND number = ANY($2)",
        platform, list(threads),
    )  # fmt: skip
    return count == len(threads)


async def note_listed(connection: Connection, key: ChannelKey, *, private: bool, remark: str | None) -> None:
    """All archived threads of a channel were listed, the *private* ones too, except as *remark* says.

    A thread that a message names and that was not listed is deleted or hidden. It is stored, so that it is not searched
    for again.
    """
    await connection.execute(
        """
        UPDATE channels
        SET archives_listed_at = clock_now(), remark = coalesce($3, remark),
            private_archives_listed_at = CASE WHEN $2 THEN clock_now() ELSE private_archives_listed_at END
        WHERE id = $1
        """,
        key, private, remark,
    )  # fmt: skip
    await connection.execute(
        f"""
        INSERT INTO channels (platform, number, kind, guild, parent, state, enabled, in_full, to_start)
        SELECT DISTINCT c.platform, spoken.number, 'thread', c.guild, c.number, 'unreadable', true, true, false
        FROM channels c CROSS JOIN LATERAL ({_SPOKEN_OF}) AS spoken
        WHERE c.id = $1 AND {_UNKNOWN}
        ON CONFLICT (platform, number) DO NOTHING
        """,
        key,
    )


def _parent(row: asyncpg.Record) -> ThreadParent:
    return from_row(ThreadParent, row, kind=ChannelKind(row["kind"]))
