"""What the platform tells by itself: stored at once without a call, moved on only where nothing is missing.

Invariant: live-never-closes-a-gap.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.cycles.running_scheduler import working
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import until
from tidegate.archives.queries import archive_sets
from tidegate.channels.queries import channels
from tidegate.core.errors import NotOurs
from tidegate.core.ids import ChannelId, MessageId
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.live.channel_updates import store_updates
from tidegate.history.queries import coverage
from tidegate.history.rules.coverage import Content
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.platforms.interface import ChannelUpdates, Message
from tidegate.scans.queries import scan_memory


@pytest.fixture
async def news(mirror: Mirror, world: World) -> Channel:
    """A channel that was scanned to its end, so that its counter is the platform's own."""
    made = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    assert (await mirror.place(made))["changes"] == made.pts
    return made


async def texts(mirror: Mirror, channel: Channel) -> dict[int, str]:
    """The messages that are stored and not deleted."""
    rows = await mirror.rows(
        "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL",
        channel.id,
    )
    return {row["id"]: row["text"] for row in rows}


def truth(channel: Channel) -> dict[int, str]:
    """The same by the platform's own word, without the message that made the channel."""
    return {message.id: message.text for message in channel.messages.values() if message.id > 1}


def same(mirror: Mirror, channel: Channel) -> Callable[[], Awaitable[bool]]:
    async def compare() -> bool:
        stored = await texts(mirror, channel)
        counted = (await mirror.place(channel))["changes"] == channel.pts
        return counted and {number: stored[number] for number in stored if number > 1} == truth(channel)

    return compare


def message(number: int, text: str = "hello", topic: int = 1) -> Message:
    return Message(MessageId(number), datetime(2026, 1, 1, tzinfo=UTC), "Ada", text, topic=topic)  # type: ignore[arg-type]


def posted(upto: int, number: int, text: str = "hello", topic: int = 1) -> ChannelUpdates:
    return ChannelUpdates(upto, 1, posted=[message(number, text, topic)])


async def hear(mirror: Mirror, channel: Channel, *told: ChannelUpdates):
    assert mirror.lane is not None
    return await store_updates(mirror.lane, mirror.database, ChannelId(channel.id), told, mirror.policy)


class TestWithoutACall:
    async def test_posts_edits_and_deletions_are_stored_with_no_call_at_all(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """The store equals the platform's truth, counter included, and the platform counted nothing."""
        async with working(mirror, None), mirror.counted() as calls:
            first, second, third = (world.post(news, text).id for text in ("one", "two", "three"))
            world.edit(news, second, text="2")
            world.delete(news, [first])
            await until(same(mirror, news))
        assert await texts(mirror, news) | {1: ""} == {1: "", second: "2", third: "three"}
        assert not calls

    async def test_the_next_cycle_finds_nothing_left_to_read(self, mirror: Mirror, news: Channel, world: World) -> None:
        """Live news is worth as much as a scan: the gate's one call is all that follows."""
        async with working(mirror, None):
            world.post(news, "live")
            await until(same(mirror, news))
        async with mirror.counted() as calls:
            report = await mirror.cycle()
        assert report.changed == 0
        assert calls == {"messages.getPeerDialogs": 1}

    async def test_coverage_watermark_and_newest_move_with_it(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """Unbroken news covers what it shows, of every kind."""
        async with working(mirror, None):
            newest = world.post(news, "live").id
            await until(same(mirror, news))
        place = await mirror.place(news)
        assert (place["newest_seen"], place["watermark"]) == (newest, newest)
        covered = await coverage.load(mirror.database.pool, place["channel"])
        assert all(newest in covered[kind] for kind in Content)

    async def test_an_archive_found_live_is_listed_soon_after(
        self, mirror: Mirror, news: Channel, world: World
    ) -> None:
        """It is judged and worked off without a cycle: no gate, no search, only its own bytes are fetched."""
        mirror.policy = CyclePolicy(preview_calls=0)  # its picture would be looked for next
        async with working(mirror, None), mirror.counted() as calls:
            mirror.post_files(news, ["live.zip"])

            async def is_worked_off() -> bool:
                return [row["state"] for row in await mirror.rows("SELECT state FROM archives")] in (
                    ["filed"],
                    ["failed"],
                )

            await until(is_worked_off)
        assert set(calls) <= {"upload.getFile", "channels.getMessages"}

    async def test_a_channel_that_is_not_mirrored_stays_out(self, mirror: Mirror, world: World, news: Channel) -> None:
        """People talk in many channels; nothing of those that nobody enabled is kept."""
        other = world.add_channel("Other")
        await mirror.sync()
        assert await hear(mirror, other, posted(5, 7)) is None
        assert await mirror.rows("SELECT 1 FROM messages WHERE id = 7") == []

    async def test_only_the_reader_stores(self, mirror: Mirror, world: World, news: Channel) -> None:
        """Two accounts hear of the same post; one reads the channel, and the other leaves it alone."""
        second = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", "+1000002")
        try:
            await second.sync()
            assert await hear(second, news, posted(news.pts + 1, 50)) is None
        finally:
            assert second.lane is not None
            await second.lane.close()


class TestGaps:
    async def test_a_dropped_push_is_noticed_and_filled(self, mirror: Mirror, news: Channel, world: World) -> None:
        """What the platform did not tell is read as soon as the next news does not follow on the last."""
        async with working(mirror, timedelta(hours=1)):
            news.pushes = False
            lost = world.post(news, "never told").id
            news.pushes = True
            world.post(news, "told")
            await until(same(mirror, news))
        assert lost in await texts(mirror, news)

    async def test_news_behind_a_gap_is_stored_and_proves_nothing(self, mirror: Mirror, news: Channel) -> None:
        """live-never-closes-a-gap: the row is there; counter, watermark, newest message and coverage stay."""
        before = dict(await mirror.place(news))
        stored = await hear(mirror, news, posted(news.pts + 2, 90))
        assert stored is not None
        assert stored.is_gap
        assert 90 in await texts(mirror, news)
        assert dict(await mirror.place(news)) == before
        covered = await coverage.load(mirror.database.pool, before["channel"])
        assert not any(90 in covered[kind] for kind in Content)

    async def test_a_never_scanned_channel_gets_rows_and_nothing_more(self, mirror: Mirror, world: World) -> None:
        """Its history was not read, so nothing speaks for what lies below."""
        made = world.add_channel("New")
        await mirror.sync()
        await mirror.enable(made)
        before = dict(await mirror.place(made))
        assert await hear(mirror, made, posted(2, 2)) is not None
        assert 2 in await texts(mirror, made)
        assert dict(await mirror.place(made)) == before

    async def test_old_news_changes_nothing(self, mirror: Mirror, news: Channel) -> None:
        """A push that comes after a scan has read past it could bring back what was deleted since."""
        stored = await hear(mirror, news, posted(news.pts - 1, 91))
        assert stored is not None
        assert not stored.is_gap
        assert 91 not in await texts(mirror, news)

    async def test_the_order_of_events_does_not_matter(self, mirror: Mirror, news: Channel) -> None:
        """A deletion told before its message stays one, together or apart."""
        start = news.pts
        gone = ChannelUpdates(start + 2, 1, deleted=[MessageId(60)])
        await hear(mirror, news, gone, posted(start + 1, 60))
        assert 60 not in await texts(mirror, news)
        assert (await mirror.place(news))["changes"] == start + 2
        await hear(mirror, news, ChannelUpdates(start + 4, 1, deleted=[MessageId(61)]))
        await hear(mirror, news, posted(start + 3, 61))
        assert 61 not in await texts(mirror, news)

    async def test_a_late_owner_stores_nothing(self, mirror: Mirror, news: Channel) -> None:
        """one-owner-per-account: refused by epoch, all of it."""
        await mirror.rows("UPDATE accounts SET epoch = epoch + 1")
        with pytest.raises(NotOurs):
            await hear(mirror, news, posted(news.pts + 1, 92))
        assert 92 not in await texts(mirror, news)

    @pytest.mark.parametrize("seed", range(3))
    async def test_whatever_is_lost_the_store_ends_as_the_platform_is(
        self, mirror: Mirror, news: Channel, world: World, seed: int
    ) -> None:
        """Posts, edits and deletions at random, half of them never told, while cycles run beside: equal in the end."""
        dice = random.Random(seed)
        async with working(mirror, timedelta(hours=1)) as rounds:
            for step in range(40):
                news.pushes = dice.random() < 0.5
                ours = [number for number in news.messages if number > 1]
                choice = dice.choice(["post", "post", "edit", "delete"])
                if choice == "post" or not ours:
                    world.post(news, f"text {step}")
                elif choice == "edit":
                    world.edit(news, dice.choice(ours), text=f"edited {step}")
                else:
                    world.delete(news, [dice.choice(ours)])
                if step % 10 == 5:
                    await rounds.requests(mirror.account.id).ask(None)
            news.pushes = True
            world.post(news, "the last word")
            await until(same(mirror, news))


class TestTopics:
    @pytest.fixture
    async def forum(self, mirror: Mirror, world: World) -> Channel:
        """A forum of two topics of which the first is followed on its own."""
        made = world.add_channel("Models", forum=True)
        dragons, castles = world.add_topic(made, "Dragons"), world.add_topic(made, "Castles")
        world.post(made, "old", topic=dragons.id)
        world.post(made, "old", topic=castles.id)
        await mirror.sync()
        await mirror.enable(made, dragons.id)
        await mirror.settle()
        return made

    async def test_only_selected_topics_are_stored_and_the_rest_costs_nothing(
        self, mirror: Mirror, forum: Channel, world: World
    ) -> None:
        """Talk elsewhere in the forum moves its counter on, so that the next cycle's gate finds nothing."""
        _, dragons, castles = sorted(forum.topics)
        async with working(mirror, None), mirror.counted() as calls:
            world.post(forum, "elsewhere", topic=castles)
            here = world.post(forum, "here", topic=dragons, file=world.add_file("d.zip", 1_000)).id

            async def is_stored() -> bool:
                return (await mirror.place(forum))["changes"] == forum.pts

            await until(is_stored)
        assert calls["messages.getPeerDialogs"] == calls["messages.search"] == 0
        assert "elsewhere" not in (await texts(mirror, forum)).values()
        assert await mirror.names(forum) == ["d.zip"]
        assert (await mirror.place(forum, dragons))["watermark"] == here
        assert (await mirror.place(forum))["newest_seen"] == 0
        report = await mirror.cycle()
        assert report.changed == 0

    async def test_a_topic_that_was_never_read_holds_everything_back(
        self, mirror: Mirror, forum: Channel, world: World
    ) -> None:
        """Selected a moment ago: its history is not read yet, so nothing moves past it."""
        _, dragons, castles = sorted(forum.topics)
        await mirror.enable(forum, dragons, castles)
        before = (await mirror.place(forum))["changes"]
        await hear(mirror, forum, posted(forum.pts + 1, 70, topic=castles))
        assert (await mirror.place(forum))["changes"] == before
        assert (await mirror.place(forum, castles))["watermark"] == 0


async def test_a_scan_never_moves_a_counter_back_that_live_news_moved_on(mirror: Mirror, news: Channel) -> None:
    """A cycle under way remembers what it knew at its start."""
    async with mirror.database.transaction() as connection:
        memory = await scan_memory.load(connection, mirror.account.id, mirror.policy.retries)
        [place] = memory.places
        await hear(mirror, news, posted(news.pts + 1, 80))
        await scan_memory.remember(connection, {(place.key, 0): (place.memory, None)})
    assert (await mirror.place(news))["changes"] == news.pts + 1


async def test_a_set_begun_live_takes_its_last_part_live(mirror: Mirror, news: Channel, world: World) -> None:
    """Parts that come one by one are one set, whole when the smaller last one is there."""
    async with working(mirror, None):
        for name, size in (("b.part1.rar", 2_000), ("b.part2.rar", 2_000), ("b.part3.rar", 500)):
            world.post(news, file=world.add_file(name, size))
        await until(same(mirror, news))
    [row] = await mirror.rows("SELECT count(*) AS sets, min(state) AS state FROM archives")
    assert row["sets"] == 1
    assert row["state"] != "collecting"
    assert len(await mirror.names(news)) == 3
    assert await archive_sets.count(mirror.database.pool, (await channels.find(mirror.database.pool, "News")).key) == 1
