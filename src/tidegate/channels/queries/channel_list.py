"""Channels listed for people and scripts, page by page, quickly also among a hundred thousand."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import asyncpg

from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import NO_TOPIC, KnownChannel
from tidegate.channels.queries.mirror_states import CONDITIONS
from tidegate.channels.rules.mirror_state import MirrorState
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelKey, TopicId
from tidegate.database.pool import Connection
from tidegate.events.kinds import parse
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.kinds.history import BackfillEnded, ReconcileEnded


class ChannelOrder(StrEnum):
    """What channels are sorted by. By *scanned* only channels are listed that have been mirrored at some time.

    Titles are in natural order: "Customers 2" before "Customers 10".

    Readers come in the order in which the accounts were added, after the channels without a reader.
    """

    TITLE = "title"
    SCANNED = "scanned"
    READER = "reader"


@dataclass(frozen=True, slots=True)
class _By:
    """How a sort is made: the key, the number that orders equal keys, the key's type, and the queries to try.

    A query that may not reach far enough is followed by one that does.
    """

    key: str
    number: str
    kind: str
    queries: tuple[str, ...]


_FIRST = 2_000

# The columns filtered by are in the index walked along; see schema step 0054.
_ALONG = """
    SELECT c.id, ({key})::text AS key FROM channels c WHERE {past} {fits}
    ORDER BY {key} {way}, {number} {way} LIMIT $1
"""

# Times of scans are in another table, and each channel has to be looked up: quick for the first ones. When too few of
# them match, it is quicker to find all that match and to sort them.
_FIRST_SCANS = """
    SELECT c.id, ({key})::text AS key FROM (
        SELECT {key}, {number} FROM places o WHERE o.topic = 0 AND {past}
        ORDER BY {key} {way}, {number} {way} LIMIT {first}
    ) AS o JOIN channels c ON c.id = o.channel
    WHERE true {fits} ORDER BY {key} {way}, {number} {way} LIMIT $1
"""
_ALL_SCANS = """
    SELECT id, at::text AS key FROM (
        SELECT c.id, {key} AS at FROM channels c JOIN places o ON o.channel = c.id AND o.topic = 0
        WHERE {past} {fits} OFFSET 0
    ) AS fitting
    ORDER BY at {way}, id {way} LIMIT $1
"""

_SORTS = {
    ChannelOrder.TITLE: _By("natural_order(c.sought)", "c.id", "text", (_ALONG,)),
    ChannelOrder.SCANNED: _By("o.channel_scanned_at", "o.channel", "timestamptz", (_FIRST_SCANS, _ALL_SCANS)),
    ChannelOrder.READER: _By("coalesce(c.reader, 0)", "c.id", "bigint", (_ALONG,)),
}


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where a listing continues: after the channel of this key and number."""

    sort: ChannelOrder
    descending: bool
    key: str
    number: int

    def __str__(self) -> str:
        written = json.dumps([self.sort.value, self.descending, self.key, self.number], ensure_ascii=False)
        return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> ListPosition:
        """Read what ``str`` wrote."""
        try:
            match json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)).decode()):
                case [str(sort), bool(descending), str(key), int(number)] if _can_be(key, number):
                    return cls(ChannelOrder(sort), descending, key, number)
        except (binascii.Error, ValueError, RecursionError):
            pass
        raise BadInput("The cursor is none of this list; give the one that the page before gave, as it is.")


def _can_be(key: str, number: int) -> bool:
    """Whether the database can hold these; a text with invalid characters raises ``ValueError``."""
    return b"\x00" not in key.encode() and 0 <= number < 2**63


@dataclass(frozen=True, slots=True)
class ChannelFilter:
    """Which channels are wanted, and how sorted. *only* are our numbers of those that may be seen.

    *account* sees them, *reader* reads them. Which of them are in a *mirror_state* depends on the accounts that are
    *behind*. Without *private*, no private chat is among them.
    """

    text: str = ""
    account: AccountId | None = None
    reader: AccountId | None = None
    platform: str | None = None
    enabled: bool | None = None
    mirror_state: MirrorState | None = None
    behind: Collection[AccountId] = ()
    only: Collection[ChannelKey] | None = None
    private: bool = True
    sort: ChannelOrder = ChannelOrder.TITLE
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ChannelWithMemory:
    """A channel with its memory, which one that was never mirrored has not."""

    kept: KnownChannel
    memory: asyncpg.Record | None


@dataclass(frozen=True, slots=True)
class ChannelListPage:
    """Channels, and where to continue when there are more."""

    lines: list[ChannelWithMemory]
    next: ListPosition | None


async def page(
    connection: Connection, wanted: ChannelFilter, *, after: ListPosition | None = None, most: int
) -> ChannelListPage:
    """The next *most* channels *after* a place; the place has to be one of the same sort."""
    if after is not None and (after.sort, after.descending) != (wanted.sort, wanted.descending):
        raise BadInput("The cursor is that of a list sorted otherwise; begin again without it.")
    try:
        rows = await _rows(connection, wanted, after, most + 1)
    except asyncpg.DataError:
        raise BadInput("The cursor is none of this list; give the one that the page before gave, as it is.") from None
    shown = rows[:most]
    more = len(rows) > most
    last = ListPosition(wanted.sort, wanted.descending, shown[-1]["key"], shown[-1]["id"]) if more else None
    return ChannelListPage(await _lines(connection, [row["id"] for row in shown]), last)


async def count(connection: Connection, wanted: ChannelFilter, *, most: int) -> int:
    """How many channels fit; more than *most* are not counted, and give *most* + 1."""
    fits, values = _fits(wanted, after=1)
    number: int = await connection.fetchval(
        f"SELECT count(*) FROM (SELECT FROM channels c WHERE true {fits} LIMIT $1) AS found", most + 1, *values
    )
    return number


async def _rows(
    connection: Connection, wanted: ChannelFilter, after: ListPosition | None, most: int
) -> list[asyncpg.Record]:
    """The number of each channel, and the key it is sorted by."""
    by = _SORTS[wanted.sort]
    past, reached = _past(wanted, after, by)
    fits, values = _fits(wanted, after=1 + len(reached))
    way = "DESC" if wanted.descending else "ASC"
    rows: list[asyncpg.Record] = []
    for query in by.queries:
        text = query.format(key=by.key, number=by.number, way=way, past=past, fits=fits, first=_FIRST)
        rows = await connection.fetch(text, most, *reached, *values)
        if len(rows) == most:
            break
    return rows


def _past(wanted: ChannelFilter, after: ListPosition | None, by: _By) -> tuple[str, list[Any]]:
    """The condition for channels after the position reached."""
    if after is None:
        return "true", []
    beyond = "<" if wanted.descending else ">"
    return f"({by.key}, {by.number}) {beyond} ($2::text::{by.kind}, $3)", [after.key, after.number]


def _fits(wanted: ChannelFilter, *, after: int) -> tuple[str, list[Any]]:
    """The conditions that were asked for. A number finds its channel, and a title what it has anywhere in it."""
    text = wanted.text.strip().lower()
    number = channels.number_in(text)
    given: list[tuple[str, tuple[Any, ...]]] = []
    if number is not None:
        given.append(("(strpos(c.sought, ${}) > 0 OR c.number = ${})", (text, number)))
    elif text:
        given.append(("strpos(c.sought, ${}) > 0", (text,)))
    if wanted.account is not None:
        given.append(("EXISTS (SELECT FROM sights s WHERE s.channel = c.id AND s.account = ${})", (wanted.account,)))
    if wanted.reader is not None:
        given.append(("c.reader = ${}", (wanted.reader,)))
    if wanted.platform is not None:
        given.append(("c.platform = ${}", (wanted.platform,)))
    if wanted.mirror_state is not None:
        given.append((CONDITIONS[wanted.mirror_state], (list(wanted.behind),)))
    if wanted.enabled is not None:
        given.append(("c.enabled = ${}", (wanted.enabled,)))
    if wanted.only is not None:
        given.append(("c.id = ANY(${})", (list(wanted.only),)))
    if not wanted.private:
        given.append(("c.private_to IS NULL", ()))
    clauses: list[str] = []
    values: list[Any] = []
    for clause, used in given:
        first = after + len(values) + 1
        clauses.append(f"AND {clause.format(*range(first, first + len(used)))}")
        values += used
    return " ".join(clauses), values


async def _lines(connection: Connection, keys: list[ChannelKey]) -> list[ChannelWithMemory]:
    known = await channels.of_keys(connection, keys)
    rows = await connection.fetch("SELECT * FROM places WHERE channel = ANY($1) AND topic = 0", keys)
    memories = {row["channel"]: row for row in rows}
    return [ChannelWithMemory(known[key], memories.get(key)) for key in keys]


async def line(connection: Connection, kept: KnownChannel) -> ChannelWithMemory:
    """One channel with its memory."""
    memory = await connection.fetchrow("SELECT * FROM places WHERE channel = $1 AND topic = 0", kept.key)
    return ChannelWithMemory(kept, memory)


async def topics(
    connection: Connection, key: ChannelKey, *, after: TopicId = NO_TOPIC, most: int
) -> list[asyncpg.Record]:
    """The topics of a forum in the order of their numbers, those beyond *after*."""
    rows: list[asyncpg.Record] = await connection.fetch(
        "SELECT * FROM places WHERE channel = $1 AND topic > $2 ORDER BY topic LIMIT $3", key, after, most
    )
    return rows


async def topics_by_title(
    connection: Connection, key: ChannelKey, *, after: TopicId = NO_TOPIC, most: int
) -> list[asyncpg.Record]:
    """The topics of a forum in the natural order of their titles, those after the topic *after*."""
    rows: list[asyncpg.Record] = await connection.fetch(
        """
        SELECT * FROM places
        WHERE channel = $1 AND topic > 0 AND ($2 = 0 OR (natural_order(lower(title)) COLLATE "C", topic) > (
            SELECT natural_order(lower(o.title)) COLLATE "C", o.topic FROM places o
            WHERE o.channel = $1 AND o.topic = $2))
        ORDER BY natural_order(lower(title)) COLLATE "C", topic LIMIT $3
        """,
        key, after, most,
    )  # fmt: skip
    return rows


async def mirrored_titles(connection: Connection, *, most: int) -> list[str]:
    """What the first mirrored channels are called, to choose from."""
    rows = await connection.fetch(
        "SELECT title FROM channels c WHERE enabled AND title <> '' AND private_to IS NULL "
        "ORDER BY natural_order(c.sought), c.id LIMIT $1",
        most,
    )
    return list(dict.fromkeys(row["title"] for row in rows))


async def destinations(connection: Connection, kept: KnownChannel, *, most: int) -> list[KnownChannel]:
    """Channels that archives of a channel can be copied to: those in which the account that reads it may post.

    While nobody reads it, those of every account that sees it.
    """
    rows = await connection.fetch(
        """
        SELECT c.id FROM sights s JOIN channels c ON c.id = s.channel
        WHERE s.account IN (SELECT $1::bigint WHERE $1 IS NOT NULL
                            UNION SELECT account FROM sights WHERE channel = $2 AND $1 IS NULL)
          AND s.may_post AND c.id <> $2 AND c.private_to IS NULL AND c.state = 'ok'
        GROUP BY c.id ORDER BY natural_order(c.sought), c.id LIMIT $3
        """,
        kept.reader, kept.key, most,
    )  # fmt: skip
    keys = [row["id"] for row in rows]
    known = await channels.of_keys(connection, keys)
    return [known[key] for key in keys]


_THREADS = """
    SELECT c.id, natural_order(c.sought) AS key FROM channels c
    WHERE c.platform = $1 AND c.parent = $2 AND {past} ORDER BY natural_order(c.sought), c.id LIMIT $3
"""


async def threads(
    connection: Connection, kept: KnownChannel, *, after: ListPosition | None = None, most: int
) -> ChannelListPage:
    """The threads of a channel in the natural order of their titles, those *after* a place."""
    past, reached = ("true", []) if after is None else ("(natural_order(c.sought), c.id) > ($4, $5)", _place(after))
    rows = await connection.fetch(_THREADS.format(past=past), kept.platform, kept.number, most + 1, *reached)
    shown = rows[:most]
    last = None
    if len(rows) > most:
        last = ListPosition(ChannelOrder.TITLE, descending=False, key=shown[-1]["key"], number=shown[-1]["id"])
    return ChannelListPage(await _lines(connection, [row["id"] for row in shown]), last)


def _place(after: ListPosition) -> list[Any]:
    return [after.key, after.number]


@dataclass(frozen=True, slots=True)
class ChannelReading:
    """Something that was read of a channel: when, by what, and how much."""

    at: datetime
    event: ChannelRead | BackfillEnded | ReconcileEnded


async def readings(connection: Connection, kept: KnownChannel, *, most: int) -> list[ChannelReading]:
    """What was last read of a channel, newest first.

    An event of an earlier version has only the platform's id, which two platforms may share. Then it is nobody's.
    """
    rows = await connection.fetch(
        """
        SELECT at, kind, data FROM events
        WHERE kind IN ('channel.read', 'backfill.ended', 'reconcile.ended') AND data ->> 'channel' = $1
          AND (data ->> 'channel_key' = $3
               OR NOT data ? 'channel_key' AND (SELECT count(*) FROM channels WHERE number = $4) = 1)
        ORDER BY tx DESC, id DESC LIMIT $2
        """,
        str(kept.number), most, str(kept.key), kept.number,
    )  # fmt: skip
    found = ((row["at"], parse(row["kind"], row["data"])) for row in rows)
    return [
        ChannelReading(at, event)
        for at, event in found
        if isinstance(event, ChannelRead | BackfillEnded | ReconcileEnded)
    ]
