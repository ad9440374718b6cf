"""Where a message comes from and what it answers: forwards and replies.

What is left of both headers, such as where a copy was saved from, stays in what Telegram sent (``raw_message``).
"""

from __future__ import annotations

from typing import Any

from telethon.tl import types

from tidegate.core.ids import MessageId
from tidegate.core.message_content import Forward, OriginKind, Reply
from tidegate.platforms.telegram.content.people import People, channel_number, marked_number, name_of
from tidegate.platforms.telegram.content.polls import option_key
from tidegate.platforms.telegram.content.text_formatting import formatting_of


def forward_of(header: Any, people: People) -> Forward:
    """Where a message was forwarded from; a person who hides their account is known by name only."""
    number = marked_number(header.from_id)
    return Forward(
        kind=_origin(header),
        name=name_of(people, number) or header.from_name or "",
        id=number,
        at=header.date,
        message=None if header.channel_post is None else MessageId(header.channel_post),
        signature=header.post_author or "",
    )


def _origin(header: Any) -> OriginKind:
    if header.imported:
        return OriginKind.IMPORT
    if header.from_id is None:
        return OriginKind.HIDDEN
    return OriginKind.PERSON if isinstance(header.from_id, types.PeerUser) else OriginKind.CHANNEL


def reply_of(header: Any, people: People) -> Reply | None:
    """What a message answers, where that is more than a message of the same channel."""
    if isinstance(header, types.MessageReplyStoryHeader):
        author = name_of(people, marked_number(header.peer))
        return Reply(story=header.story_id, channel=channel_number(header.peer), author=author)
    if not isinstance(header, types.MessageReplyHeader) or not _says_more(header):
        return None
    quote = header.quote_text or ""
    return Reply(
        message=None if header.reply_to_msg_id is None else MessageId(header.reply_to_msg_id),
        channel=channel_number(header.reply_to_peer_id),
        author=_answered(header, people),
        quote=quote,
        formatting=formatting_of(quote, header.quote_entities),
        item=_item(header),
    )


def _says_more(header: types.MessageReplyHeader) -> bool:
    further = (header.reply_to_peer_id, header.reply_from, header.todo_item_id, header.poll_option, header.quote_text)
    return any(one is not None for one in further)


def _answered(header: types.MessageReplyHeader, people: People) -> str:
    """Who wrote the answered message, where that is told."""
    wrote = header.reply_from
    if wrote is None:
        return name_of(people, marked_number(header.reply_to_peer_id))
    return name_of(people, marked_number(wrote.from_id)) or wrote.from_name or ""


def _item(header: types.MessageReplyHeader) -> str:
    if header.poll_option is not None:
        return option_key(header.poll_option)
    return "" if header.todo_item_id is None else str(header.todo_item_id)
