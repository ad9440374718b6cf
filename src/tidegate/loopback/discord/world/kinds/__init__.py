"""Messages of every kind, by a name for each; contents come from the seed of the world."""

from __future__ import annotations

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.kinds import components, contents, embeds, system_messages
from tidegate.loopback.discord.world.kinds.scene import Maker, Raw, Scene
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import World

THREAD_STARTED = "thread_started"
"""A message that a thread was started from: the only kind that changes more than its channel."""

KINDS: dict[str, Maker] = {
    **system_messages.MAKERS,
    **contents.MAKERS,
    **embeds.MAKERS,
    **components.MAKERS,
    THREAD_STARTED: contents.MAKERS["text"],
}


def require_kind(kind: str) -> None:
    if kind not in KINDS:
        raise BadInput(f"Discord has no kind of message {kind}; there are {', '.join(sorted(KINDS))}.")


def sample_message(world: World, channel: Channel, kind: str, number: int) -> Raw:
    """The JSON of a message of this kind, to get the id *number*; it may refer to an earlier one of the channel."""
    require_kind(kind)
    before: list[Message] = channel.history.before(number, 1)
    scene = Scene(world, channel, kind, number, before[0].id if before else number - 1)
    return KINDS[kind](scene)


__all__ = ["KINDS", "THREAD_STARTED", "require_kind", "sample_message"]
