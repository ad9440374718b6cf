"""Full text over messages and over the names of files inside archives."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import asyncpg

from tidegate.core.ids import ArchiveId, ChannelId, ChannelKey, GuildId, MessageId, TopicId, UserId
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.search.queries import search_windows
from tidegate.search.queries.search_windows import SearchWindow
from tidegate.search.rules.content_words import HAS_TAGS, content_texts
from tidegate.search.rules.query_language import Query
from tidegate.search.rules.text_words import folded

COUNTED = 5_000
"""Maximum number of results that are counted; beyond it there are "more than 5,000"."""

RANKED = 5_000
"""Maximum number of the newest matches that are ranked by relevance; older ones are found by newest first."""

_SAMPLED = 2_000  # messages in a sample, enough to see how common a word is
_SAMPLE = 0.02  # of all messages: a larger sample takes too long
_FILES = 1_000
_WORDS = 10  # of a search are estimated before it; more of them do not make it faster
_EVERYTHING = SearchWindow(None, narrow=False)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result. *id* is the message's; a file inside an archive also has the archive it is in.

    *key* is our number of the channel, *channel* the platform's; *guild* and *server* are the number and name of where
    the channel is, if anywhere; *parent_title* is the channel that a thread belongs to. *texts* are the other texts of
    a message, such as those of its embeds and polls. *mentions* are the names behind mentions in the text.
    """

    kind: str
    key: ChannelKey
    platform: Platform
    guild: GuildId | None
    server: str
    parent_key: ChannelKey | None
    parent_title: str
    channel: ChannelId
    title: str
    topic: TopicId | None
    id: MessageId
    at: datetime
    author: str
    author_id: UserId | None
    text: str
    files: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    mentions: Mapping[str, str] | None = None
    archive: ArchiveId | None = None
    archive_name: str | None = None
    size: int | None = None
    rank: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What was found, whether there is *more*, and among how many matches relevance was *weighed* if not among all."""

    found: list[SearchHit]
    more: bool
    weighed: int | None = None


class HitOrder(StrEnum):
    """What comes first."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search and its bounds. *channels* are our numbers of those to look in; None looks everywhere.

    *hidden* are those that are not looked in.
    """

    query: Query
    channels: Collection[ChannelKey] | None
    order: HitOrder
    most: int
    hidden: Collection[ChannelKey] = ()

    @property
    def depth(self) -> int:
        """How many of the newest matches have to be known."""
        return self.most + 1 if self.order is HitOrder.NEWEST else max(RANKED, self.most + 1)


async def search(
    connection: Connection,
    query: Query,
    *,
    channels: Collection[ChannelKey] | None = None,
    order: HitOrder = HitOrder.NEWEST,
    most: int,
    skip: int = 0,
    hidden: Collection[ChannelKey] = (),
) -> SearchResults:
    """What the query asks for, by *order*, after the first *skip* results. Deleted messages are not found.

    *channels* are our numbers of those to look in, None for all but those *hidden*.

    What an archive held is found although its message is gone, because the archive is kept.
    """
    asked = SearchRequest(query, channels, order, skip + most, hidden)
    async with planned_anew(connection):
        messages, weighed = await _messages(connection, asked)
        files = await _files(connection, asked)
    found = sorted([*messages, *files], key=lambda one: (one.rank, one.at, one.archive or 0, one.id), reverse=True)
    return SearchResults(found[skip : skip + most], len(found) > skip + most, weighed)


async def count(
    connection: Connection,
    query: Query,
    *,
    channels: Collection[ChannelKey] | None = None,
    most: int = COUNTED,
    hidden: Collection[ChannelKey] = (),
) -> int:
    """How many messages and files the query finds; more than *most* are not counted, and give *most* + 1."""
    asked = SearchRequest(query, channels, HitOrder.NEWEST, most, hidden)
    async with planned_anew(connection):
        where, values = _where(asked, _EVERYTHING, after=1)
        number: int = await connection.fetchval(
            f"SELECT count(*) FROM (SELECT FROM messages m WHERE m.deleted_at IS NULL {where} LIMIT $1) AS found",
            most + 1, *values,
        )  # fmt: skip
        files = await _files(connection, replace(asked, most=most - number)) if number <= most else []
    return min(number + len(files), most + 1)


_PLANNING = """
    SET LOCAL plan_cache_mode = 'force_custom_plan'; SET LOCAL jit = off; SET LOCAL work_mem = '32MB';
    SET LOCAL random_page_cost = 1.1;  -- newest messages lie together: walking them beats collecting and sorting them
"""


@asynccontextmanager
async def planned_anew(connection: Connection) -> AsyncIterator[None]:
    """Plans made for the very words asked for: a plan for any word suits neither rare nor common ones."""
    async with connection.transaction(readonly=True):
        await connection.execute(_PLANNING)
        yield


# Messages


async def _messages(connection: Connection, asked: SearchRequest) -> tuple[list[SearchHit], int | None]:
    """The messages found, and how many were weighed when there may be more of them."""
    rows: list[asyncpg.Record] = []
    matched = 0
    expected = await _expected(connection, asked)
    span = (asked.query.after, asked.query.before)
    async for window in search_windows.back_from(connection, span, expected, asked.depth):
        where, values = _where(asked, window, after=3)
        # Without OFFSET 0 the planner walks back through time, and for a rare word through every message.
        fence = "OFFSET 0" if asked.query.row_query and not (window.narrow and window.low) else ""
        text = _MESSAGES.format(place=_PLACE, parent=_PARENT, rank=_rank(asked, "m.words"), where=where, fence=fence)
        rows = await connection.fetch(text, asked.depth, asked.most + 1, asked.query.text_query, *values)
        matched = rows[0]["matched"] if rows else 0
        if matched >= asked.depth:
            break
    found = [_found("message", row) for row in rows]
    return found, matched if asked.order is HitOrder.RELEVANCE and matched >= asked.depth else None


_PLACE = """
    c.guild, o.id AS parent_key, coalesce(o.title, '') AS parent_title,
    coalesce((SELECT g.title FROM guilds g WHERE g.platform = c.platform AND g.number = c.guild), '') AS server
"""
_PARENT = "LEFT JOIN channels o ON o.platform = c.platform AND o.number = c.parent"


# The newest matches, by the index the planner chooses; limited, and only then read in full. Each is ranked in the inner
# query, because sorting and counting rows that carry their words takes longer than ranking a few too many.
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
    SELECT c.id AS key, c.platform, {place}, c.number AS channel, c.title, m.topic, m.id, m.at, m.author, m.author_id,
        m.text, m.content, b.rank, b.matched,
        ARRAY(SELECT name FROM attachments a WHERE a.channel = m.channel AND a.message = m.id AND a.role = 'own'
              ORDER BY number) AS files
    FROM best b
    JOIN messages m ON m.channel = b.channel AND m.id = b.id
    JOIN channels c ON c.id = b.channel {parent}
"""


def _where(asked: SearchRequest, window: SearchWindow, *, after: int) -> tuple[str, list[Any]]:
    """The conditions of a search, their values numbered from *after* + 1.

    A condition that was not asked for is left out, so that the planner does not have to consider it. In a narrow window
    the words are only tested, so that their index is not used.
    """
    query = asked.query
    given: list[tuple[str, Any]] = [
        (f"(m.words @@ ${{}}::text::tsquery){' IS TRUE' if window.narrow else ''}", query.row_query or None),
        ("m.channel = ANY(${})", None if asked.channels is None else list(asked.channels)),
        ("m.channel <> ALL(${})", list(asked.hidden) or None),
        ("m.at >= ${}", max((one for one in (window.low, query.after) if one is not None), default=None)),
        ("m.at < ${}", query.before),
        (_IN_TOPIC, None if query.topic is None else folded(query.topic)),
    ]
    used = [(clause, value) for clause, value in given if value is not None]
    clauses = [f"AND {clause.format(number)}" for number, (clause, _) in enumerate(used, start=after + 1)]
    return " ".join(clauses), [value for _, value in used]


# By a topic's title or its number.
_IN_TOPIC = (
    "(m.channel, m.topic) IN (SELECT p.channel, p.topic FROM places p "
    "WHERE p.topic > 0 AND (lower(p.title) = ${0}::text OR p.topic::text = ${0}::text))"
)


def _rank(asked: SearchRequest, words: str) -> str:
    """How well a row fits, a word of a long text counting less; by newest first all rows get the same value."""
    weighed = asked.order is HitOrder.RELEVANCE and asked.query.text_query
    return f"ts_rank({words}, $3::text::tsquery, 1)" if weighed else "($3::text IS NULL)::integer::real"


async def _expected(connection: Connection, asked: SearchRequest) -> search_windows.ExpectedMatches:
    """How much there is to look through, and how much the index of words would have to read."""
    query = asked.query
    but_words = replace(asked, query=Query(before=query.before, after=query.after))
    rows = await _planned(connection, *_where(replace(but_words, channels=None), _EVERYTHING, after=0))
    words = [await _planned(connection, "AND m.words @@ $1::text::tsquery", [part]) for part in query.parts[:_WORDS]]
    return search_windows.ExpectedMatches(
        matches=await _matches(connection, asked, rows),
        rows=rows,
        others=rows if asked.channels is None else await _planned(connection, *_where(but_words, _EVERYTHING, after=0)),
        entries=sum(words),
    )


async def _matches(connection: Connection, asked: SearchRequest, rows: int) -> int:
    """How many messages match: as the planner expects, unless a sample of them shows far more.

    Of words with the same prefix it knows only the most common, and thousands may begin with one Chinese character.
    """
    where, values = _where(asked, _EVERYTHING, after=0)
    planned = await _planned(connection, where, values)
    share = _SAMPLED / max(rows, 1)
    if asked.order is HitOrder.NEWEST or share > _SAMPLE:
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


async def _files(connection: Connection, asked: SearchRequest) -> list[SearchHit]:
    """Files by the words of their paths; those of the archives found last when there are very many."""
    query = asked.query
    if not query.text_query or query.topic is not None or set(query.has) - {HAS_TAGS["file"]} or query.has_not:
        return []
    rows = await connection.fetch(
        _INSIDE.format(place=_PLACE, parent=_PARENT, rank=_rank(asked, "i.words")),
        max(_FILES, asked.most + 1),
        asked.most + 1,
        query.text_query,
        None if asked.channels is None else list(asked.channels),
        None if query.author is None else folded(query.author),
        query.after,
        query.before,
    )
    return [_found("file", row) for row in rows]


# In the order of their archives, which is that of the key: walked for a common word, sorted for a rare one.
_INSIDE = """
    WITH last AS (
        SELECT i.archive, i.number, i.path, i.size, {rank} AS rank
        FROM archive_contents i
        WHERE i.words @@ $3::text::tsquery
          AND ($4::bigint[] IS NULL OR i.archive IN (SELECT id FROM archives WHERE channel = ANY($4)))
        ORDER BY i.archive DESC, i.number
        LIMIT $1
    )
    SELECT c.id AS key, c.platform, {place}, c.number AS channel, c.title, a.topic, p.message AS id, p.at,
        p.sender AS author, NULL::bigint AS author_id, NULL::jsonb AS content,
        l.path AS text, '{{}}'::text[] AS files, a.id AS archive, a.name AS archive_name, l.size, l.rank
    FROM last l
    JOIN archives a ON a.id = l.archive
    JOIN channels c ON c.id = a.channel {parent}
    CROSS JOIN LATERAL (
        SELECT message, at, sender FROM archive_parts WHERE archive = a.id ORDER BY spare, number LIMIT 1
    ) AS p
    WHERE ($5::text IS NULL OR starts_with(lower(p.sender), $5))
      AND ($6::timestamptz IS NULL OR p.at >= $6) AND ($7::timestamptz IS NULL OR p.at < $7)
    ORDER BY l.rank DESC, p.at DESC, a.id DESC, l.number
    LIMIT $2
"""


def _found(kind: str, row: asyncpg.Record) -> SearchHit:
    platform = platform_named(row["platform"])
    texts = tuple(content_texts(row["content"]))
    names = (row["content"] or {}).get("mentions")
    return from_row(
        SearchHit, row, kind=kind, platform=platform, files=tuple(row["files"]), texts=texts, mentions=names
    )
