"""A free counter that disagrees with the rows: the platform is asked again, a few times, and then it is told."""

from __future__ import annotations

import pytest

from tests.cycles.guilds.conftest import PAGES, GuildMirror, channels_of, portions_of, talk
from tests.waiting import until
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.history.channel_documents import channel_shown
from tidegate.history.newest_reconciliation import reconcile
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.threads import start
from tidegate.loopback.discord.world.world_changes import change
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.scans.rules.scan_decision import ScanPolicy


async def suspicion(mirror: GuildMirror, channel: Channel) -> str:
    """What ``channel show`` says of the count."""
    async with mirror.database.connection() as connection:
        found = await channels.find(connection, str(channel.id))
        return (await channel_shown(connection, found, ScanPolicy(), RetryPolicy())).suspicion


@pytest.fixture
async def thread(mirror: GuildMirror, world: World, guild: Guild) -> Channel:
    """A thread of ten messages, read to its end, one page at a time."""
    mirror.policy = portions_of(10)
    [parent] = channels_of(world, guild, [1])
    made = start(world, parent, "an aside")
    talk(world, made, 10)
    await mirror.connect()
    await mirror.cycle()
    assert await mirror.equals_truth(made)
    return made


async def test_five_were_counted_and_four_came_so_the_page_is_asked_for_again(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """A row that is missing from one page is there after the next."""
    talk(world, thread, 5, "news")
    world.faults.add(Fault(FaultKind.MISSING_ROW, PAGES, channel=thread.id))
    await mirror.cycle()
    assert await mirror.equals_truth(thread)
    await mirror.cycle()
    assert await suspicion(mirror, thread) == ""
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 0


async def test_a_row_missing_from_the_first_page_of_all_is_asked_for_again(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The count of a thread that was never read is compared as well."""
    [parent] = channels_of(world, guild, [1])
    made = start(world, parent, "an aside")
    talk(world, made, 10)
    world.faults.add(Fault(FaultKind.MISSING_ROW, PAGES, channel=made.id))
    await mirror.connect()
    await mirror.cycle()
    await mirror.cycle()
    assert await mirror.equals_truth(made)


async def test_a_deletion_that_nobody_told_of_is_found_by_the_count(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """The count falls: the same pages show which message is gone."""
    thread.history.remove(sorted(one.id for one in thread.history)[3])
    await mirror.cycle()
    assert await mirror.equals_truth(thread)


async def test_a_page_tells_the_counts_of_threads_under_its_messages(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """No survey names an archived thread; a message of its parent that is read again does."""
    [parent] = channels_of(world, guild, [1])
    [above] = parent.history
    made = start(world, parent, "an aside", from_message=above.id)
    talk(world, made, 10)
    await mirror.connect()
    await mirror.cycle()
    world.archive(made, archived=True)
    await mirror.cycle()
    assert await mirror.equals_truth(made)
    made.history.remove(sorted(one.id for one in made.history)[3])
    await mirror.cycle()
    assert not await mirror.equals_truth(made)
    await reconcile(mirror.context, [await mirror.history(parent)], limit=200)
    await mirror.cycle()
    assert await mirror.equals_truth(made)


async def test_a_platform_that_keeps_disagreeing_is_asked_twice_and_then_told(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """It cannot loop for ever: the difference is shown, the feed has it once, and a count that agrees ends it."""
    assert thread.thread is not None
    thread.thread.miscounted = 1
    async with mirror.counted() as calls:
        for _ in range(6):
            await mirror.cycle()
    assert calls[PAGES] == 3  # the newest page, and once all of it, down to an empty page
    assert "1 messages more than it shows" in await suspicion(mirror, thread)
    assert len(await mirror.rows("SELECT FROM events WHERE kind = 'channel.count_differs'")) == 1
    thread.thread.miscounted = 0
    await mirror.cycle()
    assert await mirror.equals_truth(thread)
    assert await suspicion(mirror, thread) == ""


async def test_a_count_that_is_wrong_again_and_again_is_asked_about_ever_more_rarely(
    mirror: GuildMirror, thread: Channel
) -> None:
    """Each time it is off by another number: after the first time it is let be for an hour, then two, then four."""
    assert thread.thread is not None
    asked = []
    for hour in range(12):
        thread.thread.miscounted = hour + 1
        async with mirror.counted() as calls:
            for _ in range(3):
                await mirror.cycle()
        asked.append(calls[PAGES] > 0)
        await mirror.pass_time(hours=1)
    assert [hour for hour, was in enumerate(asked) if was] == [0, 1, 3, 7]


async def test_a_lost_row_that_a_deletion_hides_is_told_by_what_was_ever_posted(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """As many messages are there as are stored, one of them another: ``total_message_sent`` grew and no row came."""
    numbers = sorted(one.id for one in thread.history)
    thread.history.remove(numbers[3])
    await mirror.rows("DELETE FROM messages WHERE id = $1 RETURNING 1", numbers[8])
    await mirror.rows("UPDATE message_counts SET told = told - 1 WHERE counter = 'posted' RETURNING 1")
    await mirror.rows("UPDATE message_counts SET usual = 0, due = false RETURNING 1")
    await mirror.rows("UPDATE message_counts SET told = told - 1 WHERE counter = 'messages' RETURNING 1")
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert await mirror.equals_truth(thread)
    assert calls[PAGES] == 2  # the page, and the deleted row once more before it is marked


async def test_what_came_and_went_in_a_thread_costs_one_page_and_is_no_trouble(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """``total_message_sent`` counts what nobody could see: one page is worth a look, and nobody is told."""
    [gone] = talk(world, thread, 1, "spam")
    thread.history.remove(gone)
    talk(world, thread, 1, "news")
    async with mirror.counted() as calls:
        for _ in range(3):
            await mirror.cycle()
    assert calls[PAGES] == 2
    assert await mirror.equals_truth(thread)
    assert await suspicion(mirror, thread) == ""
    assert await mirror.rows("SELECT FROM events WHERE kind = 'channel.count_differs'") == []


async def test_a_page_that_is_too_short_does_not_end_a_thread_that_counts_more(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """37 of 150 messages came and seemed to be all: the next page below them is asked for, and the rest is there."""
    [parent] = channels_of(world, guild, [1])
    made = start(world, parent, "an aside")
    talk(world, made, 150)
    mirror.policy = portions_of(10)
    world.faults.add(Fault(FaultKind.SHORT_PAGE, PAGES, channel=made.id))
    await mirror.connect()
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert await mirror.equals_truth(made)
    assert calls[PAGES] == 1 + 3  # the parent's, then 37, 100 and 13


async def test_an_event_that_never_came_is_noticed_when_the_thread_is_next_told_of(
    mirror: GuildMirror, world: World, thread: Channel
) -> None:
    """Live, without a call, the stream seems unbroken; a change of the thread brings its count along."""
    await mirror.connect(live=True)
    before = len(await mirror.rows("SELECT FROM cycles"))
    async with mirror.working():

        async def cycled() -> bool:
            return len(await mirror.rows("SELECT FROM cycles")) > before

        async def complete() -> bool:
            return await mirror.equals_truth(thread) and await mirror.covered(thread) == [(0, thread.head)]

        await until(cycled)  # a first cycle that begins later would read what the stream lost
        await until(complete)
        world.faults.add(Fault(FaultKind.MISSING_ROW, "gateway MESSAGE_CREATE", channel=thread.id))
        [lost, heard] = talk(world, thread, 2, "live")

        async def has_heard() -> bool:
            return heard in await mirror.stored(thread)

        await until(has_heard)
        assert lost not in await mirror.stored(thread)
        async with mirror.counted() as calls:
            change(world, ChangeSpec(channel=str(thread.id), locked=True))
            await until(complete)
    assert calls[PAGES] == 1


async def test_a_look_at_one_thread_compares_its_count_as_well(mirror: GuildMirror, thread: Channel) -> None:
    """While everything is told live, only such looks happen for hours: they need not wait for a whole cycle."""
    lost = sorted(one.id for one in thread.history)[4]
    await mirror.rows("DELETE FROM messages WHERE id = $1 RETURNING 1", lost)
    await mirror.rows("UPDATE message_counts SET due = true RETURNING 1")
    async with mirror.counted() as calls:
        await mirror.cycle(thread)
    assert await mirror.equals_truth(thread)
    assert calls[PAGES] == 1


# Asked again before it is marked


async def tombstones(mirror: GuildMirror) -> list[int]:
    return [row["id"] for row in await mirror.rows("SELECT id FROM messages WHERE deleted_at IS NOT NULL ORDER BY id")]


@pytest.mark.parametrize("kind", [FaultKind.MISSING_ROW, FaultKind.SHORT_PAGE])
async def test_stored_rows_that_one_page_lacks_are_never_marked(
    mirror: GuildMirror, world: World, guild: Guild, kind: FaultKind
) -> None:
    """In a channel without any count: the page is asked for again, and nothing that is there counts as deleted."""
    [made] = channels_of(world, guild, [80])
    await mirror.connect()
    await mirror.cycle()
    world.faults.add(Fault(kind, PAGES, channel=made.id))
    async with mirror.counted() as calls:
        await reconcile(mirror.context, [await mirror.history(made)], limit=200)
    assert await tombstones(mirror) == []
    assert await mirror.equals_truth(made)
    assert await mirror.covered(made) == [(0, made.head)]
    assert calls[PAGES] == 3


async def test_many_deleted_rows_are_marked_in_the_same_scan(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """60 of 80 were deleted while nobody listened: one call more, and all of them are marked."""
    [made] = channels_of(world, guild, [80])
    await mirror.connect()
    await mirror.cycle()
    gone = sorted(one.id for one in made.history)[10:70]
    for number in gone:
        made.history.remove(number)
    async with mirror.counted() as calls:
        await reconcile(mirror.context, [await mirror.history(made)], limit=200)
    assert await tombstones(mirror) == gone
    assert calls[PAGES] == 2
