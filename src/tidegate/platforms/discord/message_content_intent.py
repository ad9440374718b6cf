"""Messages whose content Discord hides. Pure.

Without the message content intent Discord sends messages with empty content, over REST and the gateway, and no error.
Such a message must not be stored: it would overwrite the real text.
"""

from __future__ import annotations

from discord.flags import ApplicationFlags

from tidegate.platforms.discord.messages.json_values import number_in, object_in, whole_in
from tidegate.platforms.discord.messages.raw_fields import WRITTEN
from tidegate.platforms.discord.permissions import Json

_SAYS_SOMETHING = (
    "content", "attachments", "embeds", "components", "poll", "sticker_items", "stickers", "message_snapshots",
    "activity", "application", "call",
)  # fmt: skip
_STILL_LOADING = 1 << 7


def is_blank(found: Json, me: str) -> bool:
    """Whether another account's message is completely empty, which cannot be posted.

    An edit event without the content field says nothing about it.
    """
    return (
        number_in(found.get("type", 0)) in WRITTEN
        and str(object_in(found.get("author")).get("id")) != me
        and not whole_in(found.get("flags")) & _STILL_LOADING
        and not any(found.get(name) for name in _SAYS_SOMETHING)
    )


def reads_content(application: Json) -> bool:
    """Whether the bot's application may read message content."""
    flags = ApplicationFlags._from_value(int(application.get("flags") or 0))
    return flags.gateway_message_content or flags.gateway_message_content_limited
