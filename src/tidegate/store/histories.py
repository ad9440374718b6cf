"""Channels that are mirrored in full: how much of each history is there, how deep, and when it was last verified."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.port import ChannelId
from tidegate.rules.backfilling import Depth, Known
from tidegate.rules.history import START
from tidegate.rules.scanning import ScanMemory, Verdict
from tidegate.store import feed
from tidegate.store.coverage import coverage_of
from tidegate.store.database import Connection
from tidegate.store.places import Place
from tidegate.words import AccountId, Platform


@dataclass(frozen=True, slots=True)
class History:
    """A channel mirrored in full, and what was known of its history at the database's instant *at*.

    *to_start* wants all of it, whatever the target.
    """

    place: Place
    known: Known
    at: datetime
    to_start: bool
    verified_at: datetime | None

    def wanted(self, target: int) -> Depth:
        """How deep it is to be mirrored where nobody said otherwise."""
        return Depth() if self.to_start else Depth(messages=target)


# A board has no messages of its own, and of a channel followed topic by topic there is no history as a whole.
_HISTORIES = """
    SELECT c.id AS key, c.platform, c.number AS channel, c.title, c.forum, c.protected, c.to_start, c.depth,
        c.verified_at, clock_now() AS now, p.newest_seen, p.turn_offset, h.spans,
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
    only: Collection[int] | None = None,
    numbers: Collection[ChannelId] | None = None,
) -> list[History]:
    """Every history that *account* reads; of *only* some where our keys of channels are given, or their *numbers*."""
    rows = await connection.fetch(
        f"""{_HISTORIES} AND c.state IN ('ok', 'no_history_permission') AND c.reader = $1
          AND ($2::bigint[] IS NULL OR c.id = ANY($2)) AND ($3::bigint[] IS NULL OR c.number = ANY($3))
        ORDER BY c.id
        """,
        account, None if only is None else list(only), None if numbers is None else list(numbers),
    )  # fmt: skip
    return [_history(row) for row in rows]


async def note_newest(connection: Connection, key: int, newest: int) -> None:
    """The platform has told of a message: a channel's head is now at least that."""
    await connection.execute(
        "UPDATE places SET newest_seen = $2 WHERE channel = $1 AND topic = 0 AND newest_seen < $2", key, newest
    )


# What is left of a history stands in its coverage: a gap, or an end that lies above the start.
async def unfinished(connection: Connection, account: AccountId, target: int) -> list[History]:
    """The histories *account* reads of which something is missing, those with news first, then the least deep."""
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


async def to_verify(
    connection: Connection, account: AccountId, *, before: datetime, most: int, but: Collection[int] = ()
) -> list[History]:
    """Up to *most* histories that were not verified since *before*: the least recent first, of equals the most active.

    Those of a platform with a counter of changes are left out, because every edit and deletion is told by it.
    """
    rows = await connection.fetch(
        f"""{_HISTORIES} AND c.state = 'ok' AND c.reader = $1 AND h.spans IS NOT NULL AND p.changes IS NULL
          AND (c.verified_at IS NULL OR c.verified_at < $2) AND c.id <> ALL($4)
        ORDER BY c.verified_at NULLS FIRST, p.newest_seen DESC
        LIMIT $3
        """,
        account, before, most, list(but),
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


async def note_looks(connection: Connection, account: AccountId, looked: Mapping[int, Verdict], *, whole: bool) -> None:
    """Remember which histories were read just now and why; after a *whole* pass every other one is unchanged."""
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
            UPDATE places p SET verdict = $3 FROM channels c
            WHERE c.id = p.channel AND c.reader = $1 AND c.state = 'ok' AND p.topic = 0 AND c.id <> ALL($2)
              AND p.verdict <> $3
            """,
            account, list(looked), Verdict.UNCHANGED.value,
        )  # fmt: skip


async def by_reader(connection: Connection, *, only: Collection[int] | None = None) -> dict[AccountId, list[int]]:
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


async def deepen(connection: Connection, key: int, messages: int) -> int:
    """Count what a page has added to a history that may be read, if it could not be before; how deep it is now."""
    depth: int = await connection.fetchval(
        """
        UPDATE channels
        SET depth = depth + $2, state = CASE state WHEN 'no_history_permission' THEN 'ok' ELSE state END
        WHERE id = $1
        RETURNING depth
        """,
        key, messages,
    )  # fmt: skip
    return depth


async def close(connection: Connection, place: Place) -> None:
    """The account may not read a history: nothing is asked until it may, and nothing is forgotten."""
    done = await connection.execute(
        "UPDATE channels SET state = 'no_history_permission' WHERE id = $1 AND state = 'ok'", place.key
    )
    if done == "UPDATE 1":
        await feed.record(connection, "channel.history_closed", place.title, {"channel": place.channel})


async def note_verified(connection: Connection, key: int) -> None:
    """The newest messages of a history have been compared with the platform."""
    await connection.execute("UPDATE channels SET verified_at = clock_now() WHERE id = $1", key)


def _history(row: asyncpg.Record) -> History:
    channel = ChannelId(row["channel"])
    place = Place(
        key=row["key"],
        channel=channel,
        title=row["title"],
        topic=0,
        forum=row["forum"],
        protected=row["protected"],
        by_topic=False,
        turn_offset=row["turn_offset"],
        lacks_history=True,
        memory=ScanMemory(newest_seen=row["newest_seen"]),
        keep_archives=row["platform"] == Platform.TELEGRAM,
    )
    known = Known(
        coverage=coverage_of(row["spans"]),
        head=row["newest_seen"],
        messages=row["depth"],
        oldest_at=row["oldest_at"],
        # Discord numbers everything by time, so a channel's own number is that of its birth.
        earliest=channel if row["platform"] == Platform.DISCORD else START,
    )
    return History(place, known, row["now"], row["to_start"], row["verified_at"])
