"""Full text over messages and over the names of files inside archives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import asyncpg

from tidegate.rules.finding import folded
from tidegate.rules.querying import Query
from tidegate.store import windows
from tidegate.store.database import Connection
from tidegate.store.windows import Window

RANKED = 5_000
"""Relevance is weighed among so many of the newest matches; what is older is found by asking for newest first."""

_SAMPLED = 2_000  # messages show how common a word is
_SAMPLE = 0.02  # of all messages is the largest worth its time
_FILES = 1_000
_WORDS = 10  # of a search are weighed before it; more of them make it no quicker
_EVERYTHING = Window(None, narrow=False)


class Order(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Found:
    """One result. *id* is the message's; a file inside an archive also has the archive it is in."""

    kind: str
    channel: int
    title: str
    topic: int | None
    id: int
    at: datetime
    author: str
    author_id: int | None
    text: str
    files: tuple[str, ...] = ()
    archive: int | None = None
    archive_name: str | None = None
    size: int | None = None
    rank: float = 0.0

    def as_json(self) -> dict[str, Any]:
        shown = {
            "kind": self.kind,
            "channel": self.channel,
            "title": self.title,
            "topic": self.topic,
            "id": self.id,
            "at": self.at.isoformat(),
            "author": self.author,
            "author_id": self.author_id,
            "text": self.text,
            "files": list(self.files),
        }
        if self.archive is None:
            return shown
        return {**shown, "archive": self.archive, "archive_name": self.archive_name, "size": self.size}


@dataclass(frozen=True, slots=True)
class Results:
    """What was found, whether there is *more*, and among how many matches relevance was *weighed* if not among all."""

    found: list[Found]
    more: bool
    weighed: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"results": [one.as_json() for one in self.found], "more": self.more, "weighed": self.weighed}


@dataclass(frozen=True, slots=True)
class Asked:
    """A search and its bounds. *channels* are our numbers of those to look in; None looks everywhere."""

    query: Query
    channels: Collection[int] | None
    order: Order
    most: int

    @property
    def depth(self) -> int:
        """How many of the newest matches have to be known."""
        return self.most + 1 if self.order is Order.NEWEST else max(RANKED, self.most + 1)


async def search(
    connection: Connection,
    query: Query,
    *,
    channels: Collection[int] | None = None,
    order: Order = Order.NEWEST,
    most: int,
) -> Results:
    """What the query asks for, by *order*. It reads the store and nothing else; deleted messages are found no more.

    What an archive held is found although its message is gone, because the archive is kept.
    """
    asked = Asked(query, channels, order, most)
    async with planned_anew(connection):
        messages, weighed = await _messages(connection, asked)
        files = await _files(connection, asked)
    found = sorted([*messages, *files], key=lambda one: (one.rank, one.at, one.archive or 0, one.id), reverse=True)
    return Results(found[:most], len(found) > most, weighed)


_PLANNING = """
    SET LOCAL plan_cache_mode = 'force_custom_plan'; SET LOCAL jit = off; SET LOCAL work_mem = '32MB';
    SET LOCAL random_page_cost = 1.1;  -- newest messages lie together: walking them beats collecting and sorting them
"""


@asynccontextmanager
async def planned_anew(connection: Connection) -> AsyncIterator[None]:
    """Plans that fit the very words asked for: a plan for any word suits neither rare nor common ones."""
    async with connection.transaction(readonly=True):
        await connection.execute(_PLANNING)
        yield


# Messages


async def _messages(connection: Connection, asked: Asked) -> tuple[list[Found], int | None]:
    """The messages found, and how many were weighed when there may be more of them."""
    rows: list[asyncpg.Record] = []
    matched = 0
    expected = await _expected(connection, asked)
    span = (asked.query.after, asked.query.before)
    async for window in windows.back_from(connection, span, expected, asked.depth):
        where, values = _where(asked, window, after=3)
        # Without the fence the planner walks back through time, and a rare word takes it through every message.
        fence = "OFFSET 0" if asked.query.row_query and not (window.narrow and window.low) else ""
        text = _MESSAGES.format(rank=_rank(asked, "m.words"), where=where, fence=fence)
        rows = await connection.fetch(text, asked.depth, asked.most + 1, asked.query.text_query, *values)
        matched = rows[0]["matched"] if rows else 0
        if matched >= asked.depth:
            break
    found = [_found("message", row) for row in rows]
    return found, matched if asked.order is Order.RELEVANCE and matched >= asked.depth else None


# The newest matches, by whichever index the planner finds right; cut, and only then read in full. Each is weighed where
# it lies, because sorting and counting rows that carry their words along takes longer than weighing a few too many.
_MESSAGES = """
    WITH newest AS (
        SELECT * FROM (
            SELECT m.channel, m.id, m.at, {rank} AS rank FROM messages m WHERE m.deleted_at IS NULL {where} {fence}
        ) AS matches
        ORDER BY at DESC, id DESC
        LIMIT $1
    ), best AS (
        SELECT n.channel, n.id, n.at, n.rank, count(*) OVER () AS matched
        FROM newest n
        ORDER BY rank DESC, n.at DESC, n.id DESC
        LIMIT $2
    )
    SELECT c.number AS channel, c.title, m.topic, m.id, m.at, m.author, m.author_id, m.text, b.rank, b.matched,
        ARRAY(SELECT name FROM attachments a WHERE a.channel = m.channel AND a.message = m.id ORDER BY number) AS files
    FROM best b
    JOIN messages m ON m.channel = b.channel AND m.id = b.id
    JOIN channels c ON c.id = b.channel
"""


def _where(asked: Asked, window: Window, *, after: int) -> tuple[str, list[Any]]:
    """The conditions that were asked for, their values numbered *after* those before them.

    One that was not asked for is left out and not made true, so that the planner sees what it can do without. Words
    that only have to be *true* of a message are no business of their index.
    """
    query = asked.query
    given: list[tuple[str, Any]] = [
        (f"(m.words @@ ${{}}::text::tsquery){' IS TRUE' if window.narrow else ''}", query.row_query or None),
        ("m.channel = ANY(${})", None if asked.channels is None else list(asked.channels)),
        ("m.at >= ${}", max((one for one in (window.low, query.after) if one is not None), default=None)),
        ("m.at < ${}", query.before),
    ]
    used = [(clause, value) for clause, value in given if value is not None]
    clauses = [f"AND {clause.format(number)}" for number, (clause, _) in enumerate(used, start=after + 1)]
    return " ".join(clauses), [value for _, value in used]


def _rank(asked: Asked, words: str) -> str:
    """How well a row fits, a word of a long text counting less; by newest first all fit the same."""
    weighed = asked.order is Order.RELEVANCE and asked.query.text_query
    return f"ts_rank({words}, $3::text::tsquery, 1)" if weighed else "($3::text IS NULL)::integer::real"


async def _expected(connection: Connection, asked: Asked) -> windows.Expected:
    """How much there is to look through, and how much the index of words would have to read."""
    query = asked.query
    but_words = replace(asked, query=Query(before=query.before, after=query.after))
    rows = await _planned(connection, *_where(replace(but_words, channels=None), _EVERYTHING, after=0))
    words = [await _planned(connection, "AND m.words @@ $1::text::tsquery", [part]) for part in query.parts[:_WORDS]]
    return windows.Expected(
        matches=await _matches(connection, asked, rows),
        rows=rows,
        others=rows if asked.channels is None else await _planned(connection, *_where(but_words, _EVERYTHING, after=0)),
        entries=sum(words),
    )


async def _matches(connection: Connection, asked: Asked, rows: int) -> int:
    """How many messages match: as the planner expects, unless a sample of them shows far more.

    Of words that begin alike it knows but the commonest, and a Chinese character begins thousands.
    """
    where, values = _where(asked, _EVERYTHING, after=0)
    planned = await _planned(connection, where, values)
    share = _SAMPLED / max(rows, 1)
    if asked.order is Order.NEWEST or share > _SAMPLE:
        return planned
    sample = f"messages m TABLESAMPLE SYSTEM ({100 * share}) REPEATABLE (1)"
    hits = await connection.fetchval(f"SELECT count(*) FROM {sample} WHERE m.deleted_at IS NULL {where}", *values)
    sampled = int(hits / share)
    return sampled if sampled > 1.5 * planned else planned


async def _planned(connection: Connection, where: str, values: list[Any]) -> int:
    """How many messages the planner expects there."""
    plan = await connection.fetchval(
        f"EXPLAIN (FORMAT JSON) SELECT FROM messages m WHERE m.deleted_at IS NULL {where}", *values
    )
    return int(json.loads(plan)[0]["Plan"]["Plan Rows"])


# Files inside archives


async def _files(connection: Connection, asked: Asked) -> list[Found]:
    """Files by the words of their paths; those of the archives found last when there are very many."""
    query = asked.query
    if not query.text_query:
        return []
    rows = await connection.fetch(
        _INSIDE.format(rank=_rank(asked, "i.words")),
        max(_FILES, asked.most + 1),
        asked.most + 1,
        query.text_query,
        None if asked.channels is None else list(asked.channels),
        None if query.author is None else folded(query.author),
        query.after,
        query.before,
    )
    return [_found("file", row) for row in rows]


# In the order of their archives, which is that of the key: for a common word it is walked, for a rare one sorted.
_INSIDE = """
    WITH last AS (
        SELECT i.archive, i.number, i.path, i.size, {rank} AS rank
        FROM archive_contents i
        WHERE i.words @@ $3::text::tsquery
          AND ($4::bigint[] IS NULL OR i.archive IN (SELECT id FROM archives WHERE channel = ANY($4)))
        ORDER BY i.archive DESC, i.number
        LIMIT $1
    )
    SELECT c.number AS channel, c.title, a.topic, p.message AS id, p.at, p.sender AS author, NULL::bigint AS author_id,
        l.path AS text, '{{}}'::text[] AS files, a.id AS archive, a.name AS archive_name, l.size, l.rank
    FROM last l
    JOIN archives a ON a.id = l.archive
    JOIN channels c ON c.id = a.channel
    CROSS JOIN LATERAL (
        SELECT message, at, sender FROM archive_parts WHERE archive = a.id ORDER BY spare, number LIMIT 1
    ) AS p
    WHERE ($5::text IS NULL OR starts_with(lower(p.sender), $5))
      AND ($6::timestamptz IS NULL OR p.at >= $6) AND ($7::timestamptz IS NULL OR p.at < $7)
    ORDER BY l.rank DESC, p.at DESC, a.id DESC, l.number
    LIMIT $2
"""


def _found(kind: str, row: asyncpg.Record) -> Found:
    values = {name: value for name, value in row.items() if name not in ("matched", "files")}
    return Found(kind, **values, files=tuple(row["files"]))
