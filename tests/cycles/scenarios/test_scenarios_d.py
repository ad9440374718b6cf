"""Failures and retry (scenarios D) through whole cycles and the work after them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.contents_indexer import index_waiting_sets
from tidegate.archives.queries import archive_list
from tidegate.archives.rules.retry import FailureReason, RetryPolicy
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """An enabled channel with nothing in it."""
    made = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


async def states(mirror: Mirror) -> dict[str, str]:
    return {row["name"]: row["state"] for row in await mirror.rows("SELECT name, state FROM archives")}


async def test_s38_only_failures_of_the_asked_reason_run(mirror: Mirror, channel: Channel) -> None:
    """S-38: two too large, one refused, all given up; with the limit raised "retry all: size limit" runs the two."""
    strict = RetryPolicy(size_limit=400, cap=1)
    mirror.policy = replace(mirror.policy, retries=strict)
    world, lane = mirror.world, mirror.lane
    assert lane is not None
    large = zipped(*[f"stone-{number}.stl" for number in range(9)])
    assert len(large) > 400
    for name, content in (("a.zip", large), ("b.zip", large), ("c.zip", zipped("x"))):
        world.post(channel, file=world.add_content(name, content))
    await mirror.cycle()
    world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID"))
    await index_waiting_sets(lane, mirror.database, strict)
    reasons = {row["reason"] for row in await mirror.rows("SELECT reason FROM failures")}
    assert reasons == {"size_limit", "download"}

    mirror.policy = replace(mirror.policy, retries=RetryPolicy(size_limit=None, cap=1))
    async with mirror.database.transaction() as connection:
        assert len(await archive_list.ask_again(connection, None, FailureReason.SIZE_LIMIT)) == 2
    async with mirror.counted() as calls:
        assert (await mirror.cycle()).failures_retried == 2
        await index_waiting_sets(lane, mirror.database, mirror.policy.retries)
    assert await states(mirror) == {"a.zip": "filed", "b.zip": "filed", "c.zip": "given_up"}
    assert calls == Counter({"messages.getPeerDialogs": 1, "channels.getMessages": 1, "upload.getFile": 2})
