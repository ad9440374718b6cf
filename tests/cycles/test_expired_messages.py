"""Messages with a time to live, from Telegram to their end in the mirror."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.scenes.telegram_mirror import Mirror
from tidegate.core.message_content import ExpiredMessages
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.schema import PostSpec
from tidegate.loopback.telegram.world.world_changes import post
from tidegate.maintenance.retention import Retention, sweep

LONG = timedelta(days=300)


@pytest.mark.parametrize("outcome", ExpiredMessages)
async def test_a_message_ends_with_its_time_and_does_not_come_back(
    mirror: Mirror, world: World, outcome: ExpiredMessages
) -> None:
    """Without a call; a later cycle and a reconcile change nothing, although the platform still shows it."""
    made = world.add_channel("News")
    [number] = post(world, PostSpec(channel="News", raw={"message": "gone tomorrow", "ttl_period": 86_400}))
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.cycle()
    keep = Retention(calls=LONG, events=LONG, commands=LONG, runs=LONG, expired_messages=outcome)
    assert await sweep(mirror.database, keep) == {}
    [before] = await mirror.rows("SELECT text, content FROM messages WHERE id = $1", number)
    assert before["content"]["expires_at"]
    await mirror.pass_time(days=2)
    async with mirror.counted() as calls:
        assert await sweep(mirror.database, keep) == {"expired_messages": 1}
    assert not calls
    await mirror.cycle()
    await mirror.pass_time(hours=1)
    await mirror.compare(made)
    [after] = await mirror.rows("SELECT text, deleted_at, erased_at FROM messages WHERE id = $1", number)
    assert after["deleted_at"] is not None
    is_erased = outcome is ExpiredMessages.ERASE
    assert (after["text"], after["erased_at"] is not None) == ("" if is_erased else before["text"], is_erased)
