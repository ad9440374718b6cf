"""The feed: an order that loses nothing, cursors, followers and notifications.

Other tests share the server, and a transaction of theirs may hold an event back for a moment; so these tests wait
until an event is told instead of demanding it at once.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from tests.recorded_events import unknown_event
from tests.waiting import PATIENCE
from tidegate.core.errors import BadInput
from tidegate.database.notifier import CHANNEL
from tidegate.database.pool import Address, Database
from tidegate.events.kinds.channels import ChannelParked
from tidegate.events.queries import feed
from tidegate.events.queries.feed import START, Event, FeedCursor

pytestmark = pytest.mark.both_servers

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

cursors = st.builds(FeedCursor, st.integers(0, 2**64 - 1), st.integers(0, 2**63 - 1))


async def record(database: Database, *subjects: str) -> None:
    """One transaction, one event a subject."""
    async with database.transaction() as connection:
        for subject in subjects:
            await feed.record(connection, subject, unknown_event())


async def record_and_roll_back(database: Database) -> None:
    with suppress(ZeroDivisionError):
        async with database.transaction() as connection:
            await feed.record(connection, "undone", unknown_event())
            raise ZeroDivisionError


async def told(database: Database, count: int, after: FeedCursor = START) -> list[Event]:
    """The next *count* events, waited for."""
    events: list[Event] = []
    async with asyncio.timeout(PATIENCE), aclosing(feed.follow(database, after)) as following:
        while len(events) < count:
            events.append(await anext(following))
    return events


def subjects(events: list[Event]) -> list[str]:
    return [event.subject for event in events]


@asynccontextmanager
async def another_process(address: Address) -> AsyncIterator[Database]:
    """A second pool with a notifier of its own, as another process has."""
    opened = await Database.open(address)
    try:
        yield opened
    finally:
        await opened.close()


@given(cursor=cursors)
def test_a_cursor_survives_being_written_down(cursor: FeedCursor) -> None:
    """What an event shows as its cursor is what resumes after it."""
    assert FeedCursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text", ["", "7", "7-", "-7", "7-8-9", "-1-2", "a-b", " 1-2", "1-2\n", "٣-٤", f"{2**64}-1", f"1-{2**63}", "9" * 400]
)
def test_a_wrong_cursor_gets_a_sentence(text: str) -> None:
    """bad-input-gets-a-sentence: bad input is named, and the sentence says what to give instead."""
    with pytest.raises(BadInput, match="or leave it out to start at the oldest event"):
        FeedCursor.parse(text)


async def test_an_event_carries_what_was_recorded(database: Database) -> None:
    """The shape scripts rely on: cursor, at, kind, subject, data."""
    async with database.transaction() as connection:
        await feed.record(connection, "shop", ChannelParked(channel=7, until=NOON))
    [event] = await told(database, 1)
    assert event.as_json() == {
        "cursor": str(event.cursor),
        "at": event.at.isoformat(),
        "kind": "channel.parked",
        "subject": "shop",
        "data": {"channel": 7, "until": "2026-03-01T12:00:00+00:00"},
    }


async def test_what_was_rolled_back_is_never_told(database: Database) -> None:
    """An event is told exactly when the change it tells of was made."""
    await record_and_roll_back(database)
    await record(database, "done")
    assert subjects(await told(database, 1)) == ["done"]


async def test_an_event_waits_for_older_transactions_and_none_is_skipped(database: Database) -> None:
    """A later number that committed first is held back until the earlier one is decided; then both are told."""
    early = await database.direct("early writer")
    try:
        writing = early.transaction()
        await writing.start()
        await feed.record(early, "recorded first, committed last", unknown_event())
        await record(database, "recorded last, committed first")
        async with database.pool.acquire() as connection:
            assert await feed.read(connection) == []
            assert await feed.latest(connection) == START
            assert await feed.lag(connection) > timedelta()
        await writing.commit()
    finally:
        await early.close()
    assert subjects(await told(database, 2)) == ["recorded first, committed last", "recorded last, committed first"]


async def test_reading_all_waits_for_what_was_committed_before(database: Database) -> None:
    """A transaction that only delays the newest events costs a short wait, not the events."""
    async with database.pool.acquire() as older:
        running = older.transaction()
        await running.start()
        await older.execute("SELECT pg_current_xact_id()")
        await record(database, "first", "second", "third")
        reading = asyncio.create_task(_all_of(database, timedelta(seconds=PATIENCE)))
        hidden = await _all_of(database, timedelta())
        await running.rollback()
    assert hidden == []
    assert await reading == ["first", "second", "third"]


async def _all_of(database: Database, wait: timedelta) -> list[str]:
    return [event.subject async for event in feed.read_all(database, page=2, wait=wait)]


async def test_events_are_told_in_the_order_of_their_transactions(database: Database) -> None:
    """An older transaction that records later comes first, in one page as in many: the order is that of the cursor."""
    async with database.transaction() as older:
        await older.execute("SELECT pg_current_xact_id()")
        await record(database, "younger")
        await feed.record(older, "older", unknown_event())
    events = await told(database, 2)
    assert subjects(events) == ["older", "younger"]
    assert events[0].cursor < events[1].cursor
    async with database.pool.acquire() as connection:
        [first] = await feed.read(connection, limit=1)
        [second] = await feed.read(connection, first.cursor, limit=1)
    assert [first, second] == events


async def test_nothing_waiting_is_no_lag(database: Database) -> None:
    """The metric is zero when every event can be told."""
    await record(database, "one")
    await told(database, 1)
    async with database.pool.acquire() as connection:
        assert await feed.lag(connection) == timedelta()


async def test_the_lag_is_a_metric_and_no_number_when_nobody_can_tell(database: Database) -> None:
    """An operator's alarm must not read zero while the database is away."""
    await feed.measure_lag(database)
    assert REGISTRY.get_sample_value("tidegate_feed_lag_seconds") == 0
    await database.close()
    await feed.measure_lag(database)
    measured = REGISTRY.get_sample_value("tidegate_feed_lag_seconds")
    assert measured is not None
    assert math.isnan(measured)


async def test_pages_join_without_gap_or_overlap(database: Database) -> None:
    """A transaction larger than a page is told over several pages, each resumed by its last cursor."""
    await record(database, *(str(number) for number in range(7)))
    await record(database, *(str(number) for number in range(7, 10)))
    await told(database, 10)
    paged: list[Event] = []
    async with database.pool.acquire() as connection:
        while page := await feed.read(connection, paged[-1].cursor if paged else START, limit=3):
            paged += page
    assert subjects(paged) == [str(number) for number in range(10)]


async def test_from_now_on_starts_after_the_newest_event(database: Database) -> None:
    """``latest`` is the cursor for whoever does not want the past, however much of it there is."""
    await record(database, "long before")
    await record(database, "before", "right before")
    await told(database, 3)
    async with database.pool.acquire() as connection:
        now = await feed.latest(connection)
    await record(database, "after")
    assert subjects(await told(database, 1, after=now)) == ["after"]


@pytest.mark.parametrize("old_server_at", [2, 2**40], ids=["behind the new server", "ahead of the new server"])
async def test_a_cursor_from_before_a_restore_is_understood(database: Database, old_server_at: int) -> None:
    """Restored events have the transaction 0; a reader of the old server gets the rest of them and all newer ones."""
    await record(database, "read before the restore", "not read before the restore")
    async with database.pool.acquire() as connection:
        await connection.execute("UPDATE events SET tx = '0'")
        [read_before] = await feed.read(connection, limit=1)
    await record(database, "recorded after the restore")
    old_cursor = FeedCursor(old_server_at, read_before.cursor.id)
    rest = await told(database, 2, after=old_cursor)
    assert subjects(rest) == ["not read before the restore", "recorded after the restore"]


@pytest.mark.parametrize("old_server_at", [2, 2**40], ids=["behind the new server", "ahead of the new server"])
async def test_a_reader_that_knew_all_that_was_restored_goes_on(database: Database, old_server_at: int) -> None:
    """What the new server records is news to every reader of the old one, whatever its transactions count from."""
    await record(database, "read before the restore")
    await database.pool.execute("UPDATE events SET tx = '0'")
    [known] = await told(database, 1)
    await record(database, "recorded after the restore")
    rest = await told(database, 1, after=FeedCursor(old_server_at, known.cursor.id))
    assert subjects(rest) == ["recorded after the restore"]


async def test_reading_is_a_walk_along_the_index(database: Database) -> None:
    """However long the feed is, a page costs a page: it starts at the cursor and stops at the snapshot's edge."""
    async with database.pool.acquire() as connection:
        await connection.execute(
            """
            INSERT INTO events (tx, kind, subject)
            SELECT (number / 10)::text::xid8, 'test.happened', 'bulk'
            FROM generate_series(1, 20000) AS number
            """
        )
        await connection.execute("ANALYZE events")
        lines = await connection.fetch(f"EXPLAIN {feed._READ}", 3, 40, 100)
    plan = "\n".join(line[0] for line in lines)
    assert "Seq Scan" not in plan
    assert plan.count("Index Scan using events_pkey") == 2
    assert "pg_snapshot_xmin" in plan.split("Index Cond")[2], "the snapshot's edge must bound the walk, not filter it"


async def test_a_follower_hears_another_process(
    database: Database, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the poll out of the way, the notification alone brings the news."""
    monkeypatch.setattr(feed, "_POLL_AFTER", PATIENCE * 10)
    async with another_process(address) as other, aclosing(feed.follow(database)) as following:
        await record(other, "first")
        assert (await _next(following, other)).subject == "first"  # from here on it listens
        await record(other, "second")
        assert (await _next(following, other)).subject == "second"


async def _next(following: AsyncIterator[Event], database: Database) -> Event:
    """The next event. Notifies again, as any later event would: another test's transaction may have hidden this one."""
    waiting = asyncio.ensure_future(anext(following))
    async with asyncio.timeout(PATIENCE):
        while not waiting.done():
            await asyncio.wait([waiting], timeout=0.2)
            database.notifier.notify()
    return await waiting


async def test_a_follower_needs_no_bell(database: Database) -> None:
    """A lost notification costs at most the time to the next poll."""
    async with asyncio.timeout(PATIENCE), aclosing(feed.follow(database)) as following:
        await record(database, "first")
        assert (await anext(following)).subject == "first"
        await database.pool.execute("INSERT INTO events (kind, subject) VALUES ('test.happened', 'unannounced')")
        assert (await anext(following)).subject == "unannounced"


async def test_a_follower_outlives_its_connections(database: Database, server: Address) -> None:
    """Every session of the database is ended after each event: each event is told once, in order."""
    expected = [str(number) for number in range(6)]
    events: list[Event] = []
    control = await asyncpg.connect(server.direct)
    try:
        async with asyncio.timeout(PATIENCE), aclosing(feed.follow(database)) as following:
            for subject in expected:
                async with another_process(database.address) as writer:
                    await record(writer, subject)
                events.append(await anext(following))
                await _end_sessions(control, database.address, named="%")
    finally:
        await control.close()
    assert subjects(events) == expected


async def test_a_follower_that_went_deaf_listens_again(
    database: Database, server: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the listening session is ended: without the poll, too, the next notification arrives."""
    monkeypatch.setattr(feed, "_POLL_AFTER", PATIENCE * 10)
    control = await asyncpg.connect(server.direct)
    try:
        async with aclosing(feed.follow(database)) as following:
            await record(database, "first")
            assert (await _next(following, database)).subject == "first"
            await _end_sessions(control, database.address, named="tidegate feed")
            for subject in ("second", "third"):  # the second may be found by the look around after the loss
                await record(database, subject)
                assert (await _next(following, database)).subject == subject
    finally:
        await control.close()


async def test_a_follower_leaves_a_session_that_stopped_answering(
    database: Database, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen server process, or a network that swallows everything, never says no: after a while another is asked."""
    monkeypatch.setattr(feed, "_ANSWER_WITHIN", 0.5)
    async with another_process(address) as other, aclosing(feed.follow(database)) as following:
        await record(other, "first")
        assert (await _next(following, other)).subject == "first"
        frozen: int = await database.pool.fetchval("SELECT pg_backend_pid()")
        os.kill(frozen, signal.SIGSTOP)
        try:
            await record(other, "second")
            assert (await _next(following, other)).subject == "second"
        finally:
            os.kill(frozen, signal.SIGCONT)


async def _end_sessions(control: asyncpg.Connection, address: Address, *, named: str) -> None:
    ended = await control.fetch(
        """
        SELECT pg_terminate_backend(pid, 10000)
        FROM pg_stat_activity
        WHERE datname = $1 AND backend_type = 'client backend' AND application_name LIKE $2
        """,
        address.direct.partition("?")[0].rpartition("/")[2],
        named,
    )
    assert ended


async def test_many_events_ring_the_bell_once(database: Database, address: Address) -> None:
    """A burst is one notification, whatever its size; the transactions themselves send none."""
    async with _notifications(address) as heard:
        async with another_process(address) as busy:
            for _ in range(50):
                busy.notifier.notify()
        assert await heard() == 1


async def test_only_a_committed_event_rings(database: Database, address: Address) -> None:
    """A transaction that recorded nothing, or came to nothing, wakes nobody."""
    async with _notifications(address) as heard:
        async with another_process(address) as quiet:
            async with quiet.transaction() as connection:
                await connection.execute("SELECT 1")
            await record_and_roll_back(quiet)
        assert await heard() == 0


async def test_a_process_that_ends_is_still_heard(database: Database, address: Address) -> None:
    """A command records its event and is gone; the notification is sent before the last connection closes."""
    async with _notifications(address) as heard:
        async with another_process(address) as command:
            await record(command, "first")
            await record(command, "second")
        assert await heard() >= 1


async def test_a_bell_that_gets_no_answer_gives_up(database: Database, address: Address) -> None:
    """A frozen server process must not keep a process from ringing again, nor from ending."""
    async with _notifications(address) as heard:
        frozen: int = await database.pool.fetchval("SELECT pg_backend_pid()")
        os.kill(frozen, signal.SIGSTOP)
        try:
            database.notifier.notify()
            async with asyncio.timeout(PATIENCE):
                await database.notifier.close()
        finally:
            os.kill(frozen, signal.SIGCONT)
        database.notifier.notify()
        await database.notifier.close()
        assert await heard() >= 1


@asynccontextmanager
async def _notifications(address: Address) -> AsyncIterator[Callable[[], object]]:
    """Counts notifications; asking sends a last one on another channel, behind which none can be outstanding."""
    connection = await asyncpg.connect(address.direct)
    count = 0
    done = asyncio.Event()

    def hear(_: object, __: int, channel: str, ___: object) -> None:
        nonlocal count
        count += channel == CHANNEL
        if channel == "end":
            done.set()

    async def heard() -> int:
        await connection.execute('NOTIFY "end"')
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        return count

    try:
        await connection.add_listener(CHANNEL, hear)
        await connection.add_listener("end", hear)
        yield heard
    finally:
        connection.terminate()
