"""The list of a forum's topics, once a day: renamed and deleted ones are known without a message that tells it."""

from __future__ import annotations

from tests.scenes.telegram_mirror import Mirror
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.scans.channel_catalogue import list_topics_daily

LIST = "messages.getForumTopics"


async def daily(mirror: Mirror) -> int:
    assert mirror.lane is not None
    return await list_topics_daily(mirror.lane, mirror.database)


async def test_topics_are_listed_once_a_day_and_not_with_every_cycle(mirror: Mirror, world: World) -> None:
    """The first scan lists them; a day later they are listed again, and what was deleted meanwhile is marked."""
    forum = world.add_channel("Models", forum=True)
    kept, lost = world.add_topic(forum, "Dragons"), world.add_topic(forum, "Castles")
    await mirror.sync()
    await mirror.enable(forum)
    await mirror.cycle()
    kept.title = "Wyverns"  # no message tells of it
    lost.deleted = True
    async with mirror.counted() as calls:
        assert await daily(mirror) == 0
    assert not calls
    await mirror.pass_time(hours=25)
    async with mirror.counted() as calls:
        assert await daily(mirror) == 1
        assert await daily(mirror) == 0
    assert calls[LIST] >= 1
    assert (await mirror.place(forum, kept.id))["title"] == "Wyverns"
    assert (await mirror.place(forum, lost.id))["gone_at"] is not None


async def test_a_list_that_fails_is_tried_again_and_stops_nothing(mirror: Mirror, world: World) -> None:
    """A forum that cannot be listed now is due again after the next cycle; another one is listed all the same."""
    forums = [world.add_channel(title, forum=True) for title in ("Models", "Plans")]
    await mirror.sync()
    for forum in forums:
        await mirror.enable(forum)
    await mirror.cycle()
    await mirror.pass_time(hours=25)
    world.faults.add(Fault(FaultKind.ERROR, LIST, code="400 SOMETHING_NEW", channel=forums[0].id))
    assert await daily(mirror) == 1
    assert await daily(mirror) == 1
    assert await daily(mirror) == 0


async def test_a_topic_that_is_missing_from_the_list_is_asked_for(mirror: Mirror, world: World) -> None:
    """Only the platform's own word says that a topic is gone; a list without it does not."""
    forum = world.add_channel("Models", forum=True)
    topic = world.add_topic(forum, "Dragons")
    await mirror.sync()
    await mirror.enable(forum)
    await mirror.cycle()
    await mirror.rows(
        "INSERT INTO places (channel, topic, title) SELECT id, 9999, 'Never there' FROM channels WHERE forum"
    )
    await mirror.pass_time(hours=25)
    async with mirror.counted() as calls:
        assert await daily(mirror) == 1
    assert calls["messages.getForumTopicsByID"] == 1
    assert (await mirror.place(forum, topic.id))["gone_at"] is None
