"""Numbers that change without an edit: views, forwards, replies, votes and reactions."""

from __future__ import annotations

from typing import Any

from telethon.tl import types

from tidegate.core.message_content import NO_COUNTS, MessageCounts
from tidegate.platforms.interface import Reaction
from tidegate.platforms.telegram.content.polls import poll_numbers


def counts_of(found: Any) -> MessageCounts:
    """The numbers of a message."""
    numbers: dict[str, Any] = {}
    if found.views is not None:
        numbers["views"] = found.views
    if found.forwards is not None:
        numbers["forwards"] = found.forwards
    if found.replies is not None:
        numbers["replies"] = found.replies.replies
    if isinstance(found.media, types.MessageMediaPoll):
        numbers |= poll_numbers(found.media.results)
    return MessageCounts(**numbers) if numbers else NO_COUNTS


def reactions_of(found: Any) -> tuple[Reaction, ...]:
    """How many people reacted with what.

    Results that are marked ``min`` lack only one's own choice, which is not kept, so their numbers count too.
    """
    if found is None:
        return ()
    return tuple(Reaction(emoji, one.count) for one in found.results or () if (emoji := _emoji(one.reaction)))


def _emoji(found: Any) -> str:
    if isinstance(found, types.ReactionEmoji):
        return str(found.emoticon)
    if isinstance(found, types.ReactionCustomEmoji):
        return f"custom:{found.document_id}"
    if isinstance(found, types.ReactionPaid):
        return "paid"
    return "" if isinstance(found, types.ReactionEmpty) else f"unsupported:{type(found).__name__}"
