"""Channels listed for people and scripts, page by page, quickly also among a hundred thousand."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import asyncpg

from tidegate.errors import BadInput
from tidegate.store import channels
from tidegate.store.channels import Kept
from tidegate.store.database import Connection
from tidegate.words import AccountId


class Sort(StrEnum):
    """What channels are sorted by. By *scanned* only those are listed that have been mirrored at some time.

    Readers come in the order in which the accounts were added, after the channels that nobody reads.
    """

    TITLE = "title"
    SCANNED = "scanned"
    READER = "reader"


@dataclass(frozen=True, slots=True)
class _By:
    """How a sort is made: the key and the number that tells equals apart, the key's type, and the queries to try.

    A query that may not reach far enough is followed by one that does.
    """

    key: str
    number: str
    kind: str
    queries: tuple[str, ...]


_FIRST = 2_000

# What is filtered by lies in the index walked along; see schema step 0019.
_ALONG = """
    SELECT c.id, ({key})::text AS key FROM channels c WHERE {past} {fits}
    ORDER BY {key} {way}, {number} {way} LIMIT $1
"""

# Times of scans lie elsewhere, and each channel has to be looked up: quick for those that come first, and when too few
# of them fit, it is quicker to find all that fit, wherever they come, and to sort them.
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
    Sort.TITLE: _By("c.sought", "c.id", "text", (_ALONG,)),
    Sort.SCANNED: _By("o.channel_scanned_at", "o.channel", "timestamptz", (_FIRST_SCANS, _ALL_SCANS)),
    Sort.READER: _By("coalesce(c.reader, 0)", "c.id", "bigint", (_ALONG,)),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listing goes on: after the channel of this key and number."""

    sort: Sort
    descending: bool
    key: str
    number: int

    def __str__(self) -> str:
        written = json.dumps([self.sort.value, self.descending, self.key, self.number], ensure_ascii=False)
        return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read what ``str`` wrote."""
        try:
            match json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)).decode()):
                case [str(sort), bool(descending), str(key), int(number)] if _can_be(key, number):
                    return cls(Sort(sort), descending, key, number)
        except (binascii.Error, ValueError, RecursionError):
            pass
        raise BadInput("The cursor is none of this list; give the one that the page before gave, as it is.")


def _can_be(key: str, number: int) -> bool:
    """Whether the database can hold these; a text that is none of its characters raises ``ValueError``."""
    return b"\x00" not in key.encode() and 0 <= number < 2**63


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which channels are wanted, and how sorted. *only* are our numbers of those that may be seen."""

    text: str = ""
    account: AccountId | None = None
    enabled: bool | None = None
    only: Collection[int] | None = None
    sort: Sort = Sort.TITLE
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A channel with its memory, which one that was never mirrored has not."""

    kept: Kept
    whole: asyncpg.Record | None


@dataclass(frozen=True, slots=True)
class Page:
    """Channels, and where to go on when there are more."""

    lines: list[Line]
    next: Place | None


async def page(connection: Connection, wanted: Wanted, *, after: Place | None = None, most: int) -> Page:
    """The next *most* channels *after* a place; the place has to be one of the same sort."""
    if after is not None and (after.sort, after.descending) != (wanted.sort, wanted.descending):
        raise BadInput("The cursor is that of a list sorted otherwise; begin again without it.")
    try:
        rows = await _rows(connection, wanted, after, most + 1)
    except asyncpg.DataError:
        raise BadInput("The cursor is none of this list; give the one that the page before gave, as it is.") from None
    shown = rows[:most]
    more = len(rows) > most
    last = Place(wanted.sort, wanted.descending, shown[-1]["key"], shown[-1]["id"]) if more else None
    return Page(await _lines(connection, [row["id"] for row in shown]), last)


async def _rows(connection: Connection, wanted: Wanted, after: Place | None, most: int) -> list[asyncpg.Record]:
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


def _past(wanted: Wanted, after: Place | None, by: _By) -> tuple[str, list[Any]]:
    """What lies beyond the place reached."""
    if after is None:
        return "true", []
    beyond = "<" if wanted.descending else ">"
    return f"({by.key}, {by.number}) {beyond} ($2::text::{by.kind}, $3)", [after.key, after.number]


def _fits(wanted: Wanted, *, after: int) -> tuple[str, list[Any]]:
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
    if wanted.enabled is not None:
        given.append(("c.enabled = ${}", (wanted.enabled,)))
    if wanted.only is not None:
        given.append(("c.id = ANY(${})", (list(wanted.only),)))
    clauses: list[str] = []
    values: list[Any] = []
    for clause, used in given:
        first = after + len(values) + 1
        clauses.append(f"AND {clause.format(*range(first, first + len(used)))}")
        values += used
    return " ".join(clauses), values


async def _lines(connection: Connection, keys: list[int]) -> list[Line]:
    known = await channels.of_keys(connection, keys)
    rows = await connection.fetch("SELECT * FROM places WHERE channel = ANY($1) AND topic = 0", keys)
    wholes = {row["channel"]: row for row in rows}
    return [Line(known[key], wholes.get(key)) for key in keys]


async def line(connection: Connection, kept: Kept) -> Line:
    """One channel with its memory."""
    whole = await connection.fetchrow("SELECT * FROM places WHERE channel = $1 AND topic = 0", kept.key)
    return Line(kept, whole)


async def topics(connection: Connection, key: int, *, after: int = 0, most: int) -> list[asyncpg.Record]:
    """The topics of a forum in the order of their numbers, those beyond *after*."""
    rows: list[asyncpg.Record] = await connection.fetch(
        "SELECT * FROM places WHERE channel = $1 AND topic > $2 ORDER BY topic LIMIT $3", key, after, most
    )
    return rows


async def readings(connection: Connection, kept: Kept, *, most: int) -> list[asyncpg.Record]:
    """What was last read of a channel, newest first: when, by what, how many messages and archives."""
    rows: list[asyncpg.Record] = await connection.fetch(
        """
        SELECT at, kind, data FROM events
        WHERE kind IN ('channel.read', 'backfill.ended', 'reconcile.ended') AND data ->> 'channel' = $1
        ORDER BY tx DESC, id DESC LIMIT $2
        """,
        str(kept.number), most,
    )  # fmt: skip
    return rows
