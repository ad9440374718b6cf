"""The world in the platform's own schema, as one account sees it: hashes and references are that account's alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from datetime import datetime
from hashlib import sha256
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.telegram.tl_objects.tl_schema import inside
from tidegate.loopback.telegram.world import channels
from tidegate.loopback.telegram.world.channels import Channel, Message, Topic
from tidegate.loopback.telegram.world.file_content import File, FileKind
from tidegate.loopback.telegram.world.people import SOMEBODY, Person
from tidegate.loopback.telegram.world.private_chats import peer_of
from tidegate.loopback.telegram.world.world import Account, World

_NOTHING_UNREAD = dict.fromkeys(
    (
        "read_inbox_max_id",
        "read_outbox_max_id",
        "unread_count",
        "unread_mentions_count",
        "unread_reactions_count",
        "unread_poll_votes_count",
    ),
    0,
)


def user(account: Account, *, is_self: bool) -> types.User:
    return types.User(
        account.id,
        is_self=is_self,
        access_hash=account.id,
        first_name=account.name,
        phone=account.phone if is_self else None,
        premium=account.premium,
    )


def person(world: World, held: Person, viewer: Account) -> types.User:
    """Somebody without an account here. A deleted account has nothing left but its id."""
    access = world.token("user", viewer.id, held.id)
    if held.deleted:
        return types.User(held.id, access_hash=access, deleted=True)
    several = [types.Username(name, active=True, editable=place == 0) for place, name in enumerate(held.usernames)]
    return types.User(
        held.id,
        access_hash=access,
        first_name=held.first_name,
        last_name=held.last_name or None,
        username=held.usernames[0] if len(held.usernames) == 1 else None,
        usernames=several if len(several) > 1 else None,
        bot=held.bot,
        bot_info_version=1 if held.bot else None,
        premium=held.premium,
        photo=types.UserProfilePhoto(held.photo, _centre(world, held.photo)) if held.photo else None,
    )


def users(world: World, viewer: Account) -> list[types.User]:
    """Every author in this world: the people without an account here, and all accounts."""
    people = [person(world, held, viewer) for held in world.people.values()]
    return [*people, *(user(account, is_self=account is viewer) for account in world.accounts.values())]


def chats(world: World, channel: Channel, viewer: Account, shown: Iterable[TLObject] = ()) -> list[TLObject]:
    """A channel, and the others that the messages shown with it name: in forwards, replies or stories."""
    named = {
        peer.channel_id: None
        for message in shown
        for name in ("fwd_from", "reply_to", "media", "action", "from_id")
        for peer in inside(getattr(message, name, None))
        if isinstance(peer, types.PeerChannel) and peer.channel_id != channel.id
    }
    found = [] if channel.owner and not channel.basic else [chat(world, channel, viewer)]
    for number in named:
        if number in world.channels:
            found.append(chat(world, world.channels[number], viewer))
        elif held := world.outside.get(number):
            photo, access = types.ChatPhotoEmpty(), world.token("channel", viewer.id, number)
            found.append(types.Channel(number, held.title, photo, channel.date, min=True, broadcast=True,
                                       username=held.username or None, access_hash=access))  # fmt: skip
    return found


def chat(world: World, channel: Channel, viewer: Account) -> TLObject:
    if channel.basic:
        return _small_group(world, channel, viewer)
    access = world.token("channel", viewer.id, channel.id)
    if viewer.id not in channel.members:
        return types.ChannelForbidden(
            channel.id, access, channel.title, broadcast=channel.broadcast, megagroup=not channel.broadcast
        )
    writes = not channel.writers or viewer.id in channel.writers
    return types.Channel(
        channel.id,
        channel.title,
        _chat_photo(world, channel),
        channel.date,
        broadcast=channel.broadcast,
        megagroup=not channel.broadcast,
        forum=channel.forum,
        noforwards=channel.protected,
        access_hash=access,
        username=channel.username or None,
        admin_rights=types.ChatAdminRights(post_messages=True) if channel.broadcast and writes else None,
        default_banned_rights=None if writes else types.ChatBannedRights(channel.date, send_messages=True),
    )


def _chat_photo(world: World, channel: Channel) -> TLObject:
    if not channel.photo:
        return types.ChatPhotoEmpty()
    return types.ChatPhoto(channel.photo, _centre(world, channel.photo))


def _centre(world: World, number: int) -> int:
    return world.files[number].centre


def _small_group(world: World, view: Channel, viewer: Account) -> types.Chat:
    members = [view, *world.chats.twins(view)]
    moved = view.moved_to
    target = types.InputChannel(moved, world.token("channel", viewer.id, moved)) if moved else None
    return types.Chat(
        view.peer_id, view.title, _chat_photo(world, view), len(members), view.date, 1,
        noforwards=view.protected, deactivated=bool(moved), migrated_to=target,
    )  # fmt: skip


def dialog(channel: Channel, *, pts: int, top: int) -> types.Dialog:
    return types.Dialog(
        peer_of(channel),
        top,
        **_NOTHING_UNREAD,
        notify_settings=types.PeerNotifySettings(),
        pts=None if channel.owner else pts,
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
        **_NOTHING_UNREAD,
        from_id=types.PeerUser(SOMEBODY),
        notify_settings=types.PeerNotifySettings(),
        closed=topic.closed,
        pinned=topic.pinned,
        short=short,
    )


def messages(world: World, channel: Channel, numbers: Iterable[int], viewer: Account) -> list[TLObject]:
    """These messages of a channel; one that is not there is an empty one."""
    found = ((number, channel.messages.get(number)) for number in numbers)
    return [
        message_shape(world, channel, message, viewer) if message else types.MessageEmpty(number, peer_of(channel))
        for number, message in found
    ]


def message_shape(world: World, channel: Channel, message: Message, viewer: Account) -> TLObject:
    peer = peer_of(channel)
    shown: dict[str, Any] = {
        "from_id": _author(channel, message),
        "reply_to": reply_header(message),
        "post": channel.broadcast,
    }
    if not message.is_service:
        shown |= {
            "message": message.text,
            "noforwards": channel.protected,
            "media": media(world, message.file, message.date, viewer) if message.file else None,
            "edit_date": message.edited_at,
            "grouped_id": message.album or None,
        }
    elif message.action:
        shown["action"] = _action(message.action)
    shown |= personal(world, message.fields, viewer)
    author = getattr(shown["from_id"], "user_id", message.sender)
    viewing = channel.owner or viewer.id
    kind = types.MessageService if message.is_service else types.Message
    return kind(message.id, peer, message.date, out=bool(author) and author == viewing, **shown)


def _author(channel: Channel, message: Message) -> types.PeerUser | None:
    """Who wrote a message, as it says so; in a chat of two it does not, since ``out`` tells."""
    if channel.broadcast or (channel.owner and not channel.basic):
        return None
    return types.PeerUser(message.sender or SOMEBODY)


def personal(world: World, fields: Mapping[str, Any], viewer: Account) -> dict[str, Any]:
    """Fields as one account sees them: hashes and references of documents and photos are its own."""
    return {name: _personal(world, value, viewer) for name, value in fields.items()}


def _personal(world: World, value: Any, viewer: Account) -> Any:
    if isinstance(value, list):
        formatting = value and hasattr(value[0], "offset")  # there can be thousands, and no file is in them
        return value if formatting else [_personal(world, one, viewer) for one in value]
    if not isinstance(value, TLObject):
        return value
    seen = copy(value)
    for name, held in vars(value).items():
        if isinstance(held, TLObject | list):
            setattr(seen, name, _personal(world, held, viewer))
    if isinstance(seen, types.Document | types.Photo) and (file := world.files.get(seen.id)):
        seen.access_hash, seen.file_reference = world.token("file", viewer.id, file.id), reference(world, file, viewer)
    if isinstance(seen, types.WebDocument):
        seen.access_hash = world.token("web", viewer.id, seen.url)
    return seen


_MESSAGE_UPDATES = {
    (channels.EventKind.NEW, False): types.UpdateNewChannelMessage,
    (channels.EventKind.EDITED, False): types.UpdateEditChannelMessage,
    (channels.EventKind.NEW, True): types.UpdateNewMessage,
    (channels.EventKind.EDITED, True): types.UpdateEditMessage,
}
"""The update that brings a message, by the kind of the event and whether it is of an account's box."""


def update(world: World, channel: Channel, event: channels.Event, viewer: Account) -> TLObject | None:
    """An event as an update; nothing when its message is gone by now, or what it is about."""
    if (kind := _MESSAGE_UPDATES.get((event.kind, bool(channel.owner)))) is not None:
        message = channel.messages.get(event.messages[0])
        shape = None if message is None else message_shape(world, channel, message, viewer)
        return None if shape is None else kind(shape, event.pts, event.count)
    make = _box_update if channel.owner else _channel_update
    return make(world, channel, event, viewer)


def _channel_update(world: World, channel: Channel, event: channels.Event, viewer: Account) -> TLObject | None:
    match event.kind:
        case channels.EventKind.DELETED:
            return types.UpdateDeleteChannelMessages(channel.id, list(event.messages), event.pts, event.count)
        case channels.EventKind.PINNED | channels.EventKind.UNPINNED:
            pinned = event.kind is channels.EventKind.PINNED
            held = list(event.messages)
            return types.UpdatePinnedChannelMessages(channel.id, held, event.pts, event.count, pinned=pinned)
        case channels.EventKind.CHANNEL:
            return types.UpdateChannel(channel.id)
    message = channel.messages.get(event.messages[0])
    if message is None:
        return None
    return _count_update(channel, message, event) or _web_page_update(world, channel, message, event, viewer)


def _box_update(world: World, view: Channel, event: channels.Event, viewer: Account) -> TLObject | None:
    """An event of a private chat as an update of its account's box; a deletion names no chat."""
    match event.kind:
        case channels.EventKind.DELETED:
            return types.UpdateDeleteMessages(list(event.messages), event.pts, event.count)
        case channels.EventKind.PINNED | channels.EventKind.UNPINNED:
            pinned, held = event.kind is channels.EventKind.PINNED, list(event.messages)
            return types.UpdatePinnedMessages(peer_of(view), held, event.pts, event.count, pinned=pinned)
    message = view.messages.get(event.messages[0]) if event.messages else None
    if message is None:
        return None
    if event.kind is channels.EventKind.WEB_PAGE:
        page = _personal(world, message.fields["media"].webpage, viewer)
        return types.UpdateWebPage(page, event.pts, event.count)
    return _count_update(view, message, event)


def short_form(view: Channel, update: TLObject) -> TLObject | None:
    """The short form in which a plain text of a private chat is pushed; nothing where there is none."""
    message = getattr(update, "message", None)
    if not isinstance(update, types.UpdateNewMessage) or not isinstance(message, types.Message) or message.media:
        return None
    said = {name: getattr(message, name) for name in ("silent", "fwd_from", "via_bot_id", "reply_to", "entities")}
    shared = {"out": message.out, "pts": update.pts, "pts_count": update.pts_count, "date": message.date, **said}
    if view.basic:
        return types.UpdateShortChatMessage(
            message.id, message.from_id.user_id, view.peer_id, message.message, **shared
        )
    return types.UpdateShortMessage(message.id, view.peer_id, message.message, **shared)


def _count_update(channel: Channel, message: Message, event: channels.Event) -> TLObject | None:
    """Counts move no pts: who does not hear them has to ask."""
    match event.kind:
        case channels.EventKind.REACTIONS:
            return reactions_update(channel, message)
        case channels.EventKind.POLL:
            return poll_update(channel, message)
        case channels.EventKind.VIEWS:
            return types.UpdateChannelMessageViews(channel.id, message.id, message.fields.get("views", 0))
        case channels.EventKind.FORWARDS:
            return types.UpdateChannelMessageForwards(channel.id, message.id, message.fields.get("forwards", 0))
    return None


def reactions_update(channel: Channel, message: Message) -> types.UpdateMessageReactions:
    held = message.fields.get("reactions") or types.MessageReactions([])
    top = channels.topic_of(message) if channel.forum else None
    return types.UpdateMessageReactions(peer_of(channel), message.id, held, top_msg_id=top)


def poll_update(channel: Channel, message: Message) -> types.UpdateMessagePoll | None:
    held = message.fields.get("media")
    if not isinstance(held, types.MessageMediaPoll):
        return None
    peer, top = peer_of(channel), channels.topic_of(message) if channel.forum else None
    poll, results = held.poll, held.results
    return types.UpdateMessagePoll(poll.id, results, peer=peer, msg_id=message.id, top_msg_id=top, poll=poll)


def _web_page_update(
    world: World, channel: Channel, message: Message, event: channels.Event, viewer: Account
) -> TLObject | None:
    held = message.fields.get("media")
    if event.kind is not channels.EventKind.WEB_PAGE or not isinstance(held, types.MessageMediaWebPage):
        return None
    page = _personal(world, held.webpage, viewer)
    return types.UpdateChannelWebPage(channel.id, page, event.pts, event.count)


def reference(world: World, file: File, viewer: Account) -> bytes:
    """The reference by which one account may read a file; a new generation makes it expire."""
    return sha256(f"{world.seed}/{viewer.id}/{file.id}/{file.generation}".encode()).digest()[:20]


def document(world: World, file: File, date: datetime, viewer: Account) -> types.Document:
    attributes: list[TLObject] = [types.DocumentAttributeFilename(file.name)]
    attributes += _ATTRIBUTES.get(file.kind, ())
    access = world.token("file", viewer.id, file.id)
    thumbs = [types.PhotoSize(letter, 100, 100, len(held)) for letter, held in file.smaller.items()]
    return types.Document(
        file.id,
        access,
        reference(world, file, viewer),
        date,
        file.mime,
        file.size,
        file.centre,
        attributes,
        thumbs=thumbs or None,
    )


_ATTRIBUTES: dict[FileKind, tuple[TLObject, ...]] = {
    FileKind.VIDEO: (types.DocumentAttributeVideo(duration=1.0, w=16, h=16),),
    FileKind.AUDIO: (types.DocumentAttributeAudio(duration=1),),
    FileKind.VOICE: (types.DocumentAttributeAudio(duration=1, voice=True, waveform=bytes(range(63))),),
    FileKind.ROUND: (types.DocumentAttributeVideo(duration=1.0, w=16, h=16, round_message=True),),
    FileKind.ANIMATION: (
        types.DocumentAttributeVideo(duration=1.0, w=16, h=16, nosound=True),
        types.DocumentAttributeAnimated(),
    ),
    FileKind.STICKER: (
        types.DocumentAttributeImageSize(512, 512),
        types.DocumentAttributeSticker("🙂", types.InputStickerSetEmpty()),
    ),
}


def media(world: World, file: File, date: datetime, viewer: Account) -> TLObject:
    """A file as a message shows it, or as the uploader gets it."""
    if file.kind is not FileKind.PHOTO:
        return types.MessageMediaDocument(
            document=document(world, file, date, viewer),
            video=file.kind in (FileKind.VIDEO, FileKind.ROUND) or None,
            round=file.kind is FileKind.ROUND or None,
            voice=file.kind is FileKind.VOICE or None,
        )
    access = world.token("file", viewer.id, file.id)
    largest = types.PhotoSize("y", 160, 160, file.size)
    sizes = [*(types.PhotoSize(letter, 16, 16, len(one)) for letter, one in file.smaller.items()), largest]
    return types.MessageMediaPhoto(
        photo=types.Photo(file.id, access, reference(world, file, viewer), date, sizes, file.centre)
    )


def reply_header(message: Message) -> types.MessageReplyHeader | None:
    """The reply header says which topic a message is in; there is none for General or outside of forums."""
    topic = channels.topic_of(message)
    if topic == message.id or (topic == channels.GENERAL and not message.reply_to):
        return None
    if topic == channels.GENERAL:
        return types.MessageReplyHeader(reply_to_msg_id=message.reply_to)
    if message.reply_to in (0, topic):
        return types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=topic)
    return types.MessageReplyHeader(forum_topic=True, reply_to_msg_id=message.reply_to, reply_to_top_id=topic)


def _action(action: channels.Action) -> TLObject:
    if action.kind is channels.ActionKind.CHANNEL_CREATED:
        return types.MessageActionChannelCreate(action.title)
    if action.kind is channels.ActionKind.TOPIC_CREATED:
        return types.MessageActionTopicCreate(action.title, icon_color=0x6FB9F0)
    return types.MessageActionTopicEdit(title=action.title or None, closed=action.closed)
