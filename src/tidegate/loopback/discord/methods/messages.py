"""Reading messages: pages before, after and around an id, and one by its id."""

from __future__ import annotations

from tidegate.loopback.discord import message_shapes
from tidegate.loopback.discord.method_context import Answer, Method, Refusal, Request, invalid, limit_in, snowflake_in
from tidegate.loopback.discord.world.history import History, Message
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import Channel, ChannelKind
from tidegate.loopback.faults import FaultKind

SHORT = 37
"""How many rows a page has when the fault ``short_page`` applies."""


def list_messages(request: Request) -> Answer:
    """A page, newest first in every mode. A bot that may not read history gets an empty page, not a refusal."""
    channel = request.text_channel()
    granted = request.world.may(request.bot.id, channel)
    if channel.kind in (ChannelKind.VOICE, ChannelKind.STAGE) and Permission.CONNECT not in granted:
        raise Refusal(403, 50001, "Missing Access")
    limit = limit_in(request, usual=50, most=100)
    bounds = _bounds(request)
    if Permission.READ_MESSAGE_HISTORY not in granted:
        return []
    page = _page(channel.history, bounds, limit)
    if request.struck(FaultKind.SHORT_PAGE):
        page = page[:SHORT]
    if request.struck(FaultKind.MISSING_ROW):
        del page[len(page) // 2 : len(page) // 2 + 1]
    return [shape(request, channel, message) for message in page]


def one_message(request: Request) -> Answer:
    channel = request.text_channel()
    if Permission.READ_MESSAGE_HISTORY not in request.world.may(request.bot.id, channel):
        raise Refusal(403, 50001, "Missing Access")
    return shape(request, channel, request.message(channel))


def shape(request: Request, channel: Channel, message: Message) -> dict[str, object]:
    """A message as the calling bot may see it."""
    world, content = request.world, request.reads_content
    return message_shapes.message(world, channel, message, request.bot, request.at, content=content)


def _bounds(request: Request) -> tuple[str, int]:
    given = [name for name in ("before", "after", "around") if name in request.query]
    if len(given) > 1:
        raise invalid(given[1], "BASE_TYPE_BAD", "Only one of before, after and around may be given.")
    if not given:
        return "newest", 0
    return given[0], snowflake_in(request.query[given[0]], given[0])


def _page(history: History, bounds: tuple[str, int], limit: int) -> list[Message]:
    match bounds:
        case "after", bound:
            return history.after(bound, limit)
        case "around", bound:
            return history.around(bound, limit)
        case "before", bound if bound:
            return history.before(bound, limit)
        case _:  # no bound; a bound of 0 counts as none
            return history.before(None, limit)


METHODS: dict[str, Method] = {
    "GET /channels/{channel.id}/messages": list_messages,
    "GET /channels/{channel.id}/messages/{message.id}": one_message,
}
