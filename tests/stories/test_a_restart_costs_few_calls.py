"""Promise: a restart costs next to nothing, and nothing is missed by it (seed 000)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenes.telegram_mirror import Mirror, mirror, telegram, world  # noqa: F401 - fixtures of the mirror's own tests
from tidegate.loopback.telegram import World

TOPICS = 1_086


@pytest.mark.story
async def test_a_restart_costs_few_calls(mirror: Mirror, world: World) -> None:  # noqa: F811 - the fixtures above
    """Five minutes after a clean cycle a restart costs one call; an hour later with 50 active topics three.

    Connecting is counted apart. Every archive that was posted is found, each in its topic, none twice.
    """
    forum = world.add_channel("Model Printing Emporium", forum=True)
    topics = [world.add_topic(forum, f"Topic {number}").id for number in range(1, TOPICS)]
    await mirror.sync()
    await mirror.enable(forum)
    await mirror.settle()
    await mirror.cycle()

    await mirror.pass_time(minutes=5)
    await mirror.connect()
    async with mirror.counted() as soon:
        await mirror.cycle()
    assert soon == Counter({"messages.getPeerDialogs": 1})

    await mirror.pass_time(hours=1)
    posted: dict[int, int] = {}
    for topic in topics[::20][:50]:
        world.post(forum, "two files", topic=topic)
        posted |= dict.fromkeys(mirror.post_files(forum, [f"{topic}-a.zip", f"{topic}-b.7z"], topic), topic)
    await mirror.connect()
    async with mirror.counted() as later:
        await mirror.cycle()
    assert later == Counter({"messages.getPeerDialogs": 1, "updates.getChannelDifference": 2})
    rows = await mirror.rows("SELECT message, topic FROM archive_parts JOIN archives ON archives.id = archive")
    assert len(rows) == 100
    assert {row["message"]: row["topic"] for row in rows} == posted
