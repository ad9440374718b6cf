"""The facts about Telegram; importing this loads no library."""

from __future__ import annotations

from tidegate.core.platform import MessageAddress, MessageLimits, Platform

_CHATS_FROM = 1 << 41
"""The numbers of private chats begin here (``chats.chat_numbers``)."""


def _message_link(at: MessageAddress) -> str | None:
    """Works for members of the channel; links to a topic's messages include the topic. A private chat has no links."""
    if at.channel >= _CHATS_FROM:
        return None
    way = f"{at.topic}/{at.message}" if at.topic is not None and at.topic > 1 else str(at.message)
    return f"https://t.me/c/{at.channel}/{way}"


TELEGRAM = Platform(
    "telegram",
    brand="Telegram",
    sign_in_needs="phone number, code, and password if there is one",
    can_be_mirrored=True,
    reads_per_second=1.0,
    reads_at_once=2,
    has_archives=True,
    limits=MessageLimits(text=4_096, caption=1_024),
    proxy_schemes=("socks5", "http"),
    reached_at=("149.154.167.51", 443),  # data centre 2, whose address the library has built in
    sessions_shown_at="under Settings > Devices",
    message_link=_message_link,
)
