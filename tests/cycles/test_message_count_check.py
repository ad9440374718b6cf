"""Telegram counts messages, documents and changes with answers it gives anyway: what did not come is asked for."""

from __future__ import annotations

import pytest

from tests.scenes.telegram_mirror import Mirror, unheard
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.history.channel_documents import channel_shown
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.rules.scan_decision import ScanPolicy

HISTORY, SEARCH, BY_ID = "messages.getHistory", "messages.search", "channels.getMessages"
DIFFERENCE = "updates.getChannelDifference"


async def kept(mirror: Mirror, channel: Channel) -> list[int]:
    """The numbers of what is stored and not deleted."""
    rows = await mirror.rows(
        "SELECT m.id FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL ORDER BY m.id",
        channel.id,
    )
    return [row["id"] for row in rows]


async def suspicion(mirror: Mirror, channel: Channel) -> str:
    """What ``channel show`` says of the counts."""
    async with mirror.database.connection() as connection:
        found = await channels.find(connection, str(channel.id))
        return (await channel_shown(connection, found, ScanPolicy(), RetryPolicy())).suspicion


async def hours(mirror: Mirror, count: int) -> None:
    for _ in range(count):
        await mirror.pass_time(hours=1)
        await mirror.cycle()


def talk(world: World, channel: Channel, count: int) -> None:
    with unheard(channel):
        for number in range(count):
            world.post(channel, f"message {number}")


@pytest.mark.parametrize("page", ["newest", "older"])
async def test_a_row_that_a_page_of_the_history_lost_is_there_in_the_end(
    mirror: Mirror, world: World, *, page: str
) -> None:
    """The count that came with the pages is higher: first the newest page is asked for again, then all of it."""
    made = world.add_channel("Talk")
    talk(world, made, 299)  # with the channel's first message three pages
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    if page == "older":
        world.faults.add(Fault(FaultKind.SHORT_PAGE, HISTORY, count=2))
    world.faults.add(Fault(FaultKind.MISSING_ROW, HISTORY))
    async with mirror.counted() as calls:
        await hours(mirror, 4)
    assert await kept(mirror, made) == sorted(made.messages)
    assert await suspicion(mirror, made) == ""
    assert calls[HISTORY] == (4 if page == "newest" else 9)
    async with mirror.counted() as calls:
        await hours(mirror, 3)
    assert calls[HISTORY] == 0


async def test_a_history_that_keeps_lacking_a_row_is_told_once_and_costs_nothing_more(
    mirror: Mirror, world: World
) -> None:
    """A count that is wrong on the platform's side is shown as that; nobody asks about it for ever."""
    made = world.add_channel("Talk")
    talk(world, made, 199)  # the difference after the first scan shows the newest 50
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    world.faults.add(Fault(FaultKind.MISSING_ROW, HISTORY, count=1_000))
    await hours(mirror, 6)
    async with mirror.counted() as calls:
        await hours(mirror, 12)
    assert calls[HISTORY] == 0
    assert await suspicion(mirror, made) == "The platform counts 2 messages more than it shows."
    assert len(await mirror.rows("SELECT FROM events WHERE kind = 'channel.count_differs'")) == 1


async def test_a_document_that_a_search_lost_is_there_in_the_end(mirror: Mirror, world: World) -> None:
    """The first search says how many documents there are; one page more finds the one that did not come."""
    made = world.add_channel("Files")
    await mirror.sync()
    with unheard(made):
        mirror.post_files(made, [f"{number}.zip" for number in range(30)])
    await mirror.enable(made)
    world.faults.add(Fault(FaultKind.MISSING_ROW, SEARCH))
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert len(await mirror.names(made)) == 30
    assert calls[SEARCH] == 3  # a page, an empty one that ends the search, and the newest one once more
    await hours(mirror, 2)
    assert await suspicion(mirror, made) == ""


async def test_a_document_that_a_topics_search_lost_is_there_in_the_end(mirror: Mirror, world: World) -> None:
    """A topic followed on its own has a count of its own, also where its search does not begin at the start."""
    made = world.add_channel("Models", forum=True)
    topic, other = world.add_topic(made, "Dragons").id, world.add_topic(made, "Ships").id
    await mirror.sync()
    mirror.post_files(made, ["a.zip", "b.zip", "c.zip"], topic)
    mirror.post_files(made, ["x.zip"], other)
    await mirror.enable(made, topic)
    await mirror.settle()
    talk(world, made, 60)
    with unheard(made):
        mirror.post_files(made, ["d.zip", "e.zip", "f.zip"], topic)
    world.faults.add(Fault(FaultKind.MISSING_ROW, SEARCH))
    await hours(mirror, 2)
    assert await mirror.names(made) == [f"{letter}.zip" for letter in "abcdef"]
    assert await suspicion(mirror, made) == ""


async def test_a_message_that_a_difference_lost_is_asked_for_by_its_number(mirror: Mirror, world: World) -> None:
    """The counter of changes moved by five and four messages came: one call brings the fifth."""
    made = world.add_channel("Files")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    with unheard(made):
        posted = mirror.post_files(made, [f"{number}.zip" for number in range(5)])
    world.faults.add(Fault(FaultKind.MISSING_ROW, DIFFERENCE))
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert [number for number in await kept(mirror, made) if number in posted] == posted
    assert len(await mirror.names(made)) == 5
    assert (calls[DIFFERENCE], calls[BY_ID]) == (1, 1)


async def test_what_came_and_went_costs_no_call(mirror: Mirror, world: World) -> None:
    """Two changes that are not told explain a number that is not there."""
    made = world.add_channel("Files")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    with unheard(made):
        posted = mirror.post_files(made, ["a.zip", "b.zip", "c.zip"])
        world.delete(made, [posted[1]])
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert len(await mirror.names(made)) == 2
    assert calls[BY_ID] == 0


# Asked again before it is marked


async def deleted(mirror: Mirror) -> list[int]:
    return [row["id"] for row in await mirror.rows("SELECT id FROM messages WHERE deleted_at IS NOT NULL ORDER BY id")]


async def test_a_stored_row_that_one_page_lacks_is_never_marked(mirror: Mirror, world: World) -> None:
    """It is asked for by its number, is there, and the page that lost it is asked for once more."""
    made = world.add_channel("Talk")
    talk(world, made, 50)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    async with mirror.counted() as calls:
        world.faults.add(Fault(FaultKind.MISSING_ROW, HISTORY))
        await mirror.compare(made)
    assert (calls[HISTORY], calls[BY_ID]) == (2, 1)
    assert await kept(mirror, made) == sorted(made.messages)
    assert await mirror.rows("SELECT FROM events WHERE kind = 'message.deleted'") == []


async def test_many_deleted_rows_are_marked_at_once_for_one_call_a_hundred(mirror: Mirror, world: World) -> None:
    """250 messages were deleted without a word: three calls by number, and all are marked by the same scan."""
    made = world.add_channel("Talk")
    talk(world, made, 299)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    gone = [number for number in made.messages if 20 < number <= 270]
    for number in gone:
        del made.messages[number]
    async with mirror.counted() as calls:
        await mirror.compare(made)
    assert await deleted(mirror) == gone
    assert (calls[HISTORY], calls[BY_ID]) == (1, 3)


async def test_a_stored_row_that_a_difference_lacks_is_asked_for(mirror: Mirror, world: World) -> None:
    """Told live behind a gap: one that is there stays, one that came and went is marked by the same scan."""
    made = world.add_channel("Talk")
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    talk(world, made, 3)
    posted = sorted(made.messages)[-3:]
    await mirror.rows(
        "INSERT INTO messages (channel, id, at, author, text) "
        "SELECT id, unnest($2::bigint[]), clock_now(), 'Ada', 'told live' FROM channels WHERE number = $1 RETURNING 1",
        made.id,
        posted[1:],
    )
    world.delete(made, [posted[2]])
    talk(world, made, 1)
    world.faults.add(Fault(FaultKind.MISSING_ROW, DIFFERENCE))
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert await deleted(mirror) == [posted[2]]
    assert await kept(mirror, made) == sorted(made.messages)
    assert calls[BY_ID] == 1
