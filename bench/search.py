"""Among a million messages a search takes under 50 ms, whether its word is rare, middling or common.

Messages of 200 channels over three years, in the words of a made-up language that are as common as those of real ones,
every tenth of them Chinese. For each kind, the 95th percentile of many searches, newest first (20) and by relevance (20
of the newest matches). Words of 0.002, 0.5, 5 and 30 per cent of all messages, a Chinese word inside a text, several
words, and words within a channel, a time and an author. The baseline is SQLite's FTS5 over the same messages, asked in
turns with Tidegate where it finds the same. The limits are 50 ms, and 1.5 times FTS5 plus 3 ms.

``--large`` searches ten million messages, without the baseline.
"""

from __future__ import annotations

import statistics
from datetime import UTC
from typing import Any, NamedTuple

import tidegate.app.platform_registry  # noqa: F401 - results name their platform
from bench._database_server import own_database
from bench._fts5_index import Fts5Index, fts5_index
from bench._million_messages import CHINESE, HAN, MESSAGES, SHARES, fill, language, planted_words
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Database
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query
from tidegate.search.rules.search_plan import HitOrder

SEARCHES = 60
SHOWN = 20
LIMIT_MS = 50
RATIO, MORE_MS = 1.5, 3
CHANNEL = ChannelKey(7)


class Kind(NamedTuple):
    """Searches of one kind, perhaps within one channel; *in_fts5* when the baseline finds the same."""

    searches: list[str]
    channel: ChannelKey | None = None
    in_fts5: bool = True


def kinds() -> dict[str, Kind]:
    """Every kind by its name."""
    rare, middling, common, between = (planted_words(kind) for kind in SHARES)
    return {
        **{kind: Kind(planted_words(kind)) for kind in SHARES},
        "everywhere": Kind(language()[:3]),
        "chinese": Kind(CHINESE, in_fts5=False),
        "chinese character": Kind([*HAN[:2], *HAN[300:302]], in_fts5=False),
        "rare and common": Kind(_pairs(rare, common)),
        "middling and between": Kind(_pairs(middling, between)),
        "common and common": Kind(_pairs(common, common[1:])),
        "middling in a channel": Kind(middling, CHANNEL, in_fts5=False),
        "common in a channel": Kind(common, CHANNEL, in_fts5=False),
        "middling before a day": Kind([f"{word} before:2024-09-01" for word in middling], in_fts5=False),
        "middling by an author": Kind([f'{word} from:"Author 7"' for word in middling], in_fts5=False),
        "middling without common": Kind([f"{word} -{common[0]}" for word in middling], in_fts5=False),
    }


def _pairs(some: list[str], others: list[str]) -> list[str]:
    return [f"{one} {other}" for one, other in zip(some, others, strict=False)]


async def run(*, large: bool = False) -> dict[str, Any]:
    """Fill, let PostgreSQL look at what there is, and search."""
    async with own_database(connections=3) as database:
        await fill(database, 10 * MESSAGES if large else MESSAGES)
        if large:
            return await measure(database, None)
        async with fts5_index(database) as peer:
            return await measure(database, peer)


async def measure(database: Database, peer: Fts5Index | None, searches: int = SEARCHES) -> dict[str, Any]:
    """Each kind in both orders."""
    rows = [
        {"kind": name, "order": order.value, **await _measured(database, kind, order, peer, searches)}
        for name, kind in kinds().items()
        for order in HitOrder
    ]
    index, table = await database.pool.fetchrow(
        "SELECT pg_relation_size('messages_found') >> 20, pg_table_size('messages') >> 20"
    )
    return {
        "messages": await database.pool.fetchval("SELECT count(*) FROM messages"),
        "rows": rows,
        "slowest_p95_ms": max(row["p95_ms"] for row in rows),
        "limit_ms": LIMIT_MS,
        "held_beside_fts5": all(row["held_beside_fts5"] is not False for row in rows),
        "index_mib": index,
        "table_mib": table,
    }


async def _measured(
    database: Database, kind: Kind, order: HitOrder, peer: Fts5Index | None, searches: int
) -> dict[str, Any]:
    ours, theirs = [], []
    for number in range(searches):
        words = kind.searches[number % len(kind.searches)]
        found, took = await _search(database, words, kind.channel, order)
        ours.append(took)
        if peer is not None and kind.in_fts5:
            found_there, took = peer.search(words, order, SHOWN)
            theirs.append(took)
            assert found == found_there, f"{words}: {found} results here and {found_there} in FTS5"
    p95, fts5 = _p95(ours), _p95(theirs) if theirs else None
    return {
        "p50_ms": _ms(statistics.median(ours)),
        "p95_ms": _ms(p95),
        "fts5_p50_ms": _ms(statistics.median(theirs)) if theirs else None,
        "fts5_p95_ms": None if fts5 is None else _ms(fts5),
        "ratio_to_fts5": None if fts5 is None else round(p95 / fts5, 2),
        "held_beside_fts5": None if fts5 is None else p95 <= RATIO * fts5 + MORE_MS / 1_000,
    }


async def found_by_tidegate(database: Database, typed: str, *, most: int) -> int:
    """How many messages a search of everything finds, at most *most*."""
    found, _ = await _search(database, typed, None, HitOrder.NEWEST, most)
    return found


async def _search(
    database: Database, typed: str, channel: ChannelKey | None, order: HitOrder, most: int = SHOWN
) -> tuple[int, float]:
    clock = SystemClock()
    query = read_query(typed, lambda moment: moment.replace(tzinfo=UTC))
    began = clock.ticks()
    async with database.connection() as connection:
        within = None if channel is None else [channel]
        found = await search(connection, query, channels=within, order=order, most=most)
    return len(found.found), clock.ticks() - began


def _p95(took: list[float]) -> float:
    return statistics.quantiles(took, n=20)[-1]


def _ms(seconds: float) -> float:
    return round(1_000 * seconds, 2)
