"""Finds the newest messages that match a search: one statement surveys them, the next reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.database.pool import Connection
from tidegate.search.rules.search_plan import DENSE, LOOKED, PART_SAMPLED, SAMPLED_OF, SearchPlan, SearchRequest, Survey


class SqlValues:
    """The values of a statement, each numbered when it is first used."""

    def __init__(self, *first: Any) -> None:
        self.all = list(first)

    def add(self, value: Any) -> str:
        """The place of a value in the statement, such as $3."""
        self.all.append(value)
        return f"${len(self.all)}"


# One plan for all words: each statement has only one sensible way, whatever the words are. A larger work_mem keeps the
# places of a common word exact.
PLANNED_ONCE = """
    SET LOCAL plan_cache_mode = 'force_generic_plan'; SET LOCAL jit = off; SET LOCAL work_mem = '32MB';
    SET LOCAL enable_seqscan = off;
"""

_SAMPLED = f"hashint8(m.id) & {SAMPLED_OF - 1} = 0"

_THERE = "(m.deleted_at IS NULL) IS TRUE"  # written so that no index of all messages that are there is chosen

# The sample is read only when the newest messages do not already show that the search is common.
_SURVEY = """
    WITH looked AS MATERIALIZED (
        SELECT m.at, ({fits}) IS TRUE AS fits FROM messages m WHERE m.deleted_at IS NULL {span} {walk} LIMIT {looked}
    ), seen AS MATERIALIZED (
        SELECT count(*) AS looked, count(*) FILTER (WHERE fits) AS fitting FROM looked
    ), sampled AS MATERIALIZED (
        SELECT m.at FROM messages m
        WHERE (SELECT looked >= {looked} AND fitting < {dense} FROM seen)
          AND {sample} AND {there} {where}
    ), edges AS MATERIALIZED (
        SELECT number, (SELECT at FROM sampled ORDER BY at DESC OFFSET matched - 1 LIMIT 1) AS at
        FROM unnest({edges}::integer[]) WITH ORDINALITY AS t (matched, number)
    )
    SELECT looked, fitting, (SELECT count(*) FROM sampled) AS sampled, (SELECT max(at) FROM looked) AS newest,
        ARRAY(SELECT at FROM edges ORDER BY number) AS lows,
        ARRAY(SELECT (SELECT count(*) FROM messages m WHERE {sample} AND m.at >= e.at {before})
              FROM edges e ORDER BY number) AS newer,
        (SELECT reltuples FROM pg_class WHERE oid = to_regclass('messages_sampled_newest'))::bigint AS total,
        ARRAY(SELECT (SELECT count(*) FROM (
                 SELECT FROM messages m WHERE {sample} AND m.words @@ part::tsquery LIMIT {most}) AS counted)
              FROM unnest({parts}::text[]) AS part
              WHERE (SELECT looked >= {looked} AND fitting < {dense} FROM seen)) AS parts,
        (SELECT count(*) FROM messages m
         WHERE (SELECT looked >= {looked} AND fitting < {dense} FROM seen)
           AND {sample} AND search_keys(m.channel, m.topic, m.at) && {channel}::bigint[]) AS in_channel,
        EXISTS (SELECT FROM archive_contents) AS has_files
    FROM seen
"""


async def survey(connection: Connection, asked: SearchRequest) -> tuple[Survey, bool]:
    """How common the matches are and since when there are enough; and whether any archive's contents are stored."""
    values = SqlValues()
    text = _SURVEY.format(
        fits=_fits(asked, values) or "true", span=_span(asked, values), walk=_walked(asked), looked=LOOKED,
        dense=DENSE, sample=_SAMPLED, there=_THERE, most=PART_SAMPLED, edges=values.add(asked.sample_edges),
        where=_indexed(asked, " & ".join(asked.query.parts), (), values) if asked.indexed else "AND false",
        before=f"AND m.at < {values.add(asked.query.before)}" if asked.query.before is not None else "",
        parts=values.add(asked.query.parts),
        channel=values.add([] if asked.only_channel is None else asked.channel_keys),
    )  # fmt: skip
    [row] = await connection.fetch(text, *values.all)
    seen = Survey(
        row["looked"], row["fitting"], row["sampled"], tuple(row["lows"]), tuple(row["newer"]), row["newest"],
        tuple(row["parts"]), row["in_channel"], row["total"] or 0,
    )  # fmt: skip
    return seen, row["has_files"]


def matches(asked: SearchRequest, plan: SearchPlan, rank: str, values: SqlValues) -> str:
    """The statement that reads the newest matches by a plan; *rank* is how well a row fits.

    Walking, it ends by itself after as many as are needed, in the order of time. By the index there is no order.
    """
    shown = f"m.channel, m.id, m.at, {rank} AS rank"
    if plan.by_index:
        since = f"AND (m.at >= {values.add(plan.low)}) IS TRUE" if plan.low is not None else ""
        where = _indexed(asked, plan.words, plan.time_keys, values)
        # OFFSET 0 keeps the planner from walking back through time, for a rare word through every message.
        return f"SELECT {shown} FROM messages m WHERE {_THERE} {where} {since} OFFSET 0"
    fits = _fits(asked, values) or "true"
    columns = "m.channel, m.id, m.at, m.words, m.topic"
    return f"""
        SELECT {shown} FROM (
            SELECT {columns} FROM messages m WHERE m.deleted_at IS NULL {_span(asked, values)} {_walked(asked)}
            LIMIT {values.add(plan.rows)}::bigint
        ) AS m WHERE {fits} LIMIT {values.add(asked.depth)}::bigint
    """


def _span(asked: SearchRequest, values: SqlValues) -> str:
    """The messages that are walked along: of the time asked for, and of the channel if there is one."""
    query = asked.query
    clauses = [
        f"m.channel = {values.add(asked.only_channel)}" if asked.only_channel is not None else "",
        f"m.at >= {values.add(query.after)}" if query.after is not None else "",
        f"m.at < {values.add(query.before)}" if query.before is not None else "",
    ]
    return _and(clauses)


def _walked(asked: SearchRequest) -> str:
    return "ORDER BY m.id DESC" if asked.only_channel is not None else "ORDER BY m.at DESC, m.id DESC"


def _fits(asked: SearchRequest, values: SqlValues) -> str:
    """Whether a message fits that is looked at, without any index."""
    query = asked.query
    clauses = [f"(m.words @@ {values.add(query.row_query)}::text::tsquery)"] if query.row_query else []
    return " AND ".join([*clauses, *_channels(asked, values), *_topic(asked, values)])


def _indexed(asked: SearchRequest, words: str, time_keys: Iterable[int], values: SqlValues) -> str:
    """The conditions of a search by the index of words. All others are written so that no other index is chosen.

    So are words that must be missing, and common ones: the index would read all entries of theirs.
    """
    query = asked.query
    clauses = [f"m.words @@ {values.add(words)}::text::tsquery"] if words else []
    if query.row_query != words:
        clauses.append(f"(m.words @@ {values.add(query.row_query)}::text::tsquery) IS TRUE")
    for keys in (asked.channel_keys, list(time_keys)):
        clauses += [f"search_keys(m.channel, m.topic, m.at) && {values.add(keys)}::bigint[]"] if keys else []
    if query.topic is not None:
        clauses.append(
            f"search_keys(m.channel, m.topic, m.at) && ARRAY({_TOPIC_KEYS})".format(*_topic_named(asked, values))
        )
    clauses += [f"({one}) IS TRUE" for one in (*_channels(asked, values), *_topic(asked, values))]
    clauses += [f"(m.at >= {values.add(query.after)}) IS TRUE"] if query.after is not None else []
    clauses += [f"(m.at < {values.add(query.before)}) IS TRUE"] if query.before is not None else []
    return _and(clauses)


def _channels(asked: SearchRequest, values: SqlValues) -> list[str]:
    within = [] if asked.channels is None else [f"m.channel = ANY({values.add(list(asked.channels))}::bigint[])"]
    return [*within, *([f"m.channel <> ALL({values.add(list(asked.hidden))}::bigint[])"] if asked.hidden else [])]


# By a topic's title or its number.
_TOPICS = "FROM places p WHERE p.topic > 0 AND (p.title = ANY({0}::text[]) OR p.topic::text = {1}::text)"
_TOPIC_KEYS = f"SELECT (search_keys(p.channel, p.topic, 'epoch'))[5] {_TOPICS}"


def _topic(asked: SearchRequest, values: SqlValues) -> list[str]:
    if asked.query.topic is None:
        return []
    return [f"(m.channel, m.topic) IN (SELECT p.channel, p.topic {_TOPICS})".format(*_topic_named(asked, values))]


def _topic_named(asked: SearchRequest, values: SqlValues) -> tuple[str, str]:
    return values.add(list(asked.query.titles)), values.add(asked.query.topic)


def _and(clauses: Iterable[str]) -> str:
    return " ".join(f"AND {clause}" for clause in clauses if clause)
