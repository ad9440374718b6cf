"""Channels mirrored in full, and what is stored of them."""

from __future__ import annotations

from tests.scenes.telegram_mirror import Mirror, unheard
from tidegate.channels.queries import channels
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.scan_context import ScanContext


def context(mirror: Mirror) -> ScanContext:
    assert mirror.lane is not None
    return ScanContext(mirror.lane, mirror.database, None, mirror.policy.limits, mirror.policy.retries)


async def mirrored(mirror: Mirror, *sizes: int) -> list[Channel]:
    """Channels mirrored in full, of so many messages each (the first of them says that the channel was made)."""
    made = []
    for number, size in enumerate(sizes):
        with unheard(mirror.world.add_channel(f"Talk {number}")) as channel:
            for message in range(size - 1):
                mirror.world.post(channel, f"message {message}")
        made.append(channel)
    await mirror.sync()
    for channel in made:
        await mirror.enable(channel, in_full=True)
    return made


async def found(mirror: Mirror, *made: Channel) -> list[ChannelHistory]:
    """The histories of these channels as they are stored now."""
    async with mirror.database.connection() as connection:
        keys = [(await channels.find(connection, str(channel.id))).key for channel in made]
        return await channel_histories.of_reader(connection, mirror.account.id, only=keys)


async def stored(mirror: Mirror, channel: Channel) -> list[int]:
    rows = await mirror.rows(
        "SELECT m.id FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL ORDER BY m.id",
        channel.id,
    )
    return [row["id"] for row in rows]
