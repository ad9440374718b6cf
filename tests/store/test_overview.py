"""What the overview shows, from what the database holds."""

from __future__ import annotations

from tidegate.store import feed, overview
from tidegate.store.database import Database
from tidegate.words import AccountState

FILLED = """
INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
VALUES (1, 'anna', 's', 'h', 'p', '1', 10, '15 s'), (2, 'gone', 's', 'h', 'p', '1', 10, '15 s');
UPDATE workers SET ended_at = clock_now(), ending = 'died' WHERE number = 2;
INSERT INTO accounts (name, platform, owner, state)
VALUES ('ada', 'telegram', 1, 'active'), ('left', 'telegram', 2, 'active'), ('out', 'whatsapp', NULL, 'signed_out'),
    ('rests', 'discord', NULL, 'paused');
INSERT INTO pace (account, tat, rate, ceiling) VALUES (1, clock_now(), 20, 40);
INSERT INTO waits (account, kind, until) VALUES (1, 'account', clock_now() + interval '1 hour');
INSERT INTO calls (account, kind, method, outcome, at, charged)
VALUES (1, 'work', 'send', 'ok', clock_now(), true), (1, 'work', 'read', 'ok', clock_now(), false),
    (1, 'work', 'read', 'not_sent', clock_now(), false), (1, 'connect', 'hello', 'ok', clock_now(), false),
    (1, 'work', 'send', 'ok', clock_now() - interval '2 minutes', true),
    (1, 'work', 'send', 'ok', clock_now() - interval '25 hours', true);
INSERT INTO channels (platform, number, title, enabled, reader)
VALUES ('telegram', 1, 'forum', true, 1), ('telegram', 2, 'plain', true, 1), ('telegram', 3, 'off', false, 1);
INSERT INTO places (channel, topic) SELECT 1, n FROM generate_series(0, 100) n;
INSERT INTO places (channel, topic) VALUES (2, 0), (3, 0);
INSERT INTO cycles (account, number, whole, began_at, ended_at, report)
VALUES (1, 1, true, clock_now(), clock_now(), '{"calls_total": 3}'),
    (1, 2, true, clock_now(), clock_now(), '{"calls_total": 1}'),
    (1, 2, false, clock_now(), clock_now(), '{"calls_total": 7}'),
    (1, 0, true, clock_now(), clock_now() - interval '25 hours', '{"calls_total": 9}');
INSERT INTO archives (channel, topic, kind, base, name, state)
VALUES (1, 1, 'zip', 'a', 'a.zip', 'given_up'), (1, 1, 'zip', 'b', 'b.zip', 'failed');
INSERT INTO commands (account, kind, state) VALUES (1, 'cycle', 'taken'), (1, 'backfill', 'asked'), (1, 'sync', 'done');
"""


async def test_the_day_is_compared_with_asking_every_place(database: Database) -> None:
    """Two whole cycles over 100 topics and a channel: 4 calls instead of 202; the day before counts no more."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        assert await overview.lately(connection) == overview.Lately(
            cycles=2, cycle_calls=4, naive_calls=202, calls=3, connect_calls=1
        )
        assert await overview.house(connection) == overview.House(accounts=4, served=1, workers=1)


async def test_a_new_house_has_spent_nothing(database: Database) -> None:
    """Before the first account everything is nought, and nothing fails."""
    async with database.connection() as connection:
        assert await overview.lately(connection) == overview.Lately(0, 0, 0, 0, 0)
        assert await overview.lanes(connection, 5) == []
        assert await overview.needs(connection) == overview.Needs([], 0, [])


async def test_lanes_that_wait_for_somebody_come_first(database: Database) -> None:
    """With who serves them, what they spent of their pace in the last minute, and until when they have to wait."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        shown = await overview.lanes(connection, 3)
        assert [(lane.name, lane.served_by) for lane in shown] == [("out", None), ("rests", None), ("ada", "anna")]
        ada = shown[-1]
        assert (ada.rate, ada.ceiling, ada.sent, ada.read) == (20, 40, 1, 2)
        assert ada.paused_until is not None
        assert [lane.name for lane in await overview.lanes(connection, 9)][-1] == "left"


async def test_what_needs_a_person(database: Database) -> None:
    """Signed-out accounts and archives given up; a pause that a person made is no need."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        assert await overview.needs(connection) == overview.Needs([("out", AccountState.SIGNED_OUT)], 1, [])


async def test_work_under_way_is_told_until_its_end_is(database: Database) -> None:
    """The last word of each counts; commands nobody answered yet are told apart."""
    await database.pool.execute(FILLED)
    async with database.transaction() as connection:
        await feed.record(connection, "backfill.progressed", "news", {"depth": 10, "target": 100})
        await feed.record(connection, "backfill.progressed", "news", {"depth": 20, "target": 100})
        await feed.record(connection, "backfill.progressed", "old", {"depth": 20})
        await feed.record(connection, "backfill.ended", "old", {})
        await feed.record(connection, "archive.progressed", "a.zip", {"done": 1, "size": 2})
    async with database.connection() as connection:
        found = await overview.progress(connection)
        assert {(one.subject, one.data.get("depth")) for one in found} == {("news", 20), ("a.zip", None)}
        assert [(one.kind, one.taken) for one in await overview.asked(connection)] == [
            ("cycle", True), ("backfill", False),
        ]  # fmt: skip
