"""Counts of messages that no difference has: views, reactions, votes; and the custom emoji that reactions name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.world.channels import Channel, Message


def get_messages_views(request: Request) -> Answer:
    """Views, forwards and replies, a row for each id asked for; empty for a message that is gone."""
    channel, found = _messages(request)
    rows = [_views(message, increment=request.query.increment) for message in found]
    world, viewer = request.world, request.account
    return types.messages.MessageViews(rows, tl_shapes.chats(world, channel, viewer), tl_shapes.users(world, viewer))


def get_messages_reactions(request: Request) -> Answer:
    """The reactions of these messages; nothing is said of one that is gone."""
    channel, found = _messages(request)
    return _updates(request, channel, [tl_shapes.reactions_update(channel, message) for message in found if message])


def get_poll_results(request: Request) -> Answer:
    channel = request.channel(request.query.peer)
    message = channel.messages.get(request.query.msg_id)
    update = tl_shapes.poll_update(channel, message) if message else None
    if update is None:
        raise Refusal(400, "MESSAGE_ID_INVALID")
    return _updates(request, channel, [update])


def get_custom_emoji_documents(request: Request) -> Answer:
    """The documents of custom emoji; one that does not exist is left out."""
    wanted = request.query.document_id
    if len(wanted) > request.world.limits.emoji:
        raise Refusal(400, "LIMIT_INVALID")
    files = (request.world.files.get(number) for number in wanted)
    known = {str(file.id): file.document for file in files if file and file.document}
    return list(tl_shapes.personal(request.world, known, request.account).values())


def _messages(request: Request) -> tuple[Channel, list[Message | None]]:
    channel = request.channel(request.query.peer)
    if len(request.query.id) > request.world.limits.page:
        raise Refusal(400, "LIMIT_INVALID")
    return channel, [channel.messages.get(number) for number in request.query.id]


def _views(message: Message | None, *, increment: bool) -> types.MessageViews:
    if message is None:
        return types.MessageViews()
    if increment and "views" in message.fields:
        message.fields["views"] += 1
    held: dict[str, Any] = {name: message.fields.get(name) for name in ("views", "forwards", "replies")}
    return types.MessageViews(**held)


def _updates(request: Request, channel: Channel, updates: Sequence[TLObject]) -> Answer:
    world, viewer = request.world, request.account
    chats, users = tl_shapes.chats(world, channel, viewer), tl_shapes.users(world, viewer)
    return types.Updates(list(updates), users, chats, world.clock.now(), seq=0)


METHODS: dict[str, Method] = {
    "messages.getMessagesViews": get_messages_views,
    "messages.getMessagesReactions": get_messages_reactions,
    "messages.getPollResults": get_poll_results,
    "messages.getCustomEmojiDocuments": get_custom_emoji_documents,
}
