"""Topics, forum mode, and answers of the gate that are old (scenarios H and I) through whole cycles."""

from __future__ import annotations

import structlog

from tests.scenes.telegram_mirror import Mirror
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.schema import ChangeSpec
from tidegate.loopback.telegram.world.world_changes import change
from tidegate.scans.rules.scan_decision import Verdict

TOPICS = 1_086


async def enabled(mirror: Mirror, channel: Channel, *topics: int) -> None:
    await mirror.sync()
    await mirror.enable(channel, *topics)


async def test_s66_forum_mode_comes_and_goes(mirror: Mirror, world: World) -> None:
    """S-66: flat, then a forum, then flat again: each message is stored once, and no archive is found again."""
    channel = world.add_channel("Models")
    mirror.post_files(channel, ["flat.zip"])
    await enabled(mirror, channel)
    await mirror.settle()
    found = []
    for mode in (True, False):
        change(world, ChangeSpec(channel=channel.id, forum=mode))
        topic = world.add_topic(channel, "Dragons").id if mode else 0
        mirror.post_files(channel, [f"{mode}.zip"], topic)
        for _ in range(2):
            found.append((await mirror.cycle()).tally.archives)
            await mirror.pass_time(hours=1)
    assert found == [1, 0, 1, 0]
    assert await mirror.names(channel) == ["flat.zip", "True.zip", "False.zip"]
    assert len(await mirror.rows("SELECT FROM archives")) == 3


async def test_s69_s70_s71_a_thousand_topics_in_odd_pages(mirror: Mirror, world: World) -> None:
    """S-69, S-70, S-71: pages of 63 and an empty one at the end, an old pinned topic in front, a deleted one between.

    The first cycle lists them: every topic once, the deleted one as gone, and files in topics behind the pinned one.
    """
    forum = world.add_channel("Huge", forum=True)
    numbers = [world.add_topic(forum, f"Topic {number}").id for number in range(TOPICS - 1)]  # and General
    forum.topics[numbers[3]].pinned = True
    gone = numbers[500]
    world.delete_topic(forum, gone)
    mirror.post_files(forum, ["late.zip"], numbers[700])
    await enabled(mirror, forum)
    world.limits.page = 63
    report = await mirror.cycle()
    assert report.troubles == []
    rows = await mirror.rows("SELECT topic, title, gone_at FROM places WHERE topic > 0")
    assert sorted(row["topic"] for row in rows) == [1, *numbers]
    assert [row["topic"] for row in rows if row["gone_at"] is not None] == [gone]
    [row] = await mirror.rows("SELECT topic FROM archives")
    assert row["topic"] == numbers[700]
    assert report.calls["messages.getForumTopics"] == -(-TOPICS // 63) + 1


async def test_s72_a_failing_look_at_topics_marks_nothing_idle(mirror: Mirror, world: World) -> None:
    """S-72: one warning, a search of each selected topic instead, and an empty counter that stays where it was."""
    forum = world.add_channel("Models", forum=True)
    topics = [world.add_topic(forum, title).id for title in ("Dragons", "Knights")]
    await enabled(mirror, forum, *topics)
    await mirror.settle()
    mirror.post_files(forum, ["new.zip"], topics[1])
    world.faults.add(Fault(FaultKind.ERROR, "messages.getForumTopicsByID", code="400 METHOD_INVALID"))
    with structlog.testing.capture_logs() as lines:
        report = await mirror.cycle()
    assert len([line for line in lines if line["log_level"] == "warning"]) == 1
    assert report.verdicts[Verdict.UNKNOWN] == 2
    assert await mirror.names(forum) == ["new.zip"]


async def test_s74_a_gate_that_stays_stale_loses_nothing(mirror: Mirror, world: World) -> None:
    """S-74: cycle after cycle the gate gives an old answer; on its turn the cold channel is searched all the same."""
    channel = world.add_channel("Stale")
    await enabled(mirror, channel)
    await mirror.settle()
    await mirror.rows("UPDATE places SET consecutive_empty_scans = 5")
    world.faults.add(Fault(FaultKind.STALE, "messages.getPeerDialogs", count=1_000))
    mirror.post_files(channel, ["hidden.zip"])
    for _ in range(5):
        await mirror.pass_time(hours=1)
        await mirror.cycle()
    world.faults.clear()
    assert await mirror.names(channel) == ["hidden.zip"]
