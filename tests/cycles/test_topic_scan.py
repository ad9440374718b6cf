"""Topics of a forum: learned from messages, followed on their own, renamed, deleted."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenes.telegram_mirror import Mirror
from tidegate.cycles.cycle_forecast import foresee
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import Verdict


@pytest.fixture
async def forum(mirror: Mirror, world: World) -> Channel:
    """A forum with three topics beside General, not enabled yet."""
    made = world.add_channel("Models", forum=True)
    for title in ("Dragons", "Knights", "Castles"):
        world.add_topic(made, title)
    await mirror.sync()
    return made


async def titles(mirror: Mirror) -> dict[int, str]:
    rows = await mirror.rows("SELECT topic, title FROM places WHERE topic > 0 AND gone_at IS NULL ORDER BY topic")
    return {row["topic"]: row["title"] for row in rows}


async def test_a_topic_and_its_first_file_come_in_one_difference(mirror: Mirror, forum: Channel) -> None:
    """S-63, S-64: its number is that of the message that made it; a new title is taken over, without any listing."""
    await mirror.enable(forum)
    await mirror.settle()
    topic = mirror.world.add_topic(forum, "Elves").id
    mirror.post_files(forum, ["elf.zip"], topic)
    report = await mirror.cycle()
    assert report.calls == {"messages.getPeerDialogs": 1, "updates.getChannelDifference": 1}
    assert (await titles(mirror))[topic] == "Elves"
    [row] = await mirror.rows("SELECT topic FROM archives")
    assert row["topic"] == topic
    mirror.world.rename_topic(forum, topic, "High Elves")
    report = await mirror.cycle()
    assert (await titles(mirror))[topic] == "High Elves"
    assert "messages.search" not in report.calls


async def test_a_message_without_a_header_is_in_general(mirror: Mirror, forum: Channel) -> None:
    """S-67: General is topic 1."""
    await mirror.enable(forum)
    mirror.post_files(forum, ["loose.zip"])
    await mirror.cycle()
    [row] = await mirror.rows("SELECT topic FROM archives")
    assert row["topic"] == 1


async def test_a_followed_topic_that_never_was_is_gone_after_the_first_cycle(mirror: Mirror, forum: Channel) -> None:
    """Enabled before the forum's topics were listed: the platform's own word ends it, within what was planned."""
    dragons = sorted(forum.topics)[1]
    await mirror.enable(forum, dragons, 9_999)
    async with mirror.database.connection() as connection:
        plan = await foresee(connection, mirror.account, mirror.policy)
    report = await mirror.cycle()
    assert plan.calls.at_least <= sum(report.calls.values()) <= plan.calls.at_most
    assert report.calls["messages.getForumTopicsByID"] == 1
    assert report.troubles == []
    assert (await mirror.place(forum, 9_999))["gone_at"] is not None
    assert (await mirror.place(forum, dragons))["gone_at"] is None


async def test_a_deleted_topic_is_gone_with_its_failures(mirror: Mirror, forum: Channel) -> None:
    """S-65: marked as gone, no error loop, what failed in it is closed."""
    await mirror.enable(forum)
    topic = sorted(forum.topics)[1]
    mirror.post_files(forum, ["lost.zip"], topic)
    await mirror.settle()
    await mirror.rows("UPDATE archives SET state = 'failed'")
    await mirror.rows(
        "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at) "
        "SELECT id, channel, topic, 5, 'download', 2, clock_now() + interval '90 minutes' FROM archives"
    )
    mirror.world.delete_topic(forum, topic)
    await mirror.cycle()
    assert topic not in await titles(mirror)
    [row] = await mirror.rows("SELECT reason, state FROM failures JOIN archives ON archives.id = archive")
    assert tuple(row) == ("source_gone", "gone")
    assert (await mirror.cycle()).troubles == []


async def test_forum_mode_can_be_switched_without_reading_anything_again(mirror: Mirror, forum: Channel) -> None:
    """S-66: a message's identity is its channel and number in both modes."""
    await mirror.enable(forum)
    mirror.post_files(forum, ["one.zip"])
    await mirror.settle()
    for mode in (False, True):
        forum.forum = mode
        mirror.post_files(forum, [f"{mode}.zip"])
        await mirror.cycle()
        assert (await mirror.rows("SELECT forum FROM channels"))[0]["forum"] is mode
    assert await mirror.names(forum) == ["one.zip", "False.zip", "True.zip"]
    assert len(await mirror.rows("SELECT FROM archives")) == 3


async def test_every_topic_is_listed_once_however_the_pages_come(mirror: Mirror, world: World) -> None:
    """S-69, S-70, S-71: pages of 63, a pinned topic in front, a deleted row between; all are found, none twice."""
    made = world.add_channel("Huge", forum=True)
    numbers = [world.add_topic(made, f"Topic {number}").id for number in range(200)]
    made.topics[numbers[3]].pinned = True
    world.delete_topic(made, numbers[50])
    world.limits.page = 63
    await mirror.sync()
    await mirror.enable(made)
    await mirror.sync()
    assert sorted(await titles(mirror)) == [1, *(number for number in numbers if number != numbers[50])]
    [row] = await mirror.rows("SELECT gone_at FROM places WHERE topic = $1", numbers[50])
    assert row["gone_at"] is not None


class TestSelected:
    """Topics followed on their own."""

    async def test_only_selected_topics_are_searched_and_only_when_they_moved(
        self, mirror: Mirror, forum: Channel
    ) -> None:
        """One gate when nothing changed; else heads for all of them in one call, and a search for each that moved."""
        dragons, knights, castles = sorted(forum.topics)[1:]
        for topic in (dragons, knights, castles):
            mirror.post_files(forum, [f"old{topic}.zip"], topic)
        await mirror.enable(forum, dragons, knights)
        await mirror.settle()
        assert await mirror.names(forum) == [f"old{dragons}.zip", f"old{knights}.zip"]
        assert (await mirror.cycle()).calls == {"messages.getPeerDialogs": 1}
        mirror.post_files(forum, ["new.zip"], dragons)
        mirror.post_files(forum, ["unwanted.zip"], castles)
        await mirror.pass_time(hours=1)
        report = await mirror.cycle()
        assert (report.calls["messages.getForumTopicsByID"], report.tally.archives) == (1, 1)
        assert report.calls["messages.search"] <= 2
        assert report.verdicts == Counter({Verdict.CHANGED: 2, Verdict.UNCHANGED: 1})
        assert await mirror.names(forum) == [f"old{dragons}.zip", f"old{knights}.zip", "new.zip"]

    async def test_a_failing_look_at_topics_becomes_a_search_of_each(self, mirror: Mirror, forum: Channel) -> None:
        """S-72: unknown is not idle; every selected topic is searched, and nothing is lost."""
        dragons, knights, _ = sorted(forum.topics)[1:]
        await mirror.enable(forum, dragons, knights)
        await mirror.settle()
        mirror.post_files(forum, ["new.zip"], knights)
        mirror.world.faults.add(Fault(FaultKind.ERROR, "messages.getForumTopicsByID", code="400 METHOD_INVALID"))
        report = await mirror.cycle()
        assert report.verdicts[Verdict.UNKNOWN] == 2
        assert await mirror.names(forum) == ["new.zip"]

    async def test_back_to_the_whole_forum_nothing_is_missed(self, mirror: Mirror, forum: Channel) -> None:
        """What was read topic by topic says nothing of the others, so they are searched for."""
        dragons, _, castles = sorted(forum.topics)[1:]
        mirror.post_files(forum, ["castle.zip"], castles)
        await mirror.enable(forum, dragons)
        await mirror.settle()
        assert await mirror.names(forum) == []
        await mirror.enable(forum)
        await mirror.cycle()
        assert await mirror.names(forum) == ["castle.zip"]
