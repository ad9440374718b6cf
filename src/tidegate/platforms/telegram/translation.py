"""Telegram's messages, channels and topics as our values. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import structlog
from telethon import utils
from telethon.tl import types

from tidegate.core.ids import ChannelId, MessageId, TopicId
from tidegate.core.message_content import NO_COUNTS, MessageContent, MessageCounts, MessageKind, PersonKind
from tidegate.platforms.interface import (
    GENERAL,
    Channel,
    ChannelUpdates,
    Difference,
    File,
    Head,
    Me,
    Message,
    Patch,
    Previewed,
    Reaction,
    Recounted,
    TooLong,
    Topic,
    TopicEvent,
    UpdateHint,
)
from tidegate.platforms.telegram.content.avatars import avatar_of
from tidegate.platforms.telegram.content.message_content import PINNED, content_of, preview_made, unreadable
from tidegate.platforms.telegram.content.message_counts import counts_of, reactions_of
from tidegate.platforms.telegram.content.people import (
    People,
    author_number,
    author_of,
    channel_number,
    marked_channel,
    people_in,
)
from tidegate.platforms.telegram.content.polls import poll_counts
from tidegate.platforms.telegram.content.raw_message import raw_of, raw_of_unreadable
from tidegate.platforms.telegram.content.service_texts import service_name
from tidegate.platforms.telegram.files.file_handles import files_of
from tidegate.platforms.telegram.files.further_files import further_files_of, reaction_files

_log = structlog.get_logger(__name__)

_MALFORMED = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError, struct.error)
"""What reading an object raises that lacks something its schema requires."""

NumberOf = Callable[[Any], ChannelId | None]
"""The number of the channel that a peer is; None for a peer that is none."""

_UNDATED = datetime.fromtimestamp(0, UTC)


# Messages


class _Reading(NamedTuple):
    """What a message says, apart from where it belongs."""

    kind: MessageKind
    content: MessageContent
    raw: Mapping[str, Any]
    files: Sequence[File] = ()
    further_files: Sequence[File] = ()
    reactions: Sequence[Reaction] = ()
    counts: MessageCounts = NO_COUNTS


def message_of(found: Any, people: People) -> Message | None:
    """One message as our value; None for the empty placeholder of a deleted message.

    One that breaks its schema is kept as it came, marked as unsupported. A hidden edit has no time: reactions come as
    one, and Telegram shows neither.
    """
    if not isinstance(found, types.Message | types.MessageService):
        return None
    said = _read(found, people)
    header = found.reply_to if type(found.reply_to) is types.MessageReplyHeader else None
    person = author_of(found, people)
    event = _topic_event(found)  # a topic's number is that of the service message that created it
    return Message(
        id=MessageId(found.id),
        at=found.date or _UNDATED,
        author=found.post_author or ("" if person is None else person.name),
        text=found.message or "",
        topic=TopicId(found.id) if event is not None and event.created else topic_of(header),
        edited_at=None if found.edit_hide else found.edit_date,
        reply_to=_reply(header),
        album=found.grouped_id,
        protected=bool(found.noforwards),
        files=said.files,
        further_files=said.further_files,
        topic_event=event,
        author_id=author_number(found),
        automatic=person is not None and person.kind is PersonKind.BOT,
        service="" if found.action is None else service_name(found.action),
        reactions=said.reactions,
        kind=said.kind,
        content=said.content,
        counts=said.counts,
        raw=said.raw,
        person=person,
        hidden_edit_at=found.edit_date if found.edit_hide else None,
        moved_to=_moved_to(found),
    )


def _read(found: Any, people: People) -> _Reading:
    try:
        kind, content = content_of(found, people)
        own = files_of(found.media)
        further = further_files_of(found, own)
        return _Reading(kind, content, raw_of(found), own, further, reactions_of(found.reactions), counts_of(found))
    except _MALFORMED as problem:
        _log.warning("telegram.message_unreadable", message=found.id, problem=repr(problem))
        return _Reading(*unreadable(found), raw_of_unreadable(found))


def messages_of(answer: Any) -> list[Message]:
    """The messages of an answer, in its order, without deleted ones."""
    people = people_in(answer)
    found = (message_of(one, people) for one in getattr(answer, "messages", ()))
    return [message for message in found if message is not None]


def topic_of(header: types.MessageReplyHeader | None) -> TopicId:
    """Which topic a message belongs to, by its reply header.

    Only a header marked ``forum_topic`` names a topic. Without the mark it is a reply within General, even when it
    names a thread. With it, the thread's root is the topic; a direct reply to the root has only that number.
    """
    if header is None or not header.forum_topic:
        return GENERAL
    return TopicId(header.reply_to_top_id or header.reply_to_msg_id or GENERAL)


def _topic_event(found: Any) -> TopicEvent | None:
    action = found.action
    if isinstance(action, types.MessageActionTopicCreate):
        return TopicEvent(created=True, title=action.title)
    if isinstance(action, types.MessageActionTopicEdit):
        return TopicEvent(created=False, title=action.title, closed=action.closed, hidden=action.hidden)
    return None


def _moved_to(found: Any) -> ChannelId | None:
    action = found.action
    return ChannelId(action.channel_id) if isinstance(action, types.MessageActionChatMigrateTo) else None


def _reply(header: types.MessageReplyHeader | None) -> MessageId | None:
    """The message replied to. In a topic, a header without a root only says where the message was posted."""
    if header is None or header.reply_to_msg_id is None or header.reply_to_peer_id is not None:
        return None
    if header.forum_topic and header.reply_to_top_id is None:
        return None
    return MessageId(header.reply_to_msg_id)


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
        avatar=avatar_of(marked_channel(found.id), found.photo),
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
    """The head of each channel among an answer's dialogs; a dialog without its channel is left out, and so unknown."""
    channels = channels_in(answer)
    heads = {}
    for dialog in answer.dialogs:
        number = ChannelId(getattr(getattr(dialog, "peer", None), "channel_id", 0))
        if number in channels:
            heads[number] = head_of(dialog, channels[number])
    return heads


def head_of(dialog: types.Dialog, channel: Channel | None) -> Head:
    """A channel's head; an empty channel has no newest message, and a missing counter is unknown."""
    newest = MessageId(dialog.top_message) if dialog.top_message else None
    return Head(newest=newest, changes=dialog.pts or None, channel=channel)


def topics_of(answer: types.messages.ForumTopics) -> list[Topic]:
    """The topics of a listing, deleted ones marked as gone."""
    return [_topic(one) for one in answer.topics]


def _topic(found: types.ForumTopic | types.ForumTopicDeleted) -> Topic:
    if isinstance(found, types.ForumTopicDeleted):
        return Topic(id=TopicId(found.id), gone=True)
    # A shortened row of another answer has no reliable top message.
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


# Changes


def difference_of(answer: Any) -> Difference | TooLong:
    """What changed in a channel since a counter value."""
    if isinstance(answer, types.updates.ChannelDifferenceEmpty):
        return Difference(ChannelUpdates(upto=answer.pts), final=bool(answer.final))
    if isinstance(answer, types.updates.ChannelDifferenceTooLong):
        channels = channels_in(answer)
        return TooLong(head_of(answer.dialog, channels.get(ChannelId(getattr(answer.dialog.peer, "channel_id", 0)))))
    people = people_in(answer)
    posted = [*answer.new_messages, *_messages(answer.other_updates, types.UpdateNewChannelMessage)]
    updates = ChannelUpdates(
        upto=answer.pts,
        steps=len(answer.new_messages) + sum(getattr(one, "pts_count", 0) for one in answer.other_updates),
        posted=_translated(posted, people),
        edited=_translated(_messages(answer.other_updates, types.UpdateEditChannelMessage), people),
        deleted=[number for one in answer.other_updates for number in _deleted(one)],
        patched=[pin for one in answer.other_updates for pin in pins_in(one)],
        previewed=[made for one in answer.other_updates for made in previews_in(one)],
        recounted=[told for one in answer.other_updates if (told := _recount(one)[1]) is not None],
    )
    return Difference(updates, final=bool(answer.final))


def _messages(updates: Iterable[Any], kind: Any) -> list[Any]:
    return [one.message for one in updates if isinstance(one, kind)]


def _translated(found: Iterable[Any], people: People) -> list[Message]:
    return [message for one in found if (message := message_of(one, people)) is not None]


def _deleted(update: Any) -> list[MessageId]:
    if isinstance(update, types.UpdateDeleteChannelMessages):
        return [MessageId(number) for number in update.messages]
    return []


def pins_in(update: Any) -> list[Patch]:
    """The messages that an update pins or unpins."""
    if isinstance(update, types.UpdatePinnedChannelMessages | types.UpdatePinnedMessages):
        return [Patch(MessageId(number), marks={PINNED: bool(update.pinned)}) for number in update.messages]
    return []


def previews_in(update: Any) -> list[Previewed]:
    """The preview that an update brings; one that breaks its schema is left to the next reconcile."""
    if not isinstance(update, types.UpdateChannelWebPage | types.UpdateWebPage):
        return []
    try:
        made = preview_made(update.webpage)
    except _MALFORMED as problem:
        _log.warning("telegram.preview_unreadable", channel=getattr(update, "channel_id", None), problem=repr(problem))
        return []
    return [] if made is None else [made]


def hints_of(pushed: Any, number_of: NumberOf = channel_number) -> Sequence[UpdateHint]:
    """Hints about channels in pushed updates; a hint without a channel when Telegram says that it skipped some."""
    if isinstance(pushed, types.UpdatesTooLong):
        return [UpdateHint(None)]
    people = people_in(pushed)
    return [hint for one in updates_in(pushed) if (hint := _hint(one, people, number_of)) is not None]


def updates_in(pushed: Any) -> Sequence[Any]:
    """The single updates of what was pushed."""
    return [pushed.update] if isinstance(pushed, types.UpdateShort) else getattr(pushed, "updates", ())


def _hint(update: Any, people: People, number_of: NumberOf) -> UpdateHint | None:
    if isinstance(update, types.UpdateNewChannelMessage | types.UpdateEditChannelMessage):
        return _message_hint(update, people)
    if isinstance(update, _COUNTED):
        news = ChannelUpdates(
            update.pts,
            update.pts_count,
            deleted=_deleted(update),
            patched=pins_in(update),
            previewed=previews_in(update),
        )
        return UpdateHint(ChannelId(update.channel_id), news)
    if isinstance(update, types.UpdateChannelTooLong | types.UpdateChannel):
        return UpdateHint(ChannelId(update.channel_id))
    where, recounted = _recount(update, number_of)
    if where is None or recounted is None:
        return None
    return UpdateHint(where, ChannelUpdates(None, recounted=[recounted]))


_COUNTED = (types.UpdateDeleteChannelMessages, types.UpdatePinnedChannelMessages, types.UpdateChannelWebPage)
"""Updates that move the counter without a whole message. Without them every later update would seem to follow a gap.
"""


def _message_hint(update: Any, people: People) -> UpdateHint | None:
    message = message_of(update.message, people)
    where = channel_number(getattr(update.message, "peer_id", None))
    if message is None or where is None:
        return None
    posted, edited = ([message], []) if isinstance(update, types.UpdateNewChannelMessage) else ([], [message])
    return UpdateHint(where, ChannelUpdates(update.pts, update.pts_count, posted=posted, edited=edited))


def _recount(update: Any, number_of: NumberOf = channel_number) -> tuple[ChannelId | None, Recounted | None]:
    """Numbers of a message that move no counter, and its channel.

    Telegram may name a poll without its message; then nobody here knows whose numbers these are.
    """
    if isinstance(update, types.UpdateChannelMessageViews):
        recounted = Recounted(MessageId(update.id), counts=MessageCounts(views=update.views))
        return ChannelId(update.channel_id), recounted
    if isinstance(update, types.UpdateChannelMessageForwards):
        recounted = Recounted(MessageId(update.id), counts=MessageCounts(forwards=update.forwards))
        return ChannelId(update.channel_id), recounted
    if isinstance(update, types.UpdateMessageReactions):
        recounted = Recounted(
            MessageId(update.msg_id),
            reactions=reactions_of(update.reactions),
            pictures=reaction_files(update.reactions),
        )
        return number_of(update.peer), recounted
    if isinstance(update, types.UpdateMessagePoll) and update.msg_id is not None:
        counts = poll_counts(update.results)
        where = number_of(update.peer)
        return where, None if counts == NO_COUNTS else Recounted(MessageId(update.msg_id), counts=counts)
    return None, None
