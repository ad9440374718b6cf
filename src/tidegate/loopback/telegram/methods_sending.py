"""Sending: text, files uploaded, kept or copied, and forwards; each random id counts once."""

from __future__ import annotations

from typing import Any

from telethon.tl import types

from tidegate.loopback.telegram import shapes
from tidegate.loopback.telegram.asking import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.channels import Channel, Message, topic_of
from tidegate.loopback.telegram.content import File
from tidegate.loopback.telegram.methods_files import known_file, uploaded_file
from tidegate.loopback.telegram.record import Sent

_LONGEST_TEXT, _LONGEST_CAPTION = 4096, 1024


def send_message(request: Request) -> Answer:
    query = request.query
    channel, topic = _target(request, query.peer, query.reply_to)
    if not query.message:
        raise Refusal(400, "MESSAGE_EMPTY")
    if len(query.message) > _LONGEST_TEXT:
        raise Refusal(400, "MESSAGE_TOO_LONG")
    _once(request, query.random_id)
    message = _post(request, channel, topic, query.message, None)
    return _sent(request, channel, [(query.random_id, message)])


def send_media(request: Request) -> Answer:
    query = request.query
    channel, topic = _target(request, query.peer, query.reply_to)
    if len(query.message) > _LONGEST_CAPTION:
        raise Refusal(400, "MEDIA_CAPTION_TOO_LONG")
    _once(request, query.random_id)
    file = _file(request, query.media)
    message = _post(request, channel, topic, query.message, file)
    return _sent(request, channel, [(query.random_id, message)])


def upload_media(request: Request) -> Answer:
    """Make a file of uploaded parts that can be posted from now on, in any channel and as often as wanted."""
    if not isinstance(request.query.peer, types.InputPeerSelf):
        request.channel(request.query.peer)
    file = _file(request, request.query.media)
    file.registered = True
    return shapes.media(request.world, file, request.world.clock.now(), request.account)


def forward_messages(request: Request) -> Answer:
    query = request.query
    source = request.channel(query.from_peer)
    channel, topic = _target(request, query.to_peer, query.reply_to, query.top_msg_id)
    if source.protected:
        raise Refusal(400, "CHAT_FORWARDS_RESTRICTED")
    originals = [source.messages.get(number) for number in query.id]
    if any(original is None or original.action for original in originals):
        raise Refusal(400, "MESSAGE_ID_INVALID")
    for random_id in query.random_id:
        _once(request, random_id)
    sent = []
    for random_id, original in zip(query.random_id, originals, strict=True):
        assert original is not None
        sent.append((random_id, _post(request, channel, topic, original.text, original.file)))
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
    home = request.world.channels.get(file.home)
    if home and home.protected and not file.registered:
        raise Refusal(400, "CHAT_FORWARDS_RESTRICTED")
    return file


def _post(request: Request, channel: Channel, topic: int, text: str, file: File | None) -> Message:
    reply_to = getattr(request.query, "reply_to", None)
    replied = getattr(reply_to, "reply_to_msg_id", 0)
    return request.world.post(
        channel,
        text,
        file=file,
        topic=topic,
        reply_to=0 if replied == topic else replied,
        sender=request.account.id,
    )


def _sent(request: Request, channel: Channel, sent: list[tuple[int, Message]]) -> Answer:
    """Remember each random id with what it became, and tell the sender."""
    world, viewer = request.world, request.account
    updates = []
    for random_id, message in sent:
        world.sent[viewer.id, random_id] = message.id
        part = message.file.name if message.file else ""
        world.record.sends.append(
            Sent(world.clock.now(), viewer.phone, channel.id, message.topic, random_id, message.id, part)
        )
        updates.append(types.UpdateMessageID(message.id, random_id))
    updates += [shapes.update(world, channel, event, viewer) for event in channel.events[-len(sent) :]]
    chats = [shapes.chat(world, channel, viewer)]
    return types.Updates(updates, shapes.users(world, viewer), chats, world.clock.now(), seq=0)


METHODS: dict[str, Method] = {
    "messages.sendMessage": send_message,
    "messages.sendMedia": send_media,
    "messages.uploadMedia": upload_media,
    "messages.forwardMessages": forward_messages,
}
