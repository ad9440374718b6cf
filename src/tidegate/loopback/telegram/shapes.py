"""The world in the platform's own schema, as one account sees it: hashes and references are that account's alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from telethon.tl import TLObject, types

from tidegate.loopback.telegram.channels import (
    GENERAL,
    ActionKind,
    Channel,
    Event,
    EventKind,
    Message,
    Topic,
    topic_of,
)
from tidegate.loopback.telegram.content import File, FileKind
from tidegate.loopback.telegram.world import Account, World

_SOMEBODY = 777_001


def user(account: Account, *, is_self: bool) -> types.User:
    return types.User(
        account.id,
        is_self=is_self,
        access_hash=account.id,
        first_name=account.name,
        phone=account.phone if is_self else None,
        premium=account.premium,
    )


def users(world: World, viewer: Account) -> list[types.User]:
    """Everybody who writes in this world: somebody without an account here, and all accounts."""
    somebody = types.User(_SOMEBODY, access_hash=_SOMEBODY, first_name="Somebody")
    return [somebody, *(user(account, is_self=account is viewer) for account in world.accounts.values())]


def chat(world: World, channel: Channel, viewer: Account) -> TLObject:
    access = world.token("channel", viewer.id, channel.id)
    if viewer.id not in channel.members:
        return types.ChannelForbidden(
            channel.id, access, channel.title, broadcast=channel.broadcast, megagroup=not channel.broadcast
        )
    writes = not channel.writers or viewer.id in channel.writers
    return types.Channel(
        channel.id,
        channel.title,
        types.ChatPhotoEmpty(),
        channel.date,
        broadcast=channel.broadcast,
        megagroup=not channel.broadcast,
        forum=channel.forum,
        noforwards=channel.protected,
        access_hash=access,
        admin_rights=types.ChatAdminRights(post_messages=True) if channel.broadcast and writes else None,
        default_banned_rights=None if writes else types.ChatBannedRights(channel.date, send_messages=True),
    )


def dialog(channel: Channel, *, pts: int, top: int) -> types.Dialog:
    return types.Dialog(
        types.PeerChannel(channel.id),
        top,
        read_inbox_max_id=0,
        read_outbox_max_id=0,
        unread_count=0,
        unread_mentions_count=0,
        unread_reactions_count=0,
        unread_poll_votes_count=0,
        notify_settings=types.PeerNotifySettings(),
        pts=pts,
        folder_id=1 if channel.archived else None,
    )


def topic_row(channel: Channel, topic: Topic, top: int, *, short: bool = False) -> TLObject:
    """A topic's row in a list; in the short form only its id, date, title and sender can be relied on."""
    if topic.deleted:
        return types.ForumTopicDeleted(topic.id)
    return types.ForumTopic(
        topic.id,
        topic.date,
        types.PeerChannel(channel.id),
        topic.title,
        icon_color=0x6FB9F0,
        top_message=top,
        read_inbox_max_id=0,
        read_outbox_max_id=0,
        unread_count=0,
        unread_mentions_count=0,
        unread_reactions_count=0,
        unread_poll_votes_count=0,
        from_id=types.PeerUser(_SOMEBODY),
        notify_settings=types.PeerNotifySettings(),
        closed=topic.closed,
        pinned=topic.pinned,
        short=short,
    )


def messages(world: World, channel: Channel, numbers: Iterable[int], viewer: Account) -> list[TLObject]:
    """These messages of a channel; one that is not there is an empty one."""
    found = ((number, channel.messages.get(number)) for number in numbers)
    return [
        message_shape(world, channel, message, viewer)
        if message
        else types.MessageEmpty(number, types.PeerChannel(channel.id))
        for number, message in found
    ]


def message_shape(world: World, channel: Channel, message: Message, viewer: Account) -> TLObject:
    peer = types.PeerChannel(channel.id)
    sender = None if channel.broadcast else types.PeerUser(message.sender or _SOMEBODY)
    if message.action:
        action = _action(message)
        return types.MessageService(
            message.id, peer, message.date, from_id=sender, action=action, reply_to=_reply_header(message)
        )
    return types.Message(
        message.id,
        peer,
        message.date,
        message.text,
        out=bool(message.sender) and message.sender == viewer.id,
        post=channel.broadcast,
        noforwards=channel.protected,
        from_id=sender,
        reply_to=_reply_header(message),
        media=media(world, message.file, message.date, viewer) if message.file else None,
        edit_date=message.edited_at,
        grouped_id=message.album or None,
    )


def update(world: World, channel: Channel, event: Event, viewer: Account) -> TLObject | None:
    """An event of the log as an update; nothing when its message is gone by now."""
    if event.kind is EventKind.DELETED:
        return types.UpdateDeleteChannelMessages(channel.id, list(event.messages), event.pts, event.count)
    message = channel.messages.get(event.messages[0])
    if message is None:
        return None
    shape = message_shape(world, channel, message, viewer)
    kind = types.UpdateNewChannelMessage if event.kind is EventKind.NEW else types.UpdateEditChannelMessage
    return kind(shape, event.pts, event.count)


def reference(world: World, file: File, viewer: Account) -> bytes:
    """The right to read a file, as one account was given it; a new generation makes it worthless."""
    return sha256(f"{world.seed}/{viewer.id}/{file.id}/{file.generation}".encode()).digest()[:20]


def document(world: World, file: File, date: datetime, viewer: Account) -> types.Document:
    attributes: list[TLObject] = [types.DocumentAttributeFilename(file.name)]
    if file.kind is FileKind.VIDEO:
        attributes.append(types.DocumentAttributeVideo(duration=1.0, w=16, h=16))
    if file.kind is FileKind.AUDIO:
        attributes.append(types.DocumentAttributeAudio(duration=1))
    access = world.token("file", viewer.id, file.id)
    return types.Document(
        file.id,
        access,
        reference(world, file, viewer),
        date,
        file.mime,
        file.size,
        file.centre,
        attributes,
    )


def media(world: World, file: File, date: datetime, viewer: Account) -> TLObject:
    """A file as a message shows it, or as it is told to whoever uploaded it."""
    if file.kind is not FileKind.PHOTO:
        video = True if file.kind is FileKind.VIDEO else None
        return types.MessageMediaDocument(document=document(world, file, date, viewer), video=video)
    access = world.token("file", viewer.id, file.id)
    largest = types.PhotoSize("y", 160, 160, file.size)
    sizes = [*(types.PhotoSize(letter, 16, 16, len(one)) for letter, one in file.smaller.items()), largest]
    return types.MessageMediaPhoto(
        photo=types.Photo(file.id, access, reference(world, file, viewer), date, sizes, file.centre)
    )


def _reply_header(message: Message) -> types.MessageReplyHeader | None:
    """Which topic a message is in stands in its reply header; General and what is outside of forums has no mark."""
    topic = topic_of(message)
    if topic == message.id or (topic == GENERAL and not message.reply_to):
        return None
    if topic == GENERAL:
        return types.MessageReplyHeader(reply_to_msg_id=message.reply_to)
    if message.reply_to in (0, topic):
        return types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=topic)
    return types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=message.reply_to, reply_to_top_id=topic)


def _action(message: Message) -> TLObject:
    action = message.action
    assert action is not None
    if action.kind is ActionKind.CHANNEL_CREATED:
        return types.MessageActionChannelCreate(action.title)
    if action.kind is ActionKind.TOPIC_CREATED:
        return types.MessageActionTopicCreate(action.title, icon_color=0x6FB9F0)
    return types.MessageActionTopicEdit(title=action.title or None, closed=action.closed)
