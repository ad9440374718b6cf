"""The facts about Discord; importing this loads no library."""

from __future__ import annotations

from tidegate.core.platform import MessageAddress, MessageLimits, Platform

MIB = 1 << 20


def _message_link(at: MessageAddress) -> str:
    """Without a guild, the channel is a private conversation."""
    return f"https://discord.com/channels/{at.guild or '@me'}/{at.channel}/{at.message}"


DISCORD = Platform(
    "discord",
    brand="Discord",
    sign_in_needs="the token of a bot of yours; we check its permissions",
    tokens_made_at="discord.com/developers/applications, under Bot",
    can_be_mirrored=True,
    reads_per_second=25.0,
    reads_at_once=10,
    has_guilds=True,
    ids_begin_with_channel=True,
    file_hosts=(
        "cdn.discordapp.com",
        "media.discordapp.net",
        "images-ext-1.discordapp.net",
        "images-ext-2.discordapp.net",
    ),
    limits=MessageLimits(text=2_000, caption=2_000, file=10 * MIB),
    has_own_chat=False,
    proxy_schemes=("http",),
    reached_at=("discord.com", 443),
    writes_markdown=True,
    message_link=_message_link,
)
