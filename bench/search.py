"""Among a million messages a search takes under 50 ms, whether its word is rare, middling or common.

Messages of 200 channels over three years, in the words of a made-up language that are as common as those of real ones,
every tenth of them Chinese. For each kind of word, the 95th percentile of many searches with several words of its
kind, newest first (20) and by relevance (20 of the newest 5,000 matches). The limit is for words of 0.002, 0.5 and 30
per cent of all messages and for a Chinese word inside a text. ``between`` is the dearest there is: a word of 5 per cent
is common enough to have 5,000 matches and rare enough to have them far apart. The baseline asks the same index in one
plain statement and sorts what it brings.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any

from bench._database_server import own_database
from bench._million_messages import CHINESE, SHARES, fill, planted_words
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.search.queries.search import HitOrder, search
from tidegate.search.rules.query_language import read_query

SEARCHES = 60
SHOWN = 20
LIMIT_MS = 50


async def run() -> dict[str, Any]:
    """Fill, let PostgreSQL look at what there is, and search."""
    async with own_database(connections=3) as database:
        await fill(database)
        return await measure(database)


async def measure(database: Database, searches: int = SEARCHES) -> dict[str, Any]:
    """Each kind of word in both orders, and two neighbouring characters inside a text without spaces."""
    figures: dict[str, Any] = {"messages": await database.pool.fetchval("SELECT count(*) FROM messages")}
    kinds = {kind: planted_words(kind) for kind in SHARES} | {"chinese": CHINESE}
    for kind, words in kinds.items():
        for order in HitOrder:
            took = [await _search(database, words[number % len(words)], order) for number in range(searches)]
            figures[f"{kind}_{order}_p95_ms"] = _p95(took)
        plain = [await _plainly(database, words[number % len(words)]) for number in range(searches // 4)]
        figures[f"{kind}_plain_p95_ms"] = _p95(plain)
        figures[f"{kind}_ratio"] = round(
            figures[f"{kind}_plain_p95_ms"] / figures[f"{kind}_{HitOrder.NEWEST}_p95_ms"], 1
        )
    claimed = [figures[f"{kind}_{order}_p95_ms"] for kind in kinds if kind != "between" for order in HitOrder]
    index, table = await database.pool.fetchrow(
        "SELECT pg_relation_size('messages_words') >> 20, pg_table_size('messages') >> 20"
    )
    return {**figures, "slowest_p95_ms": max(claimed), "limit_ms": LIMIT_MS, "index_mib": index, "table_mib": table}


async def _search(database: Database, typed: str, order: HitOrder) -> float:
    async def asked() -> None:
        async with database.connection() as connection:
            query = read_query(typed, lambda moment: moment.replace(tzinfo=UTC))
            await search(connection, query, order=order, most=SHOWN)

    return await _timed(asked)


async def _plainly(database: Database, typed: str) -> float:
    query = read_query(typed, lambda moment: moment.replace(tzinfo=UTC)).row_query

    async def asked() -> None:
        async with database.transaction() as connection:
            await connection.execute("SET LOCAL enable_indexscan = off")
            await connection.fetch(
                """
                SELECT channel, id, text FROM messages WHERE words @@ $1::text::tsquery
                ORDER BY at DESC, id DESC LIMIT $2
                """,
                query, SHOWN,
            )  # fmt: skip

    return await _timed(asked)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    clock = SystemClock()
    start = clock.ticks()
    await work()
    return clock.ticks() - start


def _p95(took: list[float]) -> float:
    return round(statistics.quantiles(took, n=20)[-1] * 1_000, 1)
