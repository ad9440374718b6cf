"""Where a message is on its own platform, as a link that a person's browser or app opens."""

from __future__ import annotations

from tidegate.core.ids import ChannelId, GuildId, MessageId, TopicId
from tidegate.core.platform import MessageAddress, Platform


def original_link(
    platform: Platform,
    channel: ChannelId,
    message: MessageId,
    *,
    guild: GuildId | None = None,
    topic: TopicId | None = None,
) -> str | None:
    """The link to a message; None where the platform has none."""
    if platform.message_link is None:
        return None
    return platform.message_link(MessageAddress(channel, message, guild, topic))
