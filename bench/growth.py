"""Nothing grows faster than the work it was asked to do: the same work with ever more messages, channels and accounts.

100,000, a million and ten million messages; a thousand to a million channels; a hundred to 100,000 accounts. ``factor``
is how many times as long it takes as with the smallest number. ``--most N`` leaves out larger numbers. It is long, and
runs only when it is named.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC
from typing import Any

import tidegate.app.platform_registry  # noqa: F401 - results name their platform
from bench._database_server import own_database
from bench._million_messages import fill, planted_words
from bench.store import stored_and_flushed
from bench.web import fill_channels, web
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection, Database
from tidegate.history.queries import messages
from tidegate.scans.queries.due_topics import load_awake
from tidegate.scans.rules.scan_decision import ScanPolicy
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query
from tidegate.search.rules.search_plan import HitOrder

MESSAGES = (100_000, 1_000_000, 10_000_000)
CHANNELS = (1_000, 10_000, 100_000, 1_000_000)
ACCOUNTS = (100, 1_000, 10_000, 100_000)
ROUNDS = 20
CHANNEL = 7
_AS_A_BROWSER = {"accept": "text/html"}

Figures = dict[str, float]
"""Milliseconds, by what took them."""


async def run(*, most: int = MESSAGES[-1]) -> dict[str, Any]:
    """Each kind of growth, on servers of the benchmark's own."""
    rows = []
    for kind, sizes, measure in (
        ("messages", MESSAGES, _with_messages),
        ("channels", CHANNELS, _with_channels),
        ("accounts", ACCOUNTS, _with_accounts),
    ):
        figures = {size: await measure(size) for size in sizes if size <= most}
        rows += _rows(kind, figures)
    return {"rows": rows}


def _rows(kind: str, figures: dict[int, Figures]) -> Iterable[dict[str, Any]]:
    first = next(iter(figures.values()), {})
    for size, taken in figures.items():
        for what, figure in taken.items():
            yield {
                "what": what,
                "size": f"{size:,} {kind}",
                "figure": round(figure, 2),
                "unit": "ms",
                "factor": round(figure / first[what], 2),
            }


async def _with_messages(size: int) -> Figures:
    async with own_database(connections=5) as database:
        await fill(database, size)
        figures = {f"search, {kind}": await _p95(database, _searching(kind)) for kind in ("rare", "middling", "common")}
        figures["search by relevance, middling"] = await _p95(database, _searching("middling", HitOrder.RELEVANCE))
        figures["count of a channel's messages, at most 10,000"] = await _p95(
            database, lambda connection, _: messages.count(connection, ChannelKey(CHANNEL), most=10_000)
        )
        figures |= await _pages(
            database, {"home": "/", "chat": f"/channels/{CHANNEL}/messages", "search": "/messages?q=xmiddling1"}
        )
        await stored_and_flushed(database, channel=10_000)  # brings pages to memory
        rates = [await stored_and_flushed(database, channel=10_001 + number) for number in range(3)]
        return figures | {"storing 1,000 messages in pages of 100": 1_000_000 / statistics.median(rates)}


async def _with_channels(size: int) -> Figures:
    async with own_database(connections=5) as database:
        await fill_channels(database, size)
        account = AccountId(await database.pool.fetchval("SELECT min(id) FROM accounts"))

        async def due(connection: Connection, _: int) -> None:
            await load_awake(connection, account, ScanPolicy(), RetryPolicy())

        figures = {"a cycle's question, for a twentieth of the channels": await _p95(database, due)}
        return figures | await _pages(database, {"home": "/", "channels": "/channels", "one channel": "/channels/7"})


async def _with_accounts(size: int) -> Figures:
    async with own_database(connections=5) as database:
        await database.pool.execute(
            "INSERT INTO accounts (name, platform) "
            "SELECT 'account ' || n, 'telegram' FROM generate_series(1, $1::int) AS n",
            size,
        )
        await database.pool.execute("VACUUM ANALYZE accounts")
        return await _pages(database, {"home": "/", "accounts": "/accounts"})


def _searching(kind: str, order: HitOrder = HitOrder.NEWEST) -> Callable[[Connection, int], Awaitable[object]]:
    words = planted_words(kind)

    async def asked(connection: Connection, number: int) -> None:
        query = read_query(words[number % len(words)], lambda moment: moment.replace(tzinfo=UTC))
        await search(connection, query, order=order, most=20)

    return asked


async def _pages(database: Database, paths: dict[str, str]) -> Figures:
    figures = {}
    async with web(database) as (client, _):
        for name, path in paths.items():

            async def get(_: Connection, __: int, path: str = path) -> None:
                (await client.get(path, headers=_AS_A_BROWSER)).raise_for_status()

            figures[f"page {name}"] = await _p95(database, get)
    return figures


async def _p95(database: Database, work: Callable[[Connection, int], Awaitable[object]]) -> float:
    clock = SystemClock()
    took = []
    async with database.connection() as connection:
        for number in range(ROUNDS):
            began = clock.ticks()
            await work(connection, number)
            took.append(1_000 * (clock.ticks() - began))
    return statistics.quantiles(took, n=20)[-1]
