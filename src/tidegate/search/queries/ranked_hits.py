"""Full text over messages and over the names of files inside archives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import asyncpg

from tidegate.core.ids import ArchiveId, ChannelId, ChannelKey, GuildId, MessageId, TopicId, UserId
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.search.queries.message_matches import PLANNED_ONCE, SqlValues, matches, survey
from tidegate.search.queries.query_names import resolved
from tidegate.search.rules.query_language import Query
from tidegate.search.rules.search_plan import HitOrder, SearchPlan, SearchRequest, decide_plan, unbounded
from tidegate.search.rules.searchable_content import HAS_TAGS, content_texts
from tidegate.search.rules.tokenizer import folded

COUNTED = 5_000
"""Maximum number of results that are counted; beyond it there are "more than 5,000"."""

_FILES = 1_000


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result. *id* is the message's; a file inside an archive also has the archive it is in.

    *key* is our number of the channel, *channel* the platform's; *guild* and *server* are the number and name of where
    the channel is, if anywhere; *parent_title* is the channel that a thread belongs to. *texts* are the other texts of
    a message, such as those of its embeds and polls. *mentions* are the names behind mentions in the text. A private
    chat is *private_to* an account, of which the name is empty once it was removed.
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
    private_to: str | None = None
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
    async with connection.transaction(readonly=True):
        asked = SearchRequest(await resolved(connection, query, channels, hidden), channels, order, skip + most, hidden)
        messages, weighed, has_files = await _messages(connection, asked)
        files = await _files(connection, asked) if has_files else []
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
    async with connection.transaction(readonly=True):
        query = await resolved(connection, query, channels, hidden)
        asked = SearchRequest(query, channels, HitOrder.NEWEST, most, hidden)
        await connection.execute(PLANNED_ONCE)
        seen, has_files = await survey(connection, asked)
        plan = decide_plan(asked, seen)
        number = await _count(connection, asked, plan if not plan.by_index else unbounded(asked, seen))
        if number < asked.depth and plan.is_bounded:
            number = await _count(connection, asked, unbounded(asked, seen))
        files = await _files(connection, replace(asked, most=most - number)) if has_files and number <= most else []
    return min(number + len(files), most + 1)


async def _count(connection: Connection, asked: SearchRequest, plan: SearchPlan) -> int:
    values = SqlValues(asked.depth)
    found = matches(asked, plan, "0", values)
    number: int = await connection.fetchval(
        f"SELECT count(*) FROM (SELECT FROM ({found}) AS matches LIMIT $1) AS found", *values.all
    )
    return number


_PLANNED_ANEW = """
    SET LOCAL plan_cache_mode = 'force_custom_plan'; SET LOCAL jit = off; SET LOCAL work_mem = '32MB';
    SET LOCAL random_page_cost = 1.1; SET LOCAL enable_seqscan = on;
"""


@asynccontextmanager
async def planned_anew(connection: Connection) -> AsyncIterator[None]:
    """Plans made for the very words asked for: a plan for any word suits neither rare nor common ones."""
    async with connection.transaction(readonly=True):
        await connection.execute(_PLANNED_ANEW)
        yield


# Messages


async def _messages(connection: Connection, asked: SearchRequest) -> tuple[list[SearchHit], int | None, bool]:
    """The messages found, how many were weighed when there may be more of them, and whether files are stored too.

    Of a search by relevance, fewer matches are ranked rather than that many messages are looked through.
    """
    await connection.execute(PLANNED_ONCE)
    seen, has_files = await survey(connection, asked)
    plan = decide_plan(asked, seen)
    rows = await _read(connection, asked, plan)
    needed = asked.depth if asked.order is HitOrder.NEWEST else asked.most + 1
    if plan.is_bounded and (rows[0]["matched"] if rows else 0) < needed:
        plan = unbounded(asked, seen)
        rows = await _read(connection, asked, plan)
    matched = rows[0]["matched"] if rows else 0
    found = [_found("message", row) for row in rows]
    is_part = asked.order is HitOrder.RELEVANCE and (plan.is_bounded or matched >= asked.depth)
    return found, matched if is_part else None, has_files


async def _read(connection: Connection, asked: SearchRequest, plan: SearchPlan) -> list[asyncpg.Record]:
    values = SqlValues(asked.depth, asked.most + 1, asked.query.text_query)
    text = _MESSAGES.format(matches=matches(asked, plan, _rank(asked, "m.words"), values), place=_PLACE, parent=_PARENT)
    rows: list[asyncpg.Record] = await connection.fetch(text, *values.all)
    return rows


_PLACE = """
    c.guild, o.id AS parent_key, coalesce(o.title, '') AS parent_title,
    coalesce((SELECT g.title FROM guilds g WHERE g.platform = c.platform AND g.number = c.guild), '') AS server,
    CASE WHEN c.private_to IS NOT NULL
         THEN coalesce((SELECT r.name FROM accounts r WHERE r.id = c.private_to), '') END AS private_to
"""
_PARENT = "LEFT JOIN channels o ON o.platform = c.platform AND o.number = c.parent"


# The newest matches, limited and only then read in full. Each is ranked in the inner query, because sorting and
# counting rows that carry their words takes longer than ranking a few too many. What a reply quotes of a deleted
# message is hidden, as in every other answer about messages.
_MESSAGES = """
    WITH newest AS (
        SELECT * FROM ({matches}) AS matches
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
        (SELECT a.deleted_at IS NOT NULL FROM messages a WHERE a.channel = m.channel AND a.id = m.reply_to)
            AS quote_hidden,
        ARRAY(SELECT name FROM attachments a WHERE a.channel = m.channel AND a.message = m.id AND a.role = 'own'
              ORDER BY number) AS files
    FROM best b
    JOIN messages m ON m.channel = b.channel AND m.id = b.id
    JOIN channels c ON c.id = b.channel {parent}
"""


def _rank(asked: SearchRequest, words: str) -> str:
    """How well a row fits, a word of a long text counting less; by newest first all rows get the same value."""
    weighed = asked.order is HitOrder.RELEVANCE and asked.query.text_query
    return f"ts_rank({words}, $3::text::tsquery, 1)" if weighed else "($3::text IS NULL)::integer::real"


# Files inside archives


async def _files(connection: Connection, asked: SearchRequest) -> list[SearchHit]:
    """Files by the words of their paths; those of the archives found last when there are very many."""
    query = asked.query
    if not query.text_query or query.topic is not None or set(query.has) - {HAS_TAGS["file"]} or query.has_not:
        return []
    await connection.execute(_PLANNED_ANEW)
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
        p.sender AS author, NULL::bigint AS author_id, NULL::jsonb AS content, false AS quote_hidden,
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
    texts = tuple(content_texts(row["content"], quote_hidden=bool(row["quote_hidden"])))
    names = (row["content"] or {}).get("mentions")
    return from_row(
        SearchHit, row, kind=kind, platform=platform, files=tuple(row["files"]), texts=texts, mentions=names
    )
