"""Pages answer within 100 ms among 100,000 channels, a million messages and archives, and 200 hear news within 500 ms.

``tidegate web`` is a process of its own on a server that nobody else uses; pages are asked for over HTTP by somebody
who is signed in, one after the other, and each time is that of the whole answer. The channels' page: the first, one
far in, titles found by one letter, two, a rare, a common and an unknown word, and every order, also with filters that
nothing fits. The search page: words as ``search`` plants them, words that most messages have, and Chinese. The page of
archives, a million in a thousand channels: the first, one far in, by state and by channel, by one letter and by more,
by words of every share in names and in files inside, by Chinese, and by these together. The page of a channel's
messages: the newest, those around one, and what an open chat asks for. The charts of Home, of an account and of a
channel, from 720,000 sums by hour, and those of the storage. The baseline lists the page of
channels far in as most programs do, by skipping all rows before it.

A context of 50,000 messages over the API, as a document and as lines: how long it takes, and how late the server's loop
runs meanwhile.

Then 200 streams listen while 100 events a second are recorded, one a transaction. An event's delay is from its commit
until a stream was told of it or of a later one; the loop's lag is what the server notes over that time, ten
milliseconds apart. Last, the same pages show one chat in which a message changes twenty times a second: how late they
are told of each change.
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
from pathlib import Path
from typing import Any

import httpx

from bench import _million_archives, _million_messages, _open_pages
from bench._database_server import own_database
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.channels.queries.channel_list import ChannelOrder
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.history.queries.bot_context import MOST
from tidegate.search.rules.search_plan import HitOrder

CHANNELS = 100_000
BUSY_CHANNELS = 1_000
ASKED = 40
PAGE_LIMIT_MS = 100

_CURSOR = re.compile(r"cursor=([\w%-]+)")
_clock = SystemClock()


async def run() -> dict[str, Any]:
    """Fill, ask for pages, listen."""
    async with own_database(connections=5) as database:
        await _million_messages.fill(database)
        await fill_channels(database)
        await _million_archives.fill(database)
        await fill_sums(database)
        async with web(database) as (client, lags):
            figures = await channels_page(client) | await search_page(client) | await archives_page(client)
            figures |= await chat_page(client)
            figures |= await charts_page(client)
            plain = await _p95(lambda _: _plainly(database))
            figures |= {"far_in_plainly_p95_ms": plain, "ratio": round(plain / figures["channels_far_in_p95_ms"], 1)}
            figures |= {"slowest_page_p95_ms": max(_claimed(figures)), "page_limit_ms": PAGE_LIMIT_MS}
            figures |= await long_contexts(database, client, lags)
            figures |= await _open_pages.measure(database, client, lags)
            return figures | await _open_pages.measure_chats(database, client, lags)


def _claimed(figures: dict[str, Any]) -> list[float]:
    kinds = ("channels_", "search_", "archives_", "chat_page_", "charts_")
    return [value for name, value in figures.items() if name.startswith(kinds)]


async def fill_channels(database: Database, channels: int = CHANNELS) -> None:
    """Channels that twenty accounts see, half of them mirrored, each with memory and a history that has a gap."""
    await database.pool.execute(
        f"""
        INSERT INTO accounts (name, platform) SELECT 'account ' || n, 'telegram' FROM generate_series(1, 20) n;
        INSERT INTO channels (platform, number, title, reader, enabled, in_full)
        SELECT 'telegram', 1000000 + n, (ARRAY['Red', 'blue', 'GREEN', 'Käse', '新聞', 'daily'])[1 + n * 7 % 6]
            || ' room ' || md5(n::text), (SELECT min(id) FROM accounts) + n % 20, n % 2 = 0, n % 4 = 0
        FROM generate_series(1, {channels}) n;
        INSERT INTO sights SELECT reader, id, false FROM channels WHERE reader IS NOT NULL;
        INSERT INTO places (channel, last_scanned_at, verdict, newest_seen, turn_offset)
        SELECT id, now() - id * interval '1 s', 'gate: unchanged', 1000, id FROM channels WHERE enabled;
        INSERT INTO coverage (channel, kind, spans)
        SELECT id, CASE WHEN in_full THEN 'messages' ELSE 'documents' END, '{{[0,400),[500,1001)}}'
        FROM channels WHERE enabled;
        """
    )
    await database.pool.execute("VACUUM ANALYZE")


async def fill_sums(database: Database) -> None:
    """A month in which a thousand channels have a message in every hour, and each account does something."""
    await database.pool.execute(
        f"""
        TRUNCATE message_hours, account_hours, hour_fills;
        INSERT INTO message_hours (channel, hour, messages)
        SELECT c.id, date_trunc('hour', now(), 'UTC') - n * interval '1 hour', 1 + n % 7
        FROM (SELECT id FROM channels WHERE enabled ORDER BY id LIMIT {BUSY_CHANNELS}) c, generate_series(0, 719) n;
        INSERT INTO account_hours (account, hour, requests, sends, errors, checks, check_requests, check_places)
        SELECT a.id, date_trunc('hour', now(), 'UTC') - n * interval '1 hour', 900, 80, 3, 12, 24, 60000
        FROM accounts a, generate_series(0, 719) n;
        INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
        SELECT current_date - n, 1000, 1000000, 1000, 2000000 FROM generate_series(0, 399) n;
        """
    )
    await database.pool.execute("VACUUM ANALYZE message_hours, account_hours, storage_days")


@asynccontextmanager
async def web(database: Database) -> AsyncIterator[tuple[httpx.AsyncClient, Path]]:
    """The pages in a process of their own, somebody signed in to them, and the file in which its loop's lags are."""
    with tempfile.TemporaryDirectory(prefix="tg-bench-web-") as home:
        lags = Path(home, "lags")
        variables = {
            **os.environ,
            "DATABASE_URL": database.address.url,
            "TIDEGATE_HOME": home,
            "TIDEGATE_WEB_PORT": "0",
            "TIDEGATE_WEB_REQUESTS_PER_SECOND": "1000000",  # one client stands for very many
            "PYTHONPATH": str(Path(__file__).parent.parent),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench._loop_lag_recorder",
            lags,
            "web",
            env=variables,
            stderr=asyncio.subprocess.PIPE,
            cwd=home,
        )
        try:
            base, secret = await _link(process)
            async with httpx.AsyncClient(
                base_url=base, timeout=60, trust_env=False, headers={"accept": "text/html"}
            ) as client:
                answer = await client.post("/sign-in/once", data={"once": secret})
                assert answer.status_code == 303, answer.text
                yield client, lags
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
    orders = {
        f"{sort}_{way}": f"sort={sort}&descending={way == 'down'}" for sort in ChannelOrder for way in ("up", "down")
    }
    asked = {
        "first": ["/channels"],
        "far_in": [await _far_in(client)],
        "letter": [f"/channels?q={letter}" for letter in "abcz"],
        "two_letters": [f"/channels?q={letters}" for letters in ("ab", "ff", "zz", "新")],
        "rare": [f"/channels?q={number:06x}" for number in range(ASKED)],
        "common": ["/channels?q=room"],
        "unknown": [f"/channels?q=nowhere{number}" for number in range(ASKED)],
        "number": [f"/channels?q={1_000_000 + number}" for number in range(ASKED)],
        **{name: [f"/channels?{order}"] for name, order in orders.items()},
        **{
            f"{name}_filtered": [
                f"/channels?{order}&mirrored={mirrored}&q=ab{word}"
                for mirrored in ("yes", "no")
                for word in ("", "sent")
            ]
            for name, order in orders.items()
        },
    }
    return {f"channels_{name}_p95_ms": await _p95(_getting(client, paths)) for name, paths in asked.items()}


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
    """Words of each kind, in both orders; *everywhere* are those that most messages have."""
    kinds = {kind: _million_messages.planted_words(kind) for kind in ("rare", "middling", "common")}
    kinds |= {
        "everywhere": _million_messages.language()[:3],
        "chinese": [*_million_messages.CHINESE, *_million_messages.HAN[:2]],
    }
    return {
        f"search_{kind}_{order}_p95_ms": await _p95(
            _getting(client, [f"/messages?q={word}&by={order}" for word in words])
        )
        for kind, words in kinds.items()
        for order in HitOrder
    }


async def archives_page(client: httpx.AsyncClient) -> dict[str, Any]:
    """Each way in which people look at a million archives."""
    return {
        f"archives_{kind}_p95_ms": await _p95(_getting(client, [f"/archives?{one}" for one in asked]))
        for kind, asked in _million_archives.asked().items()
    }


async def chat_page(client: httpx.AsyncClient) -> dict[str, Any]:
    """The messages of channels as people and open pages ask for them; their partial fields are counted."""
    keys = range(1, ASKED + 1)
    asked = {
        "newest": [f"/channels/{key}/messages" for key in keys],
        "around": [f"/channels/{key}/messages?around={_message(key)}" for key in keys],
        "changed": [f"/channels/{key}/messages/part?ids={_message(key)}" for key in keys],
        "about": [f"/channels/{key}/technical" for key in keys],
    }
    return {f"chat_page_{name}_p95_ms": await _p95(_getting(client, paths)) for name, paths in asked.items()}


async def charts_page(client: httpx.AsyncClient) -> dict[str, Any]:
    """Every page with charts, over each range, and the part that Home loads again."""
    ranges = ("24h", "7d", "30d")
    asked = {
        "home": [f"/?range={one}" for one in ranges],
        **{f"part_{one}": [f"/charts?range={one}"] for one in ranges},
        "account": [f"/accounts/activity?name=account+{number}&range=30d" for number in range(1, 21)],
        "channel": [f"/channels/{key}/activity" for key in range(1, ASKED + 1)],
        "storage": ["/storage"],
    }
    return {f"charts_{name}_p95_ms": await _p95(_getting(client, paths)) for name, paths in asked.items()}


def _message(key: int) -> int:
    """A message in the middle of the channel of that key."""
    return 10 * (_million_messages.MESSAGES // 2 + key - 1)


async def long_contexts(database: Database, client: httpx.AsyncClient, lags: Path) -> dict[str, Any]:
    """The largest context there is, of a channel that has as many messages."""
    async with database.transaction() as connection:
        secret = await tokens.add(connection, "bench", [TokenScope.READ], None)
        channel = await connection.fetchval(
            "INSERT INTO channels (platform, number, title) VALUES ('telegram', 900001, 'long') RETURNING id"
        )
        await connection.execute(
            """
            INSERT INTO messages (channel, id, at, author, author_id, text, words)
            SELECT $1, row_number() OVER (), at, author, author_id, text, words FROM messages LIMIT $2
            """,
            channel, MOST,
        )  # fmt: skip
    figures: dict[str, Any] = {}
    for form in ("json", "text"):
        before, start = len(_open_pages.read_lags(lags)), _clock.ticks()
        answer = await client.get(
            f"/api/context/900001?limit={MOST}&format={form}", headers={"authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == 200, answer.text
        late = _open_pages.read_lags(lags)[before:]
        figures |= {
            f"context_{form}_megabytes": round(len(answer.content) / 1e6, 1),
            f"context_{form}_seconds": round(_clock.ticks() - start, 2),
            f"context_{form}_loop_lag_p99_ms": _open_pages.percentile(late, 99),
            f"context_{form}_loop_lag_longest_ms": round(max(late) * 1_000, 1),
        }
    return figures


def _getting(client: httpx.AsyncClient, paths: list[str]) -> Callable[[int], Awaitable[None]]:
    """Asks for these pages in turn."""

    async def get(number: int) -> None:
        path = paths[number % len(paths)]
        answer = await client.get(path)
        assert answer.status_code == 200, (path, answer.status_code)

    return get


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
