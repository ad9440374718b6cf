"""Pages are stored with their words, coverage and all in one transaction, at a fair share of what a bare COPY reaches.

``bare_copy`` writes the same messages into a table without any index; ``per_s_100`` and ``per_s_1000`` are messages a
second in pages of that size through the store's own code, the search index on. ``rich_per_s_*`` are the same for a mix
of messages with formatting, a reply, reactions, a photo, a poll and an embed, a sixth of each; ``rich_cost`` is what
one of them costs in plain messages, in pages of 100.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bench._database_server import own_database
from bench._rich_messages import rich_message
from tidegate.core.ids import MessageId, Span
from tidegate.database.pool import Database
from tidegate.history.queries import coverage, messages
from tidegate.history.rules.coverage import Content
from tidegate.platforms.interface import Message

COUNT = 20_000
WORDS = ("anchor", "beacon", "current", "drift", "ebb", "flood", "gate", "harbour", "island", "jetty", "keel", "lagoon")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


async def run() -> dict[str, Any]:
    """Small pages, large pages, and the baseline, each into tables of its own size."""
    async with own_database(connections=3) as database:
        small = await _stored(database, channel=1, page=100)
        large = await _stored(database, channel=2, page=1_000)
        rich_small = await _stored(database, channel=3, page=100, made=rich_message)
        rich_large = await _stored(database, channel=4, page=1_000, made=rich_message)
        bare = await _copied(database)
    return {
        "messages": COUNT,
        "per_s_100": round(small),
        "per_s_1000": round(large),
        "rich_per_s_100": round(rich_small),
        "rich_per_s_1000": round(rich_large),
        "rich_cost": round(small / rich_small, 2),
        "bare_copy_per_s": round(bare),
        "ratio": round(small / bare, 3),
    }


def _message(number: int) -> Message:
    text = " ".join(WORDS[number * step % len(WORDS)] for step in (1, 3, 5, 7, 11)) + f" {number}"
    return Message(MessageId(number), BEGAN + timedelta(minutes=number), f"person {number % 50}", text)


async def _stored(
    database: Database, *, channel: int, page: int, made: Callable[[Message, int], Message] = lambda one, _: one
) -> float:
    key = await database.pool.fetchval(
        "INSERT INTO channels (platform, number, title) VALUES ('discord', $1, 'bench') RETURNING id", channel
    )
    written = [made(_message(number), number) for number in range(1, COUNT + 1)]
    began = time.perf_counter()
    for start in range(0, COUNT, page):
        part = written[start : start + page]
        async with database.transaction() as connection:
            await messages.store(connection, key, part)
            await coverage.add(connection, key, dict.fromkeys(Content, Span(part[0].id, part[-1].id)))
    return COUNT / (time.perf_counter() - began)


async def _copied(database: Database) -> float:
    await database.pool.execute("CREATE TABLE bare (channel bigint, id bigint, at timestamptz, author text, text text)")
    rows = [(1, one.id, one.at, one.author, one.text) for one in map(_message, range(1, COUNT + 1))]
    began = time.perf_counter()
    async with database.connection() as connection:
        await connection.copy_records_to_table("bare", records=rows)
    return COUNT / (time.perf_counter() - began)
