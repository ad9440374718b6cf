"""End of a scan, watermark, coverage (scenarios C): with the work that follows a cycle, and with a killed process."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.contents_indexer import IndexingResult, index_waiting_sets
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """An enabled channel, read to its end."""
    made = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


async def work(mirror: Mirror) -> IndexingResult:
    assert mirror.lane is not None
    return await index_waiting_sets(mirror.lane, mirror.database, mirror.policy.retries)


async def test_s24_s25_a_failure_is_fetched_alone(mirror: Mirror, channel: Channel) -> None:
    """S-24, S-25: the first fails, the second is filed; the next cycle fetches the first by id, nothing twice."""
    add = mirror.world.add_content
    first, second = (
        mirror.world.post(channel, file=add(name, zipped(f"{name}.stl"))).id for name in ("bad.zip", "good.zip")
    )
    await mirror.cycle()
    mirror.world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID"))
    assert await work(mirror) == IndexingResult(indexed=1, failed=1)
    [failure] = await mirror.rows("SELECT message, attempts FROM failures")
    assert tuple(failure) == (first, 1)
    place = await mirror.place(channel)
    assert (place["watermark"], place["consecutive_empty_scans"]) == (second, 0)
    await mirror.pass_time(minutes=1)
    async with mirror.counted() as calls:
        assert (await mirror.cycle()).failures_retried == 1
        assert await work(mirror) == IndexingResult(indexed=1)
    assert calls == Counter({"messages.getPeerDialogs": 1, "channels.getMessages": 1, "upload.getFile": 1})
    place = await mirror.place(channel)
    assert (place["watermark"], place["consecutive_empty_scans"]) == (second, 0)
    rows = await mirror.rows("SELECT name, state FROM archives ORDER BY name")
    assert [tuple(row) for row in rows] == [("bad.zip", "filed"), ("good.zip", "filed")]


async def test_s30_a_killed_process_goes_on_with_the_difference(mirror: Mirror, channel: Channel) -> None:
    """S-30: it ends while the second page is on its way; the next one begins after the page that was stored."""
    names = [f"{number:03}.pdf" for number in range(250)]
    mirror.post_files(channel, names)
    start = (await mirror.place(channel))["changes"]
    lane = mirror.lane
    assert lane is not None
    difference, asked = lane.difference, []

    async def ends_at_the_second(*arguments: object, **otherwise: object) -> object:
        asked.append(otherwise["since"])
        if len(asked) == 2:
            raise asyncio.CancelledError
        return await difference(*arguments, **otherwise)

    lane.difference = ends_at_the_second
    with pytest.raises(asyncio.CancelledError):
        await mirror.cycle()
    assert (await mirror.place(channel))["changes"] == start + 100
    await mirror.connect()
    async with mirror.counted() as calls:
        report = await mirror.cycle()
    assert calls["updates.getChannelDifference"] == 2
    assert report.tally.files == 150
    assert await mirror.names(channel) == names
