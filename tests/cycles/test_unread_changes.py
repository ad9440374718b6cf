"""Edits and deletions that a counter of changes moved past are looked for, and shown as unknown until they were."""

from __future__ import annotations

import pytest

from tests.scenes.telegram_mirror import Mirror, unheard
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.channel_documents import channel_shown
from tidegate.history.history_pages import HistoryPolicy
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import ScanPolicy

CHATTER = 400
"""More events than a difference is read for."""


async def kept(mirror: Mirror, channel: Channel) -> dict[int, str | None]:
    """The text of each stored message, None for one that is known to be deleted."""
    rows = await mirror.rows(
        "SELECT m.id, m.text, m.deleted_at FROM messages m JOIN channels c ON c.id = m.channel WHERE c.number = $1",
        channel.id,
    )
    return {row["id"]: None if row["deleted_at"] else row["text"] for row in rows}


async def unread(mirror: Mirror, channel: Channel) -> list[int] | None:
    """What ``channel show`` says is unknown."""
    async with mirror.database.connection() as connection:
        found = await channels.find(connection, str(channel.id))
        return (await channel_shown(connection, found, ScanPolicy(), RetryPolicy())).unread_changes


@pytest.fixture
async def forum(mirror: Mirror, world: World) -> Channel:
    """A forum of which one topic is followed on its own, with three files in it, read to its end."""
    made = world.add_channel("Models", forum=True)
    topic = world.add_topic(made, "Dragons").id
    await mirror.sync()
    mirror.post_files(made, ["a.zip", "b.zip", "c.zip"], topic)
    await mirror.enable(made, topic)
    await mirror.settle()
    return made


def change_two(mirror: Mirror, channel: Channel) -> tuple[int, int]:
    """Somebody edits the first file's message and deletes the second's; their numbers."""
    files = sorted(number for number, one in channel.messages.items() if one.file)
    mirror.world.edit(channel, files[0], text="edited")
    mirror.world.delete(channel, [files[1]])
    return files[0], files[1]


async def test_an_edit_and_a_deletion_in_a_followed_topic_are_found(mirror: Mirror, forum: Channel) -> None:
    """No topic has a newer message, only the forum's counter moved: what it counted is read."""
    edited, deleted = change_two(mirror, forum)
    await mirror.cycle()
    stored = await kept(mirror, forum)
    assert (stored[edited], stored[deleted]) == ("edited", None)
    assert await unread(mirror, forum) is None


async def test_a_long_gap_in_a_forum_is_shown_until_it_was_compared(mirror: Mirror, forum: Channel) -> None:
    """Too many events to read each: the stretch is shown as unknown, and the next cycle compares what is stored."""
    edited, deleted = change_two(mirror, forum)
    chatter(mirror, forum)
    await mirror.cycle()
    assert await unread(mirror, forum) is not None
    await mirror.pass_time(hours=1)
    await mirror.cycle()
    stored = await kept(mirror, forum)
    assert (stored[edited], stored[deleted]) == ("edited", None)
    assert await unread(mirror, forum) is None


@pytest.mark.parametrize("in_full", [False, True])
async def test_a_long_gap_in_a_channel_is_shown_until_it_was_compared(
    mirror: Mirror, world: World, *, in_full: bool
) -> None:
    """With and without ``--full``: a search shows new files and neither edits nor deletions."""
    made = world.add_channel("News")
    await mirror.sync()
    mirror.post_files(made, ["a.zip", "b.zip", "c.zip"])
    await mirror.enable(made, in_full=in_full)
    await mirror.settle()
    assert await unread(mirror, made) is None
    edited, deleted = change_two(mirror, made)
    chatter(mirror, made)
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls["updates.getChannelDifference"] == 0
    assert in_full or await unread(mirror, made) is not None
    for _ in range(3):
        await mirror.pass_time(hours=1)
        await mirror.cycle()
    stored = await kept(mirror, made)
    assert (stored[edited], stored[deleted]) == ("edited", None)
    assert await unread(mirror, made) is None


async def test_comparing_keeps_to_its_calls_and_goes_on_in_the_next_cycle(mirror: Mirror, world: World) -> None:
    """Where there is more stored than a cycle may ask for, each takes its share, and none asks twice."""
    made = world.add_channel("News")
    await mirror.sync()
    mirror.post_files(made, [f"{number}.zip" for number in range(250)])
    await mirror.enable(made)
    await mirror.settle()
    change_two(mirror, made)
    chatter(mirror, made)
    mirror.policy = CyclePolicy(history=HistoryPolicy(reconcile_calls=1))
    await mirror.cycle()
    asked = []
    for _ in range(4):
        await mirror.pass_time(hours=1)
        async with mirror.counted() as calls:
            await mirror.cycle()
        asked.append(calls["channels.getMessages"])
    assert asked == [1, 1, 1, 0]
    assert await unread(mirror, made) is None


def chatter(mirror: Mirror, channel: Channel) -> None:
    with unheard(channel):
        for number in range(CHATTER):
            mirror.world.post(channel, f"talk {number}")


async def test_a_file_that_an_edit_added_to_a_message_never_stored_is_found_after_a_long_gap(
    mirror: Mirror, world: World
) -> None:
    """A search begins above it, and nothing stored can be compared: the number of documents tells."""
    made = world.add_channel("News")
    await mirror.sync()
    with unheard(made):
        plain = world.post(made, "soon with a file").id
        mirror.post_files(made, [f"{number}.zip" for number in range(60)])
    await mirror.enable(made)
    await mirror.settle()
    assert plain not in await kept(mirror, made)
    with unheard(made):
        world.edit(made, plain, file=world.add_file("late.zip", 1_000))
    chatter(mirror, made)
    for _ in range(4):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    assert "late.zip" in await mirror.names(made)


async def test_a_file_that_an_edit_added_in_a_followed_topic_is_found_after_a_long_gap(
    mirror: Mirror, world: World
) -> None:
    """The same in a topic followed on its own, whose documents are counted on their own."""
    made = world.add_channel("Models", forum=True)
    topic = world.add_topic(made, "Dragons").id
    await mirror.sync()
    with unheard(made):
        plain = world.post(made, "soon with a file", topic=topic).id
        mirror.post_files(made, [f"{number}.zip" for number in range(60)], topic)
    await mirror.enable(made, topic)
    await mirror.settle()
    with unheard(made):
        world.edit(made, plain, file=world.add_file("late.zip", 1_000))
    chatter(mirror, made)
    for _ in range(4):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    assert "late.zip" in await mirror.names(made)


@pytest.mark.parametrize("to_topics", [True, False])
async def test_switching_between_whole_and_by_topic_hides_no_change(
    mirror: Mirror, world: World, *, to_topics: bool
) -> None:
    """The counter begins anew with the switch: what it had not been read for is shown as unknown, then compared."""
    made = world.add_channel("Models", forum=True)
    topic = world.add_topic(made, "Dragons").id
    await mirror.sync()
    mirror.post_files(made, [f"{number}.zip" for number in range(60)], topic)
    before, after = ((), (topic,)) if to_topics else ((topic,), ())
    await mirror.enable(made, *before)
    await mirror.settle()
    edited, deleted = change_two(mirror, made)
    await mirror.enable(made, *after)
    assert await unread(mirror, made) is not None
    for _ in range(3):
        await mirror.cycle()
        await mirror.pass_time(hours=1)
    stored = await kept(mirror, made)
    assert (stored[edited], stored[deleted]) == ("edited", None)
    assert await unread(mirror, made) is None


async def test_a_switch_before_which_everything_was_read_costs_no_comparison(mirror: Mirror, forum: Channel) -> None:
    """The counter stands where it stood: nothing is unknown, and nothing is asked for by number."""
    await mirror.enable(forum)
    async with mirror.counted() as calls:
        for _ in range(3):
            await mirror.cycle()
            await mirror.pass_time(hours=1)
    assert calls["channels.getMessages"] == 0
    assert await unread(mirror, forum) is None
