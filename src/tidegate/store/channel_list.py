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
    """How a sort is made: the tables, the key and the number that tells equals apart, and the key's type."""

    tables: str
    key: str
    number: str
    kind: str


_SORTS = {
    Sort.TITLE: _By("channels c", "c.sought", "c.id", "text"),
    Sort.SCANNED: _By(
        "channels c JOIN places o ON o.channel = c.id AND o.topic = 0",
        "o.channel_scanned_at",
        "o.channel",
        "timestamptz",
    ),
    Sort.READER: _By("channels c", "coalesce(c.reader, 0)", "c.id", "bigint"),
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
    by = _SORTS[wanted.sort]
    where, values = _where(wanted, after, by)
    way = "DESC" if wanted.descending else "ASC"
    try:
        rows = await connection.fetch(
            f"""
            SELECT c.id, ({by.key})::text AS key FROM {by.tables} {where}
            ORDER BY {by.key} {way}, {by.number} {way} LIMIT $1
            """,
            most + 1, *values,
        )  # fmt: skip
    except asyncpg.DataError:
        raise BadInput("The cursor is none of this list; give the one that the page before gave, as it is.") from None
    shown = rows[:most]
    more = len(rows) > most
    last = Place(wanted.sort, wanted.descending, shown[-1]["key"], shown[-1]["id"]) if more else None
    return Page(await _lines(connection, [row["id"] for row in shown]), last)


def _where(wanted: Wanted, after: Place | None, by: _By) -> tuple[str, list[Any]]:
    """The conditions that were asked for. A number finds its channel, and a title what it has anywhere in it."""
    text = wanted.text.strip().lower()
    number = channels.number_in(text)
    past = "<" if wanted.descending else ">"
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
    if after is not None:
        given.append((f"({by.key}, {by.number}) {past} (${{}}::text::{by.kind}, ${{}})", (after.key, after.number)))
    clauses: list[str] = []
    values: list[Any] = []
    for clause, used in given:
        clauses.append(clause.format(*range(len(values) + 2, len(values) + 2 + len(used))))
        values += used
    return f"WHERE {' AND '.join(clauses)}" if clauses else "", values


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
