"""Pages answer within 100 ms among 100,000 channels and 1,000,000 messages, and 200 open ones hear news within 500 ms.

``tidegate web`` is a process of its own on a server that nobody else uses; pages are asked for over HTTP by somebody
who is signed in, one after the other, and each time is that of the whole answer. The channels' page: the first, one
far in, titles found by a rare, a common and an unknown word, and the other orders. The search page: words as
``search`` plants them. The baseline lists the page far in as most programs do, by skipping all rows before it.

Then 200 streams listen while 100 events a second are recorded, one a transaction. An event's delay is from its commit
until a stream was told of it or of a later one; the loop's lag is the server's own metric over that time.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from bench import search
from bench._server import own_database
from tidegate.clock import SystemClock
from tidegate.store import feed
from tidegate.store.database import Database
from tidegate.store.feed import Cursor

CHANNELS = 100_000
ASKED = 40
STREAMS = 200
EVENTS_A_SECOND = 100
SECONDS = 15
PAGE_LIMIT_MS = 100
DELAY_LIMIT_MS = 500
LAG_LIMIT_MS = 50

_TIDEGATE = [sys.executable, "-c", "from tidegate.cli import main; main()", "web"]
_CURSOR = re.compile(r"cursor=([\w%-]+)")
_clock = SystemClock()


async def run() -> dict[str, Any]:
    """Fill, ask for pages, listen."""
    async with own_database(connections=5) as database:
        await search.fill(database)
        await fill_channels(database)
        async with web(database) as client:
            figures = await channels_page(client) | await search_page(client)
            plain = await _p95(lambda _: _plainly(database))
            figures |= {"far_in_plainly_p95_ms": plain, "ratio": round(plain / figures["channels_far_in_p95_ms"], 1)}
            figures |= {"slowest_page_p95_ms": max(_claimed(figures)), "page_limit_ms": PAGE_LIMIT_MS}
            return figures | await streams(database, client)


def _claimed(figures: dict[str, Any]) -> list[float]:
    return [value for name, value in figures.items() if name.startswith(("channels_", "search_"))]


async def fill_channels(database: Database) -> None:
    """Channels that twenty accounts see, half of them mirrored, each with memory and a history that has a gap."""
    await database.pool.execute(
        f"""
        INSERT INTO accounts (name, platform) SELECT 'account ' || n, 'telegram' FROM generate_series(1, 20) n;
        INSERT INTO channels (platform, number, title, reader, enabled, in_full)
        SELECT 'telegram', 1000000 + n, (ARRAY['Red', 'blue', 'GREEN', 'Käse', '新聞', 'daily'])[1 + n * 7 % 6]
            || ' room ' || md5(n::text), (SELECT min(id) FROM accounts) + n % 20, n % 2 = 0, n % 4 = 0
        FROM generate_series(1, {CHANNELS}) n;
        INSERT INTO sights SELECT reader, id, false FROM channels WHERE reader IS NOT NULL;
        INSERT INTO places (channel, last_scanned_at, verdict, newest_seen, turn_offset)
        SELECT id, now() - id * interval '1 s', 'gate: unchanged', 1000, id FROM channels WHERE enabled;
        INSERT INTO coverage (channel, kind, spans)
        SELECT id, CASE WHEN in_full THEN 'messages' ELSE 'documents' END, '{{[0,400),[500,1001)}}'
        FROM channels WHERE enabled;
        """
    )
    await database.pool.execute("VACUUM ANALYZE")


@asynccontextmanager
async def web(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """The pages in a process of their own, and somebody signed in to them."""
    with tempfile.TemporaryDirectory(prefix="tg-bench-web-") as home:
        variables = {
            **os.environ,
            "DATABASE_URL": database.address.url,
            "TIDEGATE_HOME": home,
            "TIDEGATE_WEB_PORT": "0",
        }
        process = await asyncio.create_subprocess_exec(
            *_TIDEGATE, env=variables, stderr=asyncio.subprocess.PIPE, cwd=home
        )
        try:
            base, secret = await _link(process)
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False, limits=limits) as client:
                answer = await client.post("/sign-in/once", data={"once": secret})
                assert answer.status_code == 303, answer.text
                yield client
        finally:
            process.terminate()
            await process.wait()


async def _link(process: asyncio.subprocess.Process) -> tuple[str, str]:
    """Where the pages are, and the one-time sign-in that the process prints."""
    assert process.stderr is not None
    told = ""
    while line := (await process.stderr.readline()).decode():
        told += line
        if found := re.search(r"(http://[\d.:]+)/sign-in\?once=(\S+)", line):
            return found[1], found[2]
    raise RuntimeError(f"tidegate web ended at once: {told}")


# Pages


async def channels_page(client: httpx.AsyncClient) -> dict[str, Any]:
    """Each way in which people look at a hundred thousand channels."""
    far_in = await _far_in(client)
    asked: dict[str, Callable[[int], str]] = {
        "first": lambda _: "/channels",
        "far_in": lambda _: far_in,
        "rare": lambda number: f"/channels?q={number:06x}",
        "common": lambda _: "/channels?q=room",
        "unknown": lambda number: f"/channels?q=nowhere{number}",
        "by_scan": lambda _: "/channels?sort=scanned&descending=true",
        "by_reader": lambda _: "/channels?sort=reader",
    }
    return {
        f"channels_{name}_p95_ms": await _p95(lambda number, path=path: _get(client, path(number)))  # type: ignore[misc]
        for name, path in asked.items()
    }


async def _far_in(client: httpx.AsyncClient) -> str:
    """A page some way down the list, by the links that lead there."""
    path = "/channels?q=green+room"
    answer = await client.get(path)
    for _ in range(20):
        found = _CURSOR.search(answer.text)
        assert found is not None
        answer = await client.get(f"{path}&cursor={found[1]}")
    return str(answer.url.copy_remove_param("q"))


async def search_page(client: httpx.AsyncClient) -> dict[str, Any]:
    """Words of each kind, in both orders."""
    figures: dict[str, Any] = {}
    for kind in ("rare", "middling", "common"):
        words = search.planted_words(kind)
        for order in ("newest", "relevance"):
            figures[f"search_{kind}_{order}_p95_ms"] = await _p95(
                lambda number, order=order, words=words: _get(  # type: ignore[misc]
                    client, f"/messages?q={words[number % len(words)]}&by={order}"
                )
            )
    return figures


async def _get(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)


async def _plainly(database: Database) -> None:
    await database.pool.fetch(
        "SELECT * FROM channels WHERE lower(title) LIKE '%room%' ORDER BY lower(title), id OFFSET $1 LIMIT 50",
        CHANNELS // 2,
    )


async def _p95(work: Callable[[int], Awaitable[None]]) -> float:
    took = []
    for number in range(ASKED):
        start = _clock.ticks()
        await work(number)
        took.append(_clock.ticks() - start)
    return round(statistics.quantiles(took, n=20)[-1] * 1_000, 1)


# News


async def streams(database: Database, client: httpx.AsyncClient) -> dict[str, Any]:
    """Two hundred open pages while something happens a hundred times a second."""
    before = await _lags(client)
    heard: list[list[tuple[Cursor, float]]] = [[] for _ in range(STREAMS)]
    ready = asyncio.Semaphore(0)
    listening = [asyncio.create_task(_listen(client, one, ready)) for one in heard]
    for _ in range(STREAMS):
        await ready.acquire()
    recorded = await _record(database)
    await asyncio.sleep(2)
    for task in listening:
        task.cancel()
    await asyncio.wait(listening)
    delays = [delay for one in heard for delay in _delays(recorded, one)]
    assert len(delays) == STREAMS * len(recorded), "a stream was not told of every event"
    after = await _lags(client)
    late = {bound: after[bound] - before[bound] for bound in after}
    return {
        "streams": STREAMS,
        "events": len(recorded),
        "delay_p95_ms": round(statistics.quantiles(delays, n=20)[-1] * 1_000, 1),
        "delay_limit_ms": DELAY_LIMIT_MS,
        "messages_a_second_a_page": round(statistics.mean(map(_a_second, heard)), 1),
        "loop_lag_p95_under_ms": _under(late, 0.95),
        "loop_lag_p99_under_ms": _under(late, 0.99),
        "loop_lag_limit_ms": LAG_LIMIT_MS,
    }


async def _listen(client: httpx.AsyncClient, heard: list[tuple[Cursor, float]], ready: asyncio.Semaphore) -> None:
    async with client.stream("GET", "/events") as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if line.startswith("retry:"):
                ready.release()
            elif line.startswith("id: "):
                heard.append((Cursor.parse(line.removeprefix("id: ")), _clock.ticks()))


async def _record(database: Database) -> list[tuple[Cursor, float]]:
    """Events at their pace, each with its place and the moment at which its transaction had ended."""
    recorded = []
    start = _clock.ticks()
    for number in range(EVENTS_A_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, start + number / EVENTS_A_SECOND - _clock.ticks()))
        async with database.transaction() as connection:
            await feed.record(connection, "bench.happened", str(number))
            row = await connection.fetchrow("SELECT tx, id FROM events WHERE tx = pg_current_xact_id()")
        recorded.append((Cursor(row["tx"], row["id"]), _clock.ticks()))
    return recorded


def _delays(recorded: list[tuple[Cursor, float]], heard: list[tuple[Cursor, float]]) -> list[float]:
    """How long each event took to be told of; one that never was has no delay."""
    delays, told = [], iter(heard)
    upto, at = next(told, (None, 0.0))
    for cursor, committed in recorded:
        while upto is not None and upto < cursor:
            upto, at = next(told, (None, 0.0))
        if upto is None:
            break
        delays.append(max(0.0, at - committed))
    return delays


def _a_second(heard: list[tuple[Cursor, float]]) -> float:
    """How often a page was told of something, from the first time to the last."""
    return (len(heard) - 1) / (heard[-1][1] - heard[0][1])


async def _lags(client: httpx.AsyncClient) -> dict[float, float]:
    """The server's lags so far, counted up to each bound in seconds."""
    text = (await client.get("/metrics")).text
    found = re.findall(r'tidegate_loop_lag_seconds_bucket\{le="([\d.+Inf]+)"\} ([\d.]+)', text)
    return {float(bound): float(count) for bound, count in found}


def _under(late: dict[float, float], share: float) -> float:
    """The bound in milliseconds under which that share of the lags lies."""
    total = late[float("inf")]
    return min(bound for bound, count in late.items() if count >= share * total) * 1_000
