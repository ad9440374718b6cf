"""Channels that are mirrored in full: how much of each history is stored, and when it was last reconciled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.channels.queries import message_counts
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ChannelId, ChannelKey
from tidegate.core.platform import platform_named
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.channels import ChannelHistoryClosed
from tidegate.events.queries import feed
from tidegate.history.queries.coverage import read_coverage
from tidegate.history.rules.backfill_plan import HistoryDepth, KnownHistory
from tidegate.history.rules.coverage import START
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.rules.scan_decision import ScanMemory, Verdict


@dataclass(frozen=True, slots=True)
class ChannelHistory:
    """A channel mirrored in full, and what was known of its history at the database's instant *at*.

    *to_start* wants all of it, whatever the target.
    """

    place: ScanPlace
    known: KnownHistory
    at: datetime
    to_start: bool
    reconciled_at: datetime | None

    def wanted(self, target: int) -> HistoryDepth:
        """How deep it is mirrored by default."""
        return HistoryDepth() if self.to_start else HistoryDepth(messages=target)


# A board has no messages itself, and a channel followed topic by topic has no history as a whole.
_HISTORIES = """
    SELECT c.id AS key, c.platform, c.number AS channel, c.title, c.forum, c.protected, c.to_start, c.depth,
        c.verified_at, clock_now() AS now, c.private_to IS NOT NULL AS private_chat, p.newest_seen, p.turn_offset,
        h.spans::text AS spans,
        (SELECT at FROM messages m WHERE m.channel = c.id AND m.id >= lower(h.spans) ORDER BY id LIMIT 1) AS oldest_at
    FROM channels c
    JOIN places p ON p.channel = c.id AND p.topic = 0
    LEFT JOIN coverage h ON h.channel = c.id AND h.topic = 0 AND h.kind = 'messages'
    WHERE c.enabled AND c.in_full AND NOT c.by_topic AND c.kind <> 'board'
"""


async def of_reader(
    connection: Connection,
    account: AccountId,
    *,
    only: Collection[ChannelKey] | None = None,
    numbers: Collection[ChannelId] | None = None,
) -> list[ChannelHistory]:
    """Every history that *account* reads; of *only* some where our keys of channels are given, or their *numbers*."""
    rows = await connection.fetch(
        f"""{_HISTORIES} AND c.state IN ('ok', 'no_history_permission') AND c.reader = $1
          AND ($2::bigint[] IS NULL OR c.id = ANY($2)) AND ($3::bigint[] IS NULL OR c.number = ANY($3))
        ORDER BY c.id
        """,
        account, None if only is None else list(only), None if numbers is None else list(numbers),
    )  # fmt: skip
    return [_history(row) for row in rows]


async def closed(connection: Connection, account: AccountId) -> list[tuple[ChannelId, str]]:
    """The number and title of each history that *account* reads and may not read at the moment."""
    rows = await connection.fetch(
        """
        SELECT number, title FROM channels
        WHERE reader = $1 AND enabled AND in_full AND NOT by_topic AND kind <> 'board'
          AND state = 'no_history_permission'
        ORDER BY natural_order(sought), number
        """,
        account,
    )
    return [(ChannelId(row["number"]), row["title"]) for row in rows]


async def asked(
    connection: Connection, account: AccountId, *, only: Collection[ChannelId] | None
) -> dict[ChannelKey, tuple[str, int]]:
    """The channels *account* reads that people asked for, *only* among some: their kind and the request."""
    rows = await connection.fetch(
        """
        SELECT c.id, c.kind, p.asks FROM channels c JOIN places p ON p.channel = c.id AND p.topic = 0
        WHERE c.reader = $1 AND c.enabled AND p.asked AND ($2::bigint[] IS NULL OR c.number = ANY($2))
        ORDER BY c.id
        """,
        account, None if only is None else list(only),
    )  # fmt: skip
    return {ChannelKey(row["id"]): (row["kind"], row["asks"]) for row in rows}


async def answer_asks(connection: Connection, answered: Mapping[ChannelKey, int]) -> None:
    """Channels were read as people asked, each up to a request; a later request stays."""
    await connection.execute(
        """
        UPDATE places p SET asked = p.asks > t.asks FROM unnest($1::bigint[], $2::bigint[]) AS t (channel, asks)
        WHERE p.channel = t.channel AND p.topic = 0
        """,
        list(answered), list(answered.values()),
    )  # fmt: skip


async def note_newest(connection: Connection, key: ChannelKey, newest: int) -> None:
    """A message was seen: a channel's head is now at least that."""
    await connection.execute(
        "UPDATE places SET newest_seen = $2 WHERE channel = $1 AND topic = 0 AND newest_seen < $2", key, newest
    )


# Coverage shows what is missing of a history: a gap, or an end above the start.
async def unfinished(connection: Connection, account: AccountId, target: int) -> list[ChannelHistory]:
    """The incomplete histories that *account* reads: those with new messages first, then the least deep."""
    rows = await connection.fetch(
        f"""{_HISTORIES} AND c.state = 'ok' AND c.reader = $1 AND p.newest_seen > 0
          AND (h.spans IS NULL
               OR NOT h.spans @> int8range(lower(h.spans), greatest(p.newest_seen, upper(h.spans) - 1), '[]')
               OR (lower(h.spans) > {START} AND (c.to_start OR c.depth < $2)))
        ORDER BY h.spans IS NOT NULL AND upper(h.spans) > p.newest_seen, c.depth, p.newest_seen DESC
        """,
        account, target,
    )  # fmt: skip
    return [_history(row) for row in rows]


async def due_for_reconcile(
    connection: Connection, account: AccountId, *, before: datetime, most: int, last: Collection[ChannelKey] = ()
) -> list[ChannelHistory]:
    """Up to *most* histories not reconciled since *before*: the least recent first, of equals the most active.

    The keys in *last* come after all others. Platforms with a counter of changes are left out, because every edit and
    deletion is read by it.
    """
    rows = await connection.fetch(
        f"""{_HISTORIES} AND c.state = 'ok' AND c.reader = $1 AND h.spans IS NOT NULL AND p.changes IS NULL
          AND (c.verified_at IS NULL OR c.verified_at < $2)
        ORDER BY c.id = ANY($4), c.verified_at NULLS FIRST, p.newest_seen DESC
        LIMIT $3
        """,
        account, before, most, list(last),
    )  # fmt: skip
    return [_history(row) for row in rows]


async def count(connection: Connection, account: AccountId) -> int:
    """How many histories *account* reads."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM channels WHERE reader = $1 AND enabled AND in_full AND NOT by_topic "
        "AND kind <> 'board' AND state = 'ok'",
        account,
    )
    return number


async def note_looks(
    connection: Connection, account: AccountId, looked: Mapping[ChannelKey, Verdict], *, whole: bool
) -> None:
    """Store which histories were read just now and why; after a *whole* cycle every other one is unchanged.

    Nothing had to be read of a channel that is empty, or whose history came before: it was checked all the same.
    """
    await connection.execute(
        """
        UPDATE places p SET last_scanned_at = clock_now(), verdict = t.verdict
        FROM unnest($1::bigint[], $2::text[]) AS t (channel, verdict)
        WHERE p.channel = t.channel AND p.topic = 0
        """,
        list(looked), [verdict.value for verdict in looked.values()],
    )  # fmt: skip
    if whole:
        await connection.execute(
            """
            UPDATE places p SET verdict = $3, last_scanned_at = coalesce(p.last_scanned_at, clock_now())
            FROM channels c
            WHERE c.id = p.channel AND c.reader = $1 AND c.state = 'ok' AND p.topic = 0 AND c.id <> ALL($2)
              AND (p.verdict <> $3 OR c.enabled AND p.never_scanned)
            """,
            account, list(looked), Verdict.UNCHANGED.value,
        )  # fmt: skip


async def by_reader(
    connection: Connection, *, only: Collection[ChannelKey] | None = None
) -> dict[AccountId, list[ChannelKey]]:
    """The keys of all channels mirrored in full, or of *only* some, by the account that reads them."""
    rows = await connection.fetch(
        """
        SELECT reader, array_agg(id ORDER BY id) AS keys
        FROM channels
        WHERE enabled AND in_full AND NOT by_topic AND reader IS NOT NULL AND ($1::bigint[] IS NULL OR id = ANY($1))
        GROUP BY reader ORDER BY reader
        """,
        None if only is None else list(only),
    )
    return {AccountId(row["reader"]): row["keys"] for row in rows}


async def deepen(connection: Connection, key: ChannelKey, messages: int, *, may_read: bool) -> int:
    """Count what a page has added to a history; one that *may_read* opens it again. Returns how deep it is now."""
    depth: int = await connection.fetchval(
        """
        UPDATE channels
        SET depth = depth + $2, state = CASE WHEN $3 AND state = 'no_history_permission' THEN 'ok' ELSE state END
        WHERE id = $1
        RETURNING depth
        """,
        key, messages, may_read,
    )  # fmt: skip
    return depth


async def close(connection: Connection, place: ScanPlace) -> None:
    """The account may not read a history: it is not fetched until it may, and what is stored stays."""
    done = await connection.execute(
        "UPDATE channels SET state = 'no_history_permission' WHERE id = $1 AND state = 'ok'", place.key
    )
    if done == "UPDATE 1":
        await feed.record(connection, place.title, ChannelHistoryClosed(channel=place.channel))


async def note_reconciled(connection: Connection, key: ChannelKey) -> None:
    """The newest messages of a history have been reconciled, so a count may agree now."""
    await connection.execute("UPDATE channels SET verified_at = clock_now() WHERE id = $1", key)
    await message_counts.mark_due(connection, key)


def _history(row: asyncpg.Record) -> ChannelHistory:
    channel, platform = ChannelId(row["channel"]), platform_named(row["platform"])
    place = from_row(
        ScanPlace,
        row,
        topic=NO_TOPIC,
        by_topic=False,
        lacks_history=True,
        memory=ScanMemory(newest_seen=row["newest_seen"]),
        keep_archives=platform.has_archives and not row["private_chat"],
    )
    known = KnownHistory(
        coverage=read_coverage(row["spans"] or ""),
        head=row["newest_seen"],
        messages=row["depth"],
        oldest_at=row["oldest_at"],
        earliest=channel if platform.ids_begin_with_channel else START,
    )
    return ChannelHistory(place, known, row["now"], row["to_start"], row["verified_at"])
