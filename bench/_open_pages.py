"""Two hundred open pages that listen, and a feed in which something happens a hundred times a second."""

from __future__ import annotations

import asyncio
import re
import statistics
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tidegate.access.queries import page_sessions
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.pool import Database
from tidegate.events.kinds.demo import TourNoted
from tidegate.events.queries import feed
from tidegate.events.queries.feed import FeedCursor
from tidegate.history.queries import message_patches
from tidegate.platforms.interface import Reacted
from tidegate.web.live.event_stream import STREAMS_A_SESSION
from tidegate.web.site_address import COOKIE

A_DAY = SessionSpan(idle_for=timedelta(days=1), at_most=timedelta(days=1))
STREAMS = 200
EVENTS_A_SECOND = 100
SECONDS = 15
DELAY_LIMIT_MS = 500
LAG_LIMIT_MS = 50

CHANGES_A_SECOND = 20
CHAT_DELAY_LIMIT_MS = 1_000

_CHANGED = re.compile(rb'^data: {"ids": \[(.*?)\]', re.MULTILINE)
_NUMBER = re.compile(rb"\d+")
_PLACE = re.compile(rb"^id: ([\d-]+)$", re.MULTILINE)
_clock = SystemClock()


class Page(asyncio.Protocol):
    """An open page that costs next to nothing, so that delays are the server's: it notes what it hears, and when."""

    def __init__(self, request: bytes) -> None:
        self.ready = asyncio.get_running_loop().create_future()
        self.heard: list[tuple[FeedCursor, float]] = []
        self.changed: dict[int, float] = {}
        self._request = request
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        whole, _, self._rest = (self._rest + data).rpartition(b"\n\n")
        if not self.ready.done() and b"retry:" in whole:
            self.ready.set_result(None)
        self.heard += [(FeedCursor.parse(place.decode()), _clock.ticks()) for place in _PLACE.findall(whole)]
        for ids in _CHANGED.findall(whole):
            for number in _NUMBER.findall(ids):
                self.changed.setdefault(int(number), _clock.ticks())

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(problem or ConnectionError(f"The server said: {self._rest.decode()}"))


async def measure(database: Database, client: httpx.AsyncClient, lags: Path) -> dict[str, Any]:
    """How late pages hear of what happens, and how late the server's loop runs meanwhile, as it notes in *lags*."""
    pages, transports = await _open(database, client)
    before = len(read_lags(lags))
    recorded = await _record(database)
    await asyncio.sleep(2)
    late = read_lags(lags)[before:]
    for transport in transports:
        transport.close()
    delays = [delay for page in pages for delay in _delays(recorded, page.heard)]
    assert len(delays) == STREAMS * len(recorded), "a page was not told of every event"
    return {
        "streams": STREAMS,
        "events": len(recorded),
        "delay_p95_ms": percentile(delays, 95),
        "delay_limit_ms": DELAY_LIMIT_MS,
        "messages_a_second_a_page": round(statistics.mean(_a_second(page.heard) for page in pages), 1),
        "loop_lag_p95_ms": percentile(late, 95),
        "loop_lag_p99_ms": percentile(late, 99),
        "loop_lag_longest_ms": round(max(late) * 1_000, 1),
        "loop_lag_limit_ms": LAG_LIMIT_MS,
    }


async def measure_chats(database: Database, client: httpx.AsyncClient, lags: Path) -> dict[str, Any]:
    """How late open chats of one channel are told which message changed, and how late the server's loop runs then."""
    pages, transports = await _open(database, client, "?chat=1")
    await asyncio.sleep(2)
    before = len(read_lags(lags))
    changed = await _change(database)
    await asyncio.sleep(2)
    late = read_lags(lags)[before:]
    for transport in transports:
        transport.close()
    delays = [max(0.0, page.changed[number] - at) for page in pages for number, at in changed.items()]
    return {
        "chats": len(pages),
        "chat_changes": len(changed),
        "chat_delay_p95_ms": percentile(delays, 95),
        "chat_delay_limit_ms": CHAT_DELAY_LIMIT_MS,
        "chat_loop_lag_p99_ms": percentile(late, 99),
    }


async def _change(database: Database) -> dict[int, float]:
    """People react to one message after the other; each with the moment at which its transaction had ended."""
    rows = await database.pool.fetch(
        "SELECT id FROM messages WHERE channel = 1 ORDER BY id LIMIT $1", CHANGES_A_SECOND * SECONDS
    )
    changed, start = {}, _clock.ticks()
    for number, row in enumerate(rows):
        await asyncio.sleep(max(0.0, start + number / CHANGES_A_SECOND - _clock.ticks()))
        async with database.transaction() as connection:
            await message_patches.react(connection, ChannelKey(1), [Reacted(MessageId(row["id"]), "+", 1)])
        changed[row["id"]] = _clock.ticks()
    return changed


async def _open(
    database: Database, client: httpx.AsyncClient, query: str = ""
) -> tuple[list[Page], list[asyncio.BaseTransport]]:
    """Pages of several browsers where *client* is one, all of them listening."""
    host, port = client.base_url.host, client.base_url.port
    loop, opened = asyncio.get_running_loop(), []
    for number in range(STREAMS):
        if number % STREAMS_A_SESSION == 0:
            async with database.transaction() as connection:
                secret = await page_sessions.begin_session(connection, host, A_DAY)
            head = f"GET /events{query} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {COOKIE}={secret}\r\n\r\n"
            request = head.encode()
        opened.append(await loop.create_connection(partial(Page, request), host, port))
    await asyncio.gather(*(page.ready for _, page in opened))
    return [page for _, page in opened], [transport for transport, _ in opened]


def read_lags(lags: Path) -> list[float]:
    return [float(line) for line in lags.read_text().splitlines()]


async def _record(database: Database) -> list[tuple[FeedCursor, float]]:
    """Events at their pace, each with its place and the moment at which its transaction had ended."""
    recorded = []
    start = _clock.ticks()
    for number in range(EVENTS_A_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, start + number / EVENTS_A_SECOND - _clock.ticks()))
        async with database.transaction() as connection:
            await feed.record(connection, str(number), TourNoted())
            row = await connection.fetchrow("SELECT tx, id FROM events WHERE tx = pg_current_xact_id()")
        recorded.append((FeedCursor(row["tx"], row["id"]), _clock.ticks()))
    return recorded


def _delays(recorded: list[tuple[FeedCursor, float]], heard: list[tuple[FeedCursor, float]]) -> list[float]:
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


def _a_second(heard: list[tuple[FeedCursor, float]]) -> float:
    """How often a page was told of something, from the first time to the last."""
    return (len(heard) - 1) / (heard[-1][1] - heard[0][1])


def percentile(seconds: list[float], of: int) -> float:
    return round(statistics.quantiles(seconds, n=100)[of - 1] * 1_000, 1)
