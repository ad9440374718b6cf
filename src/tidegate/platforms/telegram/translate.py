"""Telegram's messages, channels and topics in our words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from telethon import utils
from telethon.tl import types

from tidegate.platforms.telegram.handles import file_of
from tidegate.port import (
    GENERAL,
    Channel,
    ChannelId,
    Difference,
    Head,
    Hint,
    Me,
    Message,
    MessageId,
    News,
    TooLong,
    Topic,
    TopicEvent,
    TopicId,
)

Names = Mapping[int, str]
"""Who is who in one answer: display names by Telegram's marked number."""


def names_in(answer: Any) -> Names:
    """The people and channels an answer speaks of."""
    known = [*getattr(answer, "users", ()), *getattr(answer, "chats", ())]
    return {utils.get_peer_id(one): utils.get_display_name(one) for one in known if not isinstance(one, _NAMELESS)}


_NAMELESS = (types.UserEmpty, types.ChatEmpty)


# Messages


def message_of(found: Any, names: Names) -> Message | None:
    """One message in our words; None for the empty shell that stands for a message that is gone."""
    if not isinstance(found, types.Message | types.MessageService):
        return None
    header = found.reply_to if isinstance(found.reply_to, types.MessageReplyHeader) else None
    media = None if isinstance(found, types.MessageService) else found.media
    file = file_of(media)
    return Message(
        id=MessageId(found.id),
        at=found.date,
        author=_author(found, names),
        text=getattr(found, "message", None) or "",
        topic=_own_topic(found, header),
        edited_at=getattr(found, "edit_date", None),
        reply_to=_reply(header),
        album=getattr(found, "grouped_id", None),
        protected=bool(getattr(found, "noforwards", None)),
        files=() if file is None else (file,),
        topic_event=_topic_event(found),
        author_id=_author_id(found),
    )


def messages_of(answer: Any) -> list[Message]:
    """The messages of an answer, in its order, without those that are gone."""
    names = names_in(answer)
    found = (message_of(one, names) for one in getattr(answer, "messages", ()))
    return [message for message in found if message is not None]


def topic_of(header: types.MessageReplyHeader | None) -> TopicId:
    """Which topic a message belongs to, by its reply header.

    Only a header marked ``forum_topic`` speaks of a topic. Without the mark it is a reply within General, even when
    it names a thread; with it, the thread's root is the topic, and a direct reply to the root names just that.
    """
    if header is None or not header.forum_topic:
        return GENERAL
    return TopicId(header.reply_to_top_id or header.reply_to_msg_id or GENERAL)


def _own_topic(found: Any, header: types.MessageReplyHeader | None) -> TopicId:
    """A topic's number is that of the service message that created it."""
    return TopicId(found.id) if _creates_topic(found) else topic_of(header)


def _creates_topic(found: Any) -> bool:
    return isinstance(getattr(found, "action", None), types.MessageActionTopicCreate)


def _topic_event(found: Any) -> TopicEvent | None:
    action = getattr(found, "action", None)
    if isinstance(action, types.MessageActionTopicCreate):
        return TopicEvent(created=True, title=action.title)
    if isinstance(action, types.MessageActionTopicEdit):
        return TopicEvent(created=False, title=action.title, closed=action.closed, hidden=action.hidden)
    return None


def _reply(header: types.MessageReplyHeader | None) -> MessageId | None:
    """The message answered. In a topic a header without a root only says where the message was posted."""
    if header is None or header.reply_to_msg_id is None or header.reply_to_peer_id is not None:
        return None
    if header.forum_topic and header.reply_to_top_id is None:
        return None
    return MessageId(header.reply_to_msg_id)


def _author(found: Any, names: Names) -> str:
    if signed := getattr(found, "post_author", None):
        return str(signed)
    number = _author_id(found)
    return "" if number is None else names.get(number, "")


def _author_id(found: Any) -> int | None:
    """Who wrote it, as Telegram numbers people and channels in one line; a channel's own post is the channel's."""
    peer = found.from_id or found.peer_id
    return None if peer is None else int(utils.get_peer_id(peer))


# Channels and topics


def channels_in(answer: Any) -> dict[ChannelId, Channel]:
    """The channels an answer describes that the account is in. Small groups have no counter and are left out."""
    found = (one for one in getattr(answer, "chats", ()) if isinstance(one, types.Channel))
    return {ChannelId(one.id): channel_of(one) for one in found if not one.left and not one.min}


def channel_of(found: types.Channel) -> Channel:
    return Channel(
        id=ChannelId(found.id),
        title=found.title,
        forum=bool(found.forum),
        protected=bool(found.noforwards),
        may_post=_may_post(found),
    )


def _may_post(found: types.Channel) -> bool:
    if found.creator:
        return True
    if found.broadcast:
        return bool(found.admin_rights and found.admin_rights.post_messages)
    if found.admin_rights:
        return True
    barred = (found.banned_rights, found.default_banned_rights)
    return not any(rights and (rights.send_messages or rights.send_docs) for rights in barred)


def heads_of(answer: Any) -> dict[ChannelId, Head]:
    """Where each channel of an answer's dialogs stands; a dialog without its channel is left out, and so unknown."""
    channels = channels_in(answer)
    heads = {}
    for dialog in answer.dialogs:
        number = ChannelId(getattr(getattr(dialog, "peer", None), "channel_id", 0))
        if number in channels:
            heads[number] = head_of(dialog, channels[number])
    return heads


def head_of(dialog: types.Dialog, channel: Channel | None) -> Head:
    """A channel's head; an empty channel has no newest message, and a counter that is not told is unknown."""
    newest = MessageId(dialog.top_message) if dialog.top_message else None
    return Head(newest=newest, changes=dialog.pts or None, channel=channel)


def topics_of(answer: types.messages.ForumTopics) -> list[Topic]:
    """The topics of a listing, deleted ones marked as gone."""
    return [_topic(one) for one in answer.topics]


def _topic(found: types.ForumTopic | types.ForumTopicDeleted) -> Topic:
    if isinstance(found, types.ForumTopicDeleted):
        return Topic(id=TopicId(found.id), gone=True)
    # A short row of another answer has no top message that could be trusted.
    newest = None if found.short or not found.top_message else MessageId(found.top_message)
    return Topic(
        id=TopicId(found.id),
        title=found.title,
        newest=newest,
        pinned=bool(found.pinned),
        closed=bool(found.closed),
        hidden=bool(found.hidden),
    )


def me_of(found: types.User) -> Me:
    return Me(id=found.id, name=utils.get_display_name(found), premium=bool(found.premium))


# What changed


def difference_of(answer: Any) -> Difference | TooLong:
    """What changed in a channel since a counter value."""
    if isinstance(answer, types.updates.ChannelDifferenceEmpty):
        return Difference(News(upto=answer.pts), final=bool(answer.final))
    if isinstance(answer, types.updates.ChannelDifferenceTooLong):
        channels = channels_in(answer)
        return TooLong(head_of(answer.dialog, channels.get(ChannelId(getattr(answer.dialog.peer, "channel_id", 0)))))
    names = names_in(answer)
    posted = [*answer.new_messages, *_messages(answer.other_updates, types.UpdateNewChannelMessage)]
    news = News(
        upto=answer.pts,
        posted=_translated(posted, names),
        edited=_translated(_messages(answer.other_updates, types.UpdateEditChannelMessage), names),
        deleted=[number for one in answer.other_updates for number in _deleted(one)],
    )
    return Difference(news, final=bool(answer.final))


def _messages(updates: Iterable[Any], kind: Any) -> list[Any]:
    return [one.message for one in updates if isinstance(one, kind)]


def _translated(found: Iterable[Any], names: Names) -> list[Message]:
    return [message for one in found if (message := message_of(one, names)) is not None]


def _deleted(update: Any) -> list[MessageId]:
    if isinstance(update, types.UpdateDeleteChannelMessages):
        return [MessageId(number) for number in update.messages]
    return []


def hints_of(pushed: Any) -> Sequence[Hint]:
    """What pushed updates say of channels; a hint without a channel when Telegram says that it skipped some."""
    if isinstance(pushed, types.UpdatesTooLong):
        return [Hint(None)]
    updates = [pushed.update] if isinstance(pushed, types.UpdateShort) else getattr(pushed, "updates", ())
    names = names_in(pushed)
    return [hint for one in updates if (hint := _hint(one, names)) is not None]


def _hint(update: Any, names: Names) -> Hint | None:
    if isinstance(update, types.UpdateNewChannelMessage | types.UpdateEditChannelMessage):
        message = message_of(update.message, names)
        where = getattr(update.message.peer_id, "channel_id", None)
        if message is None or where is None:
            return None
        posted, edited = ([message], []) if isinstance(update, types.UpdateNewChannelMessage) else ([], [message])
        return Hint(ChannelId(where), News(update.pts, update.pts_count, posted=posted, edited=edited))
    if isinstance(update, types.UpdateDeleteChannelMessages):
        return Hint(ChannelId(update.channel_id), News(update.pts, update.pts_count, deleted=_deleted(update)))
    if isinstance(update, types.UpdateChannelTooLong | types.UpdateChannel):
        return Hint(ChannelId(update.channel_id))
    return None
