"""Sending: text, files uploaded, stored or copied, and forwards; each random id makes one message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from telethon.tl import types

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.methods.files import known_file, uploaded_file
from tidegate.loopback.telegram.world.channels import Channel, Message, topic_of
from tidegate.loopback.telegram.world.file_content import File
from tidegate.loopback.telegram.world.people import SOMEBODY
from tidegate.loopback.telegram.world.record import Sent

_LONGEST_TEXT, _LONGEST_CAPTION = 4096, 1024


def send_message(request: Request) -> Answer:
    query = request.query
    if not query.message:
        raise Refusal(400, "MESSAGE_EMPTY")
    if len(query.message) > _LONGEST_TEXT:
        raise Refusal(400, "MESSAGE_TOO_LONG")
    if isinstance(query.peer, types.InputPeerSelf):
        return _saved(request, None)
    channel, topic = _target(request, query.peer, query.reply_to)
    _once(request, query.random_id)
    formatting = {"entities": query.entities} if query.entities else {}
    message = _post(request, channel, topic, query.message, None, fields=formatting)
    return _sent(request, channel, [(query.random_id, message)])


def send_media(request: Request) -> Answer:
    query = request.query
    if len(query.message) > _LONGEST_CAPTION:
        raise Refusal(400, "MEDIA_CAPTION_TOO_LONG")
    if isinstance(query.peer, types.InputPeerSelf):
        return _saved(request, _file(request, query.media))
    channel, topic = _target(request, query.peer, query.reply_to)
    _once(request, query.random_id)
    file = _file(request, query.media)
    formatting = {"entities": query.entities} if query.entities else {}
    message = _post(request, channel, topic, query.message, file, fields=formatting)
    return _sent(request, channel, [(query.random_id, message)])


def upload_media(request: Request) -> Answer:
    """Make a file of uploaded parts that can be posted from now on, in any channel and as often as wanted."""
    if not isinstance(request.query.peer, types.InputPeerSelf):
        request.channel(request.query.peer)
    file = _file(request, request.query.media)
    file.registered = True
    return tl_shapes.media(request.world, file, request.world.clock.now(), request.account)


def forward_messages(request: Request) -> Answer:
    query = request.query
    source = request.channel(query.from_peer)
    channel, topic = _target(request, query.to_peer, query.reply_to, query.top_msg_id)
    if source.protected:
        raise Refusal(400, "CHAT_FORWARDS_RESTRICTED")
    originals = [source.messages.get(number) for number in query.id]
    if any(original is None or original.is_service for original in originals):
        raise Refusal(400, "MESSAGE_ID_INVALID")
    for random_id in query.random_id:
        _once(request, random_id)
    sent = []
    for random_id, original in zip(query.random_id, originals, strict=True):
        assert original is not None
        fields: dict[str, Any] = {
            name: original.fields[name] for name in ("media", "entities") if name in original.fields
        }
        if not query.drop_author:
            fields["fwd_from"] = _forward_header(source, original)
        sent.append((random_id, _post(request, channel, topic, original.text, original.file, fields=fields)))
    return _sent(request, channel, sent)


def _target(request: Request, peer: Any, reply_to: Any, top_msg_id: int | None = None) -> tuple[Channel, int]:
    """Where a message goes: the channel, and in a forum the topic its reply header names."""
    channel = request.channel(peer)
    if channel.writers and request.account.id not in channel.writers:
        raise Refusal(403, "CHAT_WRITE_FORBIDDEN")
    replied = getattr(reply_to, "reply_to_msg_id", 0)
    number = top_msg_id or getattr(reply_to, "top_msg_id", None) or replied
    if not channel.forum or not number:
        return channel, 0
    if number == replied and replied in channel.messages:
        number = topic_of(channel.messages[replied])
    topic = channel.topics.get(number)
    if topic is None or topic.deleted:
        raise Refusal(400, "TOPIC_DELETED")
    if topic.closed:
        raise Refusal(400, "TOPIC_CLOSED")
    return channel, number


def _once(request: Request, random_id: int) -> None:
    if not random_id:
        raise Refusal(400, "RANDOM_ID_EMPTY")
    if (request.account.id, random_id) in request.world.sent:
        raise Refusal(500, "RANDOM_ID_DUPLICATE")


def _file(request: Request, media: Any) -> File:
    if isinstance(media, types.InputMediaUploadedDocument | types.InputMediaUploadedPhoto):
        return uploaded_file(request, media)
    if not isinstance(media, types.InputMediaDocument | types.InputMediaPhoto):
        raise Refusal(400, "MEDIA_INVALID")
    file = known_file(request, media.id)
    home = request.world.channels.get(file.home) or request.world.chats.views.get(file.home)
    if home and home.protected and not file.registered:
        raise Refusal(400, "CHAT_FORWARDS_RESTRICTED")
    return file


def _forward_header(source: Channel, original: Message) -> types.MessageFwdHeader:
    """Where a forward comes from: the message's own header when it was one already."""
    if header := original.fields.get("fwd_from"):
        return header
    if source.broadcast:
        author = original.fields.get("post_author")
        origin = types.PeerChannel(source.id)
        return types.MessageFwdHeader(original.date, from_id=origin, channel_post=original.id, post_author=author)
    sender = original.fields.get("from_id") or types.PeerUser(original.sender or SOMEBODY)
    return types.MessageFwdHeader(original.date, from_id=sender)


def _post(
    request: Request, channel: Channel, topic: int, text: str, file: File | None, *, fields: Mapping[str, Any]
) -> Message:
    reply_to = getattr(request.query, "reply_to", None)
    replied = getattr(reply_to, "reply_to_msg_id", 0)
    return request.world.post(
        channel,
        text,
        file=file,
        topic=topic,
        reply_to=0 if replied == topic else replied,
        sender=request.account.id,
        fields=fields,
    )


def _saved(request: Request, file: File | None) -> Answer:
    """A message of the account to itself, on record under its own number."""
    world, viewer, random_id = request.world, request.account, request.query.random_id
    _once(request, random_id)
    if (view := world.chats.view(viewer.id, viewer.id, basic=False)) is not None:
        message = _post(request, view, 0, request.query.message, file, fields={})
        whole = _sent(request, view, [(random_id, message)])
        pts = world.chats.box(viewer.id).pts
        return whole if file else types.UpdateShortSentMessage(message.id, pts, 1, message.date, out=True)
    number = 1 + len(world.sent)
    world.sent[viewer.id, random_id] = number
    part = file.name if file else ""
    world.record.sends.append(Sent(world.clock.now(), viewer.phone, viewer.id, random_id, number, part))
    updates = [types.UpdateMessageID(number, random_id)]
    return types.Updates(updates, tl_shapes.users(world, viewer), [], world.clock.now(), seq=0)


def _sent(request: Request, channel: Channel, sent: list[tuple[int, Message]]) -> Answer:
    """Store each random id with the message it became, and send both back."""
    world, viewer = request.world, request.account
    updates = []
    for random_id, message in sent:
        world.sent[viewer.id, random_id] = message.id
        part = message.file.name if message.file else ""
        world.record.sends.append(
            Sent(world.clock.now(), viewer.phone, channel.id, random_id, message.id, part, message.topic)
        )
        updates.append(types.UpdateMessageID(message.id, random_id))
    log = [one.event for one in world.chats.box(viewer.id).log] if channel.owner else channel.events
    updates += [tl_shapes.update(world, channel, event, viewer) for event in log[-len(sent) :]]
    chats = tl_shapes.chats(world, channel, viewer)
    return types.Updates(updates, tl_shapes.users(world, viewer), chats, world.clock.now(), seq=0)


METHODS: dict[str, Method] = {
    "messages.sendMessage": send_message,
    "messages.sendMedia": send_media,
    "messages.uploadMedia": upload_media,
    "messages.forwardMessages": forward_messages,
}
