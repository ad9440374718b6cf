"""calls-through-a-lane over a day of everything at once: what the ledger says was spent is what the platform saw."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from tests.archives.zip_writer import zipped
from tests.cycles.running_scheduler import working
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import PATIENCE
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel

HOURS, LIVES = 24, 4

TROUBLES = (
    Fault(FaultKind.DISCONNECT, "messages.getPeerDialogs"),
    Fault(FaultKind.EXPIRED_REFERENCE, "upload.getFile"),
    Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID"),
    Fault(FaultKind.TOO_LONG, "updates.getChannelDifference"),
    Fault(FaultKind.SHORT_PAGE, "messages.search"),
    Fault(FaultKind.MISSING_ROW, "messages.getPeerDialogs"),
    Fault(FaultKind.DROP_AFTER_ACCEPT, "messages.getPeerDialogs"),
)
MUST_HAVE_BEEN = {
    "messages.getDialogs", "messages.getPeerDialogs", "updates.getChannelDifference", "messages.search",
    "upload.getFile", "channels.getMessages", "messages.getForumTopics", "messages.getForumTopicsByID",
}  # fmt: skip


async def call_log(mirror: Mirror) -> Counter[str]:
    await mirror.call_log.flush()
    rows = await mirror.rows("SELECT method, count(*) AS count FROM calls WHERE outcome <> 'not_sent' GROUP BY method")
    return Counter({row["method"]: row["count"] for row in rows})


def people(mirror: Mirror, dice: Random, channels: list[Channel]) -> None:
    """What others do within an hour: talk, pictures, archives, edits, deletions, topics."""
    world = mirror.world
    for channel in dice.sample(channels, dice.randint(1, len(channels))):
        topic = dice.choice(sorted(channel.topics)) if channel.forum else 0
        where = {"topic": topic if topic > 1 else 0}
        for _ in range(dice.randrange(6)):
            world.post(channel, "talk", **where)
        if dice.random() < 0.5:
            world.post(channel, file=world.add_photo(f"{channel.newest_id}.png"), **where)
            content = zipped(f"thing-{channel.newest_id}.stl")
            world.post(channel, file=world.add_content(f"thing-{channel.newest_id}.zip", content), **where)
        if dice.random() < 0.3:
            world.edit(channel, world.post(channel, "a slip", **where).id, text="put right")
        if dice.random() < 0.3:
            world.delete(channel, [world.post(channel, "a slip", **where).id])
        if channel.forum and dice.random() < 0.3:
            world.add_topic(channel, f"Topic {channel.newest_id}")


async def hour(mirror: Mirror, rounds: CycleScheduler, dice: Random, channels: list[Channel]) -> None:
    """People do something, something goes wrong, and a cycle is asked for while hints come in."""
    people(mirror, dice, channels)
    if dice.random() < 0.4:
        mirror.world.faults.add(dice.choice(TROUBLES))
    if dice.random() < 0.3:
        await mirror.ask(dice.choice(channels))
    await rounds.requests(mirror.account.id).ask(None)
    if dice.random() < 0.2:
        await mirror.rows("UPDATE failures SET next_try_at = clock_now()")
    await mirror.pass_time(hours=1)


async def test_a_day_of_mixed_work_is_on_the_ledger_call_by_call(mirror: Mirror, world: World) -> None:
    """Cycles, hints, retries, indexing, previews, listings, lost connections, restarts: the same method by method."""
    dice = Random(20)
    flat, forum, chosen = (
        world.add_channel("Flat"),
        world.add_channel("F", forum=True),
        world.add_channel("S", forum=True),
    )
    for one in (forum, chosen):
        for number in range(5):
            world.add_topic(one, f"Topic {number}")
    await mirror.sync()
    await mirror.enable(flat)
    await mirror.enable(forum)
    await mirror.enable(chosen, *sorted(chosen.topics)[1:3])
    for _ in range(LIVES):
        async with working(mirror, None) as rounds:
            for _ in range(HOURS // LIVES):
                async with asyncio.timeout(PATIENCE):
                    await hour(mirror, rounds, dice, [flat, forum, chosen])
        world.faults.clear()
        await mirror.connect()
        assert await call_log(mirror) == world.record.by_method()
    await mirror.sync()
    counted = await call_log(mirror)
    assert counted == world.record.by_method()
    assert set(counted) >= MUST_HAVE_BEEN
