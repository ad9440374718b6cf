"""Pages are stored with their words, coverage and all in one transaction, at a fair share of what a bare COPY reaches.

``bare_copy`` writes the same messages into a table without any index; ``per_s_100`` and ``per_s_1000`` are messages a
second in pages of that size through the store's own code, the search index on. ``rich_per_s_*`` are the same for a mix
of messages with formatting, a reply, reactions, a photo, a poll and an embed, a sixth of each. ``lean_per_s_100`` are
these without what only a full copy keeps: formatting, quotes, polls, embeds, numbers and Telegram's own JSON. Discord's
was kept before.

``rich_cost`` is what a rich message costs in lean ones, and ``rich_cost_plain`` in plain ones, in pages of 100. Rounds
of all three follow each other, and the median counts.

``--large`` adds the rate into a table of ten million messages, in turns with that into a table with few. Each stretch
is flushed into the index of words at its end, so nothing is left to be done later.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bench._database_server import own_database
from bench._million_messages import MESSAGES, fill
from bench._rich_messages import lean_message, rich_message
from tidegate.core.ids import MessageId, Span
from tidegate.database.pool import Database
from tidegate.history.queries import coverage, messages
from tidegate.history.rules.coverage import Content
from tidegate.platforms.interface import Message

COUNT = 20_000
ROUNDS = 3
WORDS = ("anchor", "beacon", "current", "drift", "ebb", "flood", "gate", "harbour", "island", "jetty", "keel", "lagoon")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

Made = Callable[[Message, int], Message]


async def run(*, large: bool = False) -> dict[str, Any]:
    """Small pages, large pages, and the baseline, each into tables of its own size."""
    figures = await _into_few()
    return {**figures, "large": await _into_many(10 * MESSAGES)} if large else figures


async def _into_many(many: int) -> dict[str, Any]:
    """The same pages into a table of so many messages and into one with few, in turns."""
    async with own_database(connections=3) as few, own_database(connections=3) as full:
        await fill(full, many)
        rates: dict[str, list[float]] = {"few": [], "many": []}
        for number in range(ROUNDS + 1):
            for name, database in (("few", few), ("many", full)):
                rates[name].append(await stored_and_flushed(database, channel=10_000 + number))
        small, big = (statistics.median(taken[1:]) for taken in rates.values())  # the first brings pages to memory
    return {
        "messages": many,
        "per_s_100": round(big),
        "per_s_100_few": round(small),
        "ratio": round(big / small, 2),
        "limit": 0.8,
    }


async def stored_and_flushed(database: Database, *, channel: int) -> float:
    """Messages a second in pages of 100, until the index of words has all of them in their places."""
    began = time.perf_counter()
    await _stored(database, channel=channel, page=100)
    await database.pool.execute("SELECT gin_clean_pending_list('messages_found')")
    return COUNT / (time.perf_counter() - began)


async def _into_few() -> dict[str, Any]:
    async with own_database(connections=3) as database:
        kinds: dict[str, Made] = {"plain": lambda one, _: one, "lean": lean_message, "rich": rich_message}
        took: dict[str, list[float]] = {kind: [] for kind in kinds}
        for number in range(ROUNDS):
            for place, (kind, made) in enumerate(kinds.items()):
                took[kind].append(await _stored(database, channel=10 * number + place + 1, page=100, made=made))
        small, lean, rich_small = (statistics.median(took[kind]) for kind in kinds)
        large = await _stored(database, channel=1_001, page=1_000)
        rich_large = await _stored(database, channel=1_002, page=1_000, made=rich_message)
        bare = await _copied(database)
    return {
        "messages": COUNT,
        "per_s_100": round(small),
        "per_s_1000": round(large),
        "rich_per_s_100": round(rich_small),
        "rich_per_s_1000": round(rich_large),
        "lean_per_s_100": round(lean),
        "rich_cost": round(lean / rich_small, 2),
        "rich_cost_limit": 1.5,
        "rich_cost_plain": round(small / rich_small, 2),
        "bare_copy_per_s": round(bare),
        "ratio": round(small / bare, 3),
    }


def _message(number: int) -> Message:
    text = " ".join(WORDS[number * step % len(WORDS)] for step in (1, 3, 5, 7, 11)) + f" {number}"
    return Message(MessageId(number), BEGAN + timedelta(minutes=number), f"person {number % 50}", text)


async def _stored(database: Database, *, channel: int, page: int, made: Made = lambda one, _: one) -> float:
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
