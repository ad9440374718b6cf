"""Pages are stored with their words, coverage and all in one transaction, at a fair share of what a bare COPY reaches.

``bare_copy`` writes the same messages into a table without any index; ``per_s_100`` and ``per_s_1000`` are messages a
second in pages of that size through the store's own code, the search index on.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from bench._server import own_database
from tidegate.port import Message, MessageId
from tidegate.rules.history import Content, Span
from tidegate.store import coverage, messages
from tidegate.store.database import Database

COUNT = 20_000
WORDS = ("anchor", "beacon", "current", "drift", "ebb", "flood", "gate", "harbour", "island", "jetty", "keel", "lagoon")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


async def run() -> dict[str, Any]:
    """Small pages, large pages, and the baseline, each into tables of its own size."""
    async with own_database(connections=3) as database:
        small = await _stored(database, channel=1, page=100)
        large = await _stored(database, channel=2, page=1_000)
        bare = await _copied(database)
    return {
        "messages": COUNT,
        "per_s_100": round(small),
        "per_s_1000": round(large),
        "bare_copy_per_s": round(bare),
        "ratio": round(small / bare, 3),
    }


def _message(number: int) -> Message:
    text = " ".join(WORDS[number * step % len(WORDS)] for step in (1, 3, 5, 7, 11)) + f" {number}"
    return Message(MessageId(number), BEGAN + timedelta(minutes=number), f"person {number % 50}", text)


async def _stored(database: Database, *, channel: int, page: int) -> float:
    key = await database.pool.fetchval(
        "INSERT INTO channels (platform, number, title) VALUES ('discord', $1, 'bench') RETURNING id", channel
    )
    made = [_message(number) for number in range(1, COUNT + 1)]
    began = time.perf_counter()
    for start in range(0, COUNT, page):
        part = made[start : start + page]
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
