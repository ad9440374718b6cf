"""Pinned messages: pages of them, the older list without pages, pinning and unpinning."""

from __future__ import annotations

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.method_context import Answer, Method, Refusal, Request, limit_in, moment_in
from tidegate.loopback.discord.methods.messages import shape
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.messages import pins
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import Channel

_PAGE = 50


def list_pins(request: Request) -> Answer:
    """A page, the last pinned first; its bound is a moment. Without the right to read history there are none."""
    channel = request.text_channel()
    limit = limit_in(request, usual=_PAGE, most=_PAGE)
    before = moment_in(request, "before")
    held = [(at, one) for one in _readable(request, channel) if (at := one.pinned_at) and (not before or at < before)]
    items = [{"pinned_at": at.isoformat(), "message": shape(request, channel, one)} for at, one in held[:limit]]
    return {"items": items, "has_more": len(held) > limit}


def list_all_pins(request: Request) -> Answer:
    """The older list, which Discord still answers: at most fifty messages, without the times they were pinned at."""
    channel = request.text_channel()
    return [shape(request, channel, one) for one in _readable(request, channel)[:_PAGE]]


def pin(request: Request) -> Answer:
    channel = request.text_channel(Permission.READ_MESSAGE_HISTORY, Permission.PIN_MESSAGES)
    try:
        pins.pin(request.world, channel, request.message(channel).id, request.bot.id)
    except BadInput as problem:
        raise Refusal(400, 30003, f"Maximum number of pins reached ({pins.MOST_PINS})") from problem
    return None


def unpin(request: Request) -> Answer:
    channel = request.text_channel(Permission.READ_MESSAGE_HISTORY, Permission.PIN_MESSAGES)
    pins.unpin(request.world, channel, request.message(channel).id)
    return None


def _readable(request: Request, channel: Channel) -> list[Message]:
    granted = request.world.may(request.bot.id, channel)
    return pins.pinned(channel) if Permission.READ_MESSAGE_HISTORY in granted else []


METHODS: dict[str, Method] = {
    "GET /channels/{channel.id}/messages/pins": list_pins,
    "PUT /channels/{channel.id}/messages/pins/{message.id}": pin,
    "DELETE /channels/{channel.id}/messages/pins/{message.id}": unpin,
    "GET /channels/{channel.id}/pins": list_all_pins,
    "PUT /channels/{channel.id}/pins/{message.id}": pin,
    "DELETE /channels/{channel.id}/pins/{message.id}": unpin,
}
