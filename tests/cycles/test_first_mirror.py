"""The first mirror of a channel costs little more than its pages of a hundred, by the platform's own count."""

from __future__ import annotations

import pytest

from tests.history.backfill_scene import context, stored
from tests.scenes.telegram_mirror import Mirror, unheard
from tidegate.history.backfill import backfill_missing
from tidegate.loopback.telegram.world.channels import Channel

TOPICS = 20


def forum_of(mirror: Mirror, messages: int) -> Channel:
    """A forum with so many messages in all, of which every tenth is an archive."""
    with unheard(mirror.world.add_channel("Models", forum=True)) as made:
        topics = [mirror.world.add_topic(made, f"Topic {number}").id for number in range(TOPICS)]
        for number in range(messages - len(made.messages)):
            topic = topics[number % TOPICS]
            if number % 10:
                mirror.world.post(made, f"message {number}", topic=topic)
            else:
                mirror.post_files(made, [f"model-{number}.zip"], topic)
    return made


@pytest.mark.parametrize("messages", [1_251, 5_051])
async def test_the_first_mirror_of_a_forum_costs_its_pages_and_a_little(mirror: Mirror, messages: int) -> None:
    """At most one call for a hundred messages, three more, and one for a hundred topics; and all is there."""
    made = forum_of(mirror, messages)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    async with mirror.counted() as calls:
        await mirror.cycle()
        await backfill_missing(context(mirror), mirror.policy.history)
        again = (await mirror.cycle()).tally
    assert await stored(mirror, made) == sorted(made.messages)
    assert len(await mirror.names(made)) == len(range(0, messages - TOPICS - 1, 10))
    assert again.messages == 0
    pages, topics = -(-messages // 100), -(-TOPICS // 100)
    gate = calls["messages.getPeerDialogs"] - 1  # the second cycle's own
    assert calls.total() - gate <= pages + 3 + topics, calls
