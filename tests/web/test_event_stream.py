"""Live news: resumable, coalesced, one reader for all pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.waiting import PATIENCE, until
from tests.web.event_listener import listening, looked_after_often, settled
from tests.web.visiting import loaded, sign_in, visiting
from tidegate.access.queries import operator_password, page_sessions
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.core.ids import RunId
from tidegate.cycles.cycle_report import CycleReport
from tidegate.database.pool import Database
from tidegate.events.event_data import EventData
from tidegate.events.kinds.accounts import AccountPaused
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.kinds.reminders import ReminderFired
from tidegate.events.kinds.runs import RunProgressed
from tidegate.events.queries import feed
from tidegate.events.queries.feed import FeedCursor
from tidegate.web import listen, make_app, serve_web
from tidegate.web.live.event_stream import STREAMS_A_SESSION, EventStream
from tidegate.web.site_address import COOKIE

__all__ = ["looked_after_often"]  # a fixture


CYCLE_ENDED = CycleReport("shop", 1, whole=True).event()
FIRED = ReminderFired(run=RunId(1), status="partial", body="3 of 4 delivered", summary="", test=False, counts={})
PROGRESSED = RunProgressed(run=RunId(1), counts={}, body="3 of 4 delivered")


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(database) as opened:
        await sign_in(opened, database)
        yield opened


async def signed_in(database: Database) -> str:
    """The secret of a browser's session."""
    async with database.transaction() as connection:
        return await page_sessions.begin_session(
            connection, "127.0.0.1", SessionSpan(timedelta(days=1), timedelta(days=90))
        )


async def happen(database: Database, event: EventData, subject: str = "x") -> None:
    async with database.transaction() as connection:
        await feed.record(connection, subject, event)


async def families(messages: AsyncIterator[tuple[str, Any]], wanted: set[str]) -> str:
    """Listen until all *wanted* families were told; returns the place in the feed."""
    seen: set[str] = set()
    async for place, news in messages:
        seen |= set(news["families"])
        if wanted <= seen:
            return place
    raise AssertionError(f"the stream ended with {seen}")


async def test_a_page_hears_what_happens_and_goes_on_where_it_was(
    client: httpx.AsyncClient, database: Database
) -> None:
    """Last-Event-ID is the feed's cursor: what happened while the line was down is told first, and nothing twice."""
    async with listening(client) as messages:
        await happen(database, AccountPaused(until=None))
        place = await families(messages, {"account"})
    await happen(database, CYCLE_ENDED)
    await happen(database, FIRED, "Friday stock")
    async with listening(client, **{"last-event-id": place}) as messages:
        _, news = await anext(messages)
        if "reminder" not in news["families"]:  # a transaction of another test held the second one back
            _, news = await anext(messages)
    assert "account" not in news["families"]
    assert [(told["title"], told["body"]) for told in news["told"]] == [("Friday stock", "3 of 4 delivered")]


async def test_a_page_begins_where_it_was_made(client: httpx.AsyncClient, database: Database) -> None:
    """What happens between making a page and its first word is not missed."""
    page = (await client.get("/")).text
    await happen(database, ChannelRead(channel=7, topic=None, messages=1, archives=0))
    [after] = [part.split('"')[0] for part in page.split("/events?after=")[1:]]
    async with listening(client, **{"last-event-id": after}) as messages:
        assert await families(messages, {"channel"})


async def test_a_bad_place_is_a_sentence(client: httpx.AsyncClient) -> None:
    """bad-input-gets-a-sentence, also for streams."""
    answer = await client.get("/events", headers={"last-event-id": "yesterday", "accept": "text/event-stream"})
    assert (answer.status_code, "is none of this feed" in answer.json()["detail"]) == (400, True)


async def test_many_pages_share_one_reader_and_many_events_become_few_messages(database: Database) -> None:
    """Fifty pages hold one session of the server; a hundred events are few messages, the same for all."""
    news, browsers = EventStream(database), [await signed_in(database) for _ in range(2)]
    streams = [news.stream(secret) for secret in browsers for _ in range(25)]
    try:
        for stream in streams:
            assert await anext(stream) == b"retry: 1000\n\n"
        await _read_by(database, 1)
        for number in range(100):
            await happen(database, PROGRESSED, str(number))
        async with database.connection() as connection:
            last = (await connection.fetchval("SELECT max(id) FROM events"), len(streams))
        counts = await asyncio.gather(*(_until(stream, last[0]) for stream in streams))
    finally:
        for stream in streams:
            await stream.aclose()
        news.close()
    assert len(set(counts)) == 1
    assert counts[0] <= 50
    await _read_by(database, 0)


async def test_the_end_of_much_is_told_at_once(database: Database) -> None:
    """As many events as are read at a time, and none after them: pages hear of them without waiting for the next."""
    news = EventStream(database)
    async with aclosing(news.stream(await signed_in(database))) as stream:
        await anext(stream)
        async with database.transaction() as connection:
            for number in range(feed.PAGE):
                await feed.record(connection, str(number), PROGRESSED)
            last = await connection.fetchval("SELECT max(id) FROM events")
        assert await _until(stream, last) <= 2  # the sign-in itself may be told before
    news.close()


async def _until(stream: AsyncIterator[bytes], event: int) -> int:
    """How many messages it takes until *event* is told."""
    told = 0
    async with asyncio.timeout(PATIENCE):
        async for message in stream:
            if not message.startswith(b"id: "):  # a sign of life
                continue
            told += 1
            if FeedCursor.parse(message.split(b"\n")[0].removeprefix(b"id: ").decode()).id >= event:
                return told
    raise AssertionError("the stream ended")


async def _read_by(database: Database, count: int) -> None:
    """Wait until so many read the feed: one while there is a page, nobody once the last is gone."""
    listeners = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"

    async def are_so_many() -> bool:
        return await database.pool.fetchval(listeners, "tidegate feed") == count

    await until(are_so_many)


async def test_a_page_that_missed_very_much_loads_everything_anew(database: Database) -> None:
    """A browser that slept for days costs no more than one that slept for an hour, and is flooded with nothing."""
    await database.pool.execute(
        "INSERT INTO events (kind, subject, data) SELECT 'reminder.fired', 'x', '{}' FROM generate_series(1, 6000)"
    )
    news, secret = EventStream(database), await signed_in(database)
    newest = await settled(database)
    async with aclosing(news.stream(secret, after=feed.START)) as stream:
        assert await anext(stream) == b"retry: 1000\n\n"
        place, _, data = (await anext(stream)).decode().splitlines()[:3]
    assert place == f"id: {newest}"
    assert json.loads(data.removeprefix("data: ")) == {"families": [], "told": [], "all": True}


async def test_a_page_that_does_not_listen_is_let_go(database: Database) -> None:
    """It comes back with its place and misses nothing; nobody's memory fills up meanwhile."""
    news, secret = EventStream(database), await signed_in(database)
    async with aclosing(news.stream(secret)) as stream:
        await anext(stream)
        for _ in range(30):
            await news._spread(b"id: 1-1\n\n")
        assert [message async for message in stream] == []


async def test_a_stream_that_has_lasted_ends_also_while_its_page_is_slow(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends in order when it is asked for more, and whoever is still sending its last message is left alone."""
    monkeypatch.setattr("tidegate.web.live.event_stream._LASTS", 0.5)
    news, clock = EventStream(database), asyncio.get_running_loop().time
    async with aclosing(news.stream(await signed_in(database))) as stream:
        began = clock()
        await anext(stream)
        await news._spread(b"id: 1-1\n\n")
        await anext(stream)
        await until(lambda: clock() > began + 1)
        assert [message async for message in stream] == []


async def test_a_browser_holds_only_so_many_streams(database: Database) -> None:
    """One that opens more and more takes the place of its own oldest ones, and of nobody else's."""
    async with AsyncExitStack() as stack:

        async def opened(secret: str) -> AsyncIterator[bytes]:
            stream = await stack.enter_async_context(aclosing(news.stream(secret)))
            assert await anext(stream) == b"retry: 1000\n\n"
            return stream

        news, greedy = EventStream(database), await signed_in(database)
        other = await opened(await signed_in(database))
        streams = [await opened(greedy) for _ in range(STREAMS_A_SESSION + 3)]
        for oldest in streams[:3]:
            assert [message async for message in oldest] == []
        await happen(database, AccountPaused(until=None))
        for stream in (other, *streams[3:]):
            async with asyncio.timeout(PATIENCE):
                while b"account" not in await anext(stream):  # the sign-ins before it may still be told
                    pass


@pytest.mark.usefixtures("looked_after_often")
async def test_signing_out_ends_the_streams_of_that_browser_alone(
    client: httpx.AsyncClient, database: Database
) -> None:
    """Whoever signs out, here or in another process, is told nothing more within seconds; others listen on."""
    other = await signed_in(database)
    async with listening(client) as messages, listening(client, cookie=f"{COOKIE}={other}") as others:
        await happen(database, AccountPaused(until=None))
        await families(messages, {"account"})
        async with database.transaction() as connection:
            await page_sessions.end_session(connection, client.cookies[COOKIE])
        assert [news async for _, news in messages if "cycle" in news["families"]] == []
        await happen(database, CYCLE_ENDED)
        assert await families(others, {"cycle"})
    again = await client.get("/events", headers={"accept": "text/event-stream"})
    assert (again.status_code, again.headers["location"]) == (303, "/sign-in?next=/events")


@pytest.mark.usefixtures("looked_after_often")
async def test_a_new_password_ends_every_stream(client: httpx.AsyncClient, database: Database) -> None:
    """Signing everybody out ends what they hear as well."""
    async with listening(client) as messages:
        async with database.transaction() as connection:
            await operator_password.set_password(connection, "another")
        assert [news async for _, news in messages if "cycle" in news["families"]] == []


async def test_the_end_of_the_process_ends_every_stream(database: Database) -> None:
    """A process that is told to end does not wait for browsers, and cuts nothing off: the stream ends in order."""
    listener = listen("127.0.0.1", 0)
    serving = asyncio.create_task(serve_web(make_app(database, loaded()), listener))
    address = "http://127.0.0.1:{1}".format(*listener.getsockname())
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, trust_env=False) as client:
        await sign_in(client, database)
        async with listening(client) as messages:
            serving.cancel()
            assert [one async for one in messages] == []
    await asyncio.wait([serving])
    assert serving.cancelled()
