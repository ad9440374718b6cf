"""Among a million messages a search takes under 50 ms, whether its word is rare, middling or common.

Messages of 200 channels over three years, in the words of a made-up language that are as common as those of real ones,
every tenth of them Chinese. For each kind of word, the 95th percentile of many searches with several words of its
kind, newest first (20) and by relevance (20 of the newest 10,000 matches). The limit is for words of 0.002, 0.5 and 30
per cent of all messages and for a Chinese word inside a text. ``between`` is the dearest there is: a word of 5 per cent
is common enough to have 10,000 matches and rare enough to have them far apart. The baseline asks the same index in one
plain statement and sorts what it brings.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from bench._server import own_database
from tidegate.clock import SystemClock
from tidegate.rules.finding import author_tags, vector
from tidegate.rules.querying import read_query
from tidegate.store.database import Database
from tidegate.store.search import Order, search

MESSAGES = 1_000_000
CHANNELS = 200
BATCH = 10_000
SEARCHES = 60
SHOWN = 20
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SPREAD = timedelta(days=3 * 365)

SHARES = {"rare": 0.00002, "middling": 0.005, "common": 0.3, "between": 0.05}
"""How many of the messages that are not Chinese have a word of each kind."""

WORDS_A_KIND = 5
SYLLABLES = [first + last for first in "bdfgklmnprstvw" for last in ("a", "e", "i", "o", "u", "an", "el", "or")]
HAN = tuple(chr(code) for code in range(0x4E00, 0x4E00 + 3_000))
HAN_SHARE = 0.1
LIMIT_MS = 50
CHINESE = [HAN[20] + HAN[30], HAN[7] + HAN[90], HAN[200] + HAN[3]]


async def run() -> dict[str, Any]:
    """Fill, let PostgreSQL look at what there is, and search."""
    async with own_database(connections=3) as database:
        await fill(database)
        return await measure(database)


async def fill(database: Database, messages: int = MESSAGES) -> None:
    """A million messages; the indexes are made afterwards, which is quicker."""
    dice = random.Random(7)
    pool = database.pool
    await pool.execute("DROP INDEX messages_words; DROP INDEX messages_newest")
    await pool.execute(
        """
        INSERT INTO channels (platform, number, title)
        SELECT 'discord', n, 'Channel ' || n FROM generate_series(1, $1::int) n
        """,
        CHANNELS,
    )
    made = texts(dice)
    for start in range(0, messages, BATCH):
        rows = [(next(made), dice.randrange(500)) for _ in range(BATCH)]
        await pool.execute(
            """
            INSERT INTO messages (channel, id, at, author, author_id, text, words)
            SELECT 1 + number % $1::integer, $2::bigint + number, $3::timestamptz + $4::interval * number,
                'Author ' || who, who, text, words::tsvector
            FROM unnest($5::integer[], $6::text[], $7::text[]) WITH ORDINALITY AS t (who, text, words, number)
            """,
            CHANNELS,
            start,
            NOW - SPREAD + SPREAD * (start / messages),
            SPREAD / messages,
            [who for _, who in rows],
            [text for text, _ in rows],
            [vector([text], author_tags(f"Author {who}", who)) for text, who in rows],
        )
    await pool.execute("CREATE INDEX messages_words ON messages USING gin (words) WITH (gin_pending_list_limit = 512)")
    await pool.execute("CREATE INDEX messages_newest ON messages (at, id) WHERE deleted_at IS NULL")
    await pool.execute("VACUUM ANALYZE")


def texts(dice: random.Random) -> Iterator[str]:
    """Messages of 3 to 25 words; a language's second word is half as common as its first, and so on."""
    words = ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(30_000)]
    common = {kind: list(accumulate(1 / rank for rank in range(1, len(kind) + 1))) for kind in (tuple(words), HAN)}
    planted = [(word, share) for kind, share in SHARES.items() for word in planted_words(kind)]
    while True:
        length = dice.randint(3, 25)
        if dice.random() < HAN_SHARE:
            yield "".join(dice.choices(HAN, cum_weights=common[HAN], k=length))
        else:
            chosen = dice.choices(words, cum_weights=common[tuple(words)], k=length)
            yield " ".join([*chosen, *(word for word, share in planted if dice.random() < share)])


def planted_words(kind: str) -> list[str]:
    """Words that no syllables make, so that exactly their share of messages has them."""
    return [f"x{kind}{number}" for number in range(WORDS_A_KIND)]


async def measure(database: Database, searches: int = SEARCHES) -> dict[str, Any]:
    """Each kind of word in both orders, and two neighbouring characters inside a text without spaces."""
    figures: dict[str, Any] = {"messages": await database.pool.fetchval("SELECT count(*) FROM messages")}
    kinds = {kind: planted_words(kind) for kind in SHARES} | {"chinese": CHINESE}
    for kind, words in kinds.items():
        for order in Order:
            took = [await _search(database, words[number % len(words)], order) for number in range(searches)]
            figures[f"{kind}_{order}_p95_ms"] = _p95(took)
        plain = [await _plainly(database, words[number % len(words)]) for number in range(searches // 4)]
        figures[f"{kind}_plain_p95_ms"] = _p95(plain)
        figures[f"{kind}_ratio"] = round(figures[f"{kind}_plain_p95_ms"] / figures[f"{kind}_{Order.NEWEST}_p95_ms"], 1)
    claimed = [figures[f"{kind}_{order}_p95_ms"] for kind in kinds if kind != "between" for order in Order]
    index, table = await database.pool.fetchrow(
        "SELECT pg_relation_size('messages_words') >> 20, pg_table_size('messages') >> 20"
    )
    return {**figures, "slowest_p95_ms": max(claimed), "limit_ms": LIMIT_MS, "index_mib": index, "table_mib": table}


async def _search(database: Database, typed: str, order: Order) -> float:
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
