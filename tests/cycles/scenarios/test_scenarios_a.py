"""Verdicts (scenarios A), each as the platform sees it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenes.telegram_mirror import Mirror
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import Verdict

TOPICS = 61


@pytest.fixture
async def quiet(mirror: Mirror, world: World) -> Channel:
    """A channel that was read to its end and has been idle since its last cycle, a moment ago."""
    made = world.add_channel("Quiet")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    await mirror.cycle()
    return made


@pytest.mark.parametrize(("seconds", "verdict"), [(299, Verdict.FRESH), (300, Verdict.UNCHANGED)])
async def test_s05_the_window_ends_when_it_is_over(
    mirror: Mirror, quiet: Channel, seconds: int, verdict: Verdict
) -> None:
    """S-05: a scan exactly five minutes ago hides nothing; a second less and it does."""
    await mirror.pass_time(seconds=seconds)
    assert (await mirror.cycle()).verdicts == Counter({verdict: 1})


async def test_s06_four_empty_scans_are_not_cold(mirror: Mirror, quiet: Channel) -> None:
    """S-06: the fifth look after four empty scans is one; only then is the channel cold."""
    await mirror.rows("UPDATE places SET consecutive_empty_scans = 4")
    looked = []
    for _ in range(6):
        await mirror.pass_time(hours=1)
        looked.append((await mirror.cycle()).verdicts[Verdict.COLD] == 0)
    assert looked[0]
    assert looked.count(False) == 4  # of the next five cycles, one is its turn


async def test_s09_cold_topics_take_turns(mirror: Mirror, world: World) -> None:
    """S-09: over five cycles each cold topic is searched exactly once, and no cycle searches many more than a fifth."""
    forum = world.add_channel("Models", forum=True)
    topics = [world.add_topic(forum, f"Topic {number}").id for number in range(TOPICS)]
    await mirror.sync()
    await mirror.enable(forum, *topics)
    await mirror.settle()
    await mirror.rows("UPDATE places SET consecutive_empty_scans = 5, last_scan_found_archives = false WHERE topic > 0")
    turns: Counter[int] = Counter()
    for _ in range(5):
        await mirror.pass_time(hours=1)
        before = {row["topic"]: row["last_scanned_at"] for row in await mirror.rows("SELECT * FROM places")}
        async with mirror.counted() as calls:
            await mirror.cycle()
        rows = await mirror.rows("SELECT topic, last_scanned_at FROM places WHERE topic > 0 AND selected")
        searched = [row["topic"] for row in rows if row["last_scanned_at"] != before[row["topic"]]]
        turns.update(searched)
        assert calls == Counter({"messages.getPeerDialogs": 1, "messages.search": len(searched)})
        assert len(searched) <= -(-TOPICS // 5) + 1
    assert turns == Counter(topics)
