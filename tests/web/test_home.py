"""What Home shows, from what the database holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.web.home_rows import FILLED
from tidegate.database.pool import Database
from tidegate.events.kinds.archives import ArchiveProgressed
from tidegate.events.kinds.history import BackfillEnded, BackfillProgressed
from tidegate.events.queries import feed
from tidegate.web.pages.queries import home

PAGE = BackfillProgressed(channel=7, messages=10, archives=0, deleted=0, upto=1, depth=10, target=100)
END = BackfillEnded(
    channel=8, title="old", fetched=10, stored=10, coverage=[[1, 10]], gaps=[], reached_start=True, calls=1,
    error=None, waits_for=None,
)  # fmt: skip
DOWNLOAD = ArchiveProgressed(archive=1, channel=7, doing="download", file="a.zip", done=1, size=2)
pytestmark = pytest.mark.both_servers


async def test_the_day_is_compared_with_asking_every_place(database: Database) -> None:
    """Two whole cycles over 100 topics and a channel: 4 calls instead of 202; the day before counts no more."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        assert await home.lately(connection) == home.LastDay(
            cycles=2, cycle_calls=4, naive_calls=202, calls=3, connect_calls=1
        )
        assert await home.service_counts(connection) == home.ServiceCounts(accounts=4, served=1, workers=1)


async def test_a_new_house_has_spent_nothing(database: Database) -> None:
    """Before the first account everything is nought, and nothing fails."""
    async with database.connection() as connection:
        assert await home.lately(connection) == home.LastDay(0, 0, 0, 0, 0)
        assert await home.lanes(connection, 5) == []
        assert not (await home.first_steps(connection)).done
        assert (await home.mirror(connection)).channels == 0


async def test_lanes_that_wait_for_somebody_come_first(database: Database) -> None:
    """With who serves them, what they spent of their pace in the last minute, and until when they have to wait."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        shown = await home.lanes(connection, 3)
        assert [(lane.name, lane.served_by) for lane in shown] == [("out", None), ("rests", None), ("ada", "anna")]
        ada = shown[-1]
        assert (ada.rate, ada.ceiling, ada.sent, ada.read) == (20, 40, 1, 2)
        assert ada.paused_until is not None
        assert [lane.name for lane in await home.lanes(connection, 9)][-1] == "left"


async def test_the_copy_at_a_glance(database: Database) -> None:
    """Channels that are mirrored, archives that failed, and the last check."""
    await database.pool.execute(FILLED)
    async with database.connection() as connection:
        found = await home.mirror(connection)
        assert (found.channels, found.archives, found.failed_archives, found.newest_at) == (2, 2, 2, None)
        assert found.checked_at is not None
        assert await home.upcoming(connection, 3) == []


async def test_work_under_way_is_told_until_its_end_is(database: Database) -> None:
    """The last word of each counts; commands nobody answered yet are told apart."""
    await database.pool.execute(FILLED)
    async with database.transaction() as connection:
        await feed.record(connection, "news", replace(PAGE, depth=10))
        await feed.record(connection, "news", replace(PAGE, depth=20))
        await feed.record(connection, "old", PAGE)
        await feed.record(connection, "old", END)
        await feed.record(connection, "a.zip", DOWNLOAD)
    async with database.connection() as connection:
        found = await home.progress(connection)
        assert {(one.subject, one.event) for one in found} == {("news", replace(PAGE, depth=20)), ("a.zip", DOWNLOAD)}
        assert [(one.kind, one.taken) for one in await home.asked(connection)] == [
            ("cycle", True), ("backfill", False),
        ]  # fmt: skip
