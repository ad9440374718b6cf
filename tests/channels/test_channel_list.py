"""Channels by their last scan, with filters: what is listed is what sorting all of them in Python gives."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from tests.held import NOON
from tests.scans.stored_channels import add_account, add_channel
from tidegate.channels.queries import channel_list
from tidegate.channels.queries.channel_list import ChannelFilter, ChannelOrder, ListPosition, page
from tidegate.database.pool import Connection, Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed

pytestmark = pytest.mark.both_servers

CHANNELS = 40


async def filled(connection: Connection) -> list[tuple[int, str, bool, int | None]]:
    """Our number of each channel, its title, whether it is mirrored, and how many days ago it was scanned."""
    account = await add_account(connection, "reader")
    rows = [
        (n, f"{'odd' if n % 2 else 'even'} {n % 7}", n % 5 < 2, None if n % 4 == 3 else n % 6)
        for n in range(1, CHANNELS + 1)
    ]
    found = []
    for number, title, enabled, days in rows:
        key = await connection.fetchval(
            """
            INSERT INTO channels (platform, number, title, reader, enabled) VALUES ('telegram', $1, $2, $3, $4)
            RETURNING id
            """,
            1_000_000 + number, title, account, enabled,
        )  # fmt: skip
        if days is not None:
            scanned = NOON - timedelta(days=days)
            await connection.execute(
                "INSERT INTO places (channel, last_scanned_at, turn_offset) VALUES ($1, $2, 0)", key, scanned
            )
        found.append((key, title, enabled, days))
    return found


async def listed(connection: Connection, wanted: ChannelFilter) -> list[int]:
    """Page after page, until there is none."""
    keys: list[int] = []
    place: ListPosition | None = None
    while True:
        found = await page(connection, wanted, after=place, most=3)
        keys += [line.kept.key for line in found.lines]
        if found.next is None:
            return keys
        place = ListPosition.parse(str(found.next))


@pytest.mark.parametrize("first", [1, 4, 2_000])
async def test_scans_are_sorted_and_filtered_the_same_however_far_is_looked_at_first(
    database: Database, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """None twice, none left out: where the first few fit, where none of them does, and where nothing fits at all."""
    monkeypatch.setattr(channel_list, "_FIRST", first)
    async with database.transaction() as connection:
        everything = await filled(connection)
        for text, enabled, descending in product(("", "odd", "even 3", "nothing"), (None, True, False), (True, False)):
            wanted = ChannelFilter(text, enabled=enabled, sort=ChannelOrder.SCANNED, descending=descending)
            fits = [
                (-days, key)
                for key, title, mirrored, days in everything
                if text in title and enabled in (None, mirrored) and days is not None
            ]
            expected = [key for _, key in sorted(fits, reverse=descending)]
            assert await listed(connection, wanted) == expected, wanted


async def test_what_was_read_of_a_channel_is_not_taken_from_another_platform(database: Database) -> None:
    """Two platforms may give the same number; an event of an earlier version that could be of either is of none."""
    async with database.transaction() as connection:
        here = await add_channel(connection, await add_account(connection, "reader"), number=7)
        old = ChannelRead(channel=here.number, topic=None, messages=1, archives=0)
        await feed.record(connection, here.title, old)
        assert [one.event for one in await channel_list.readings(connection, here, most=9)] == [old]
        elsewhere = await connection.fetchval(
            "INSERT INTO channels (platform, number, title) VALUES ('discord', 7, 'Harbour') RETURNING id"
        )
        mine, theirs = (replace(old, channel_key=key) for key in (here.key, elsewhere))
        for event in (mine, theirs):
            await feed.record(connection, here.title, event)
        assert [one.event for one in await channel_list.readings(connection, here, most=9)] == [mine]
