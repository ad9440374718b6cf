"""Reading messages: history, search, by id, and the difference since a pts that the client stored."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from telethon.tl import TLObject, types

from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.world.channels import Channel, Event, EventKind, Message, topic_of
from tidegate.loopback.telegram.world.content.search_filters import FILTERS, holds_words

_Row = TypeVar("_Row")

_LAG = 60.0
_NEWEST_IN_TOO_LONG = 20


def search(request: Request) -> Answer:
    query = request.query
    channel = request.channel(query.peer)
    passes = FILTERS.get(type(query.filter))
    if passes is None:
        raise Refusal(400, "INPUT_FILTER_INVALID")
    indexed_until = _indexed_until(request)
    since, until = _instant(query.min_date), _instant(query.max_date)

    def fits(message: Message) -> bool:
        return (
            passes(message)
            and (not query.q or holds_words(message, query.q))
            and (not query.top_msg_id or topic_of(message) == query.top_msg_id)
            and message.date <= indexed_until
            and (not since or message.date.timestamp() >= since)
            and (not until or message.date.timestamp() <= until)
        )

    return _page(request, channel, fits)


def get_history(request: Request) -> Answer:
    return _page(request, request.channel(request.query.peer), lambda _message: True)


def get_replies(request: Request) -> Answer:
    """A topic's messages, or a thread's, without the message that began it."""
    root = request.query.msg_id
    return _page(
        request,
        request.channel(request.query.peer),
        lambda message: message.id != root and root in (topic_of(message), message.reply_to),
    )


def get_messages(request: Request) -> Answer:
    channel = request.channel(request.query.channel)
    if len(request.query.id) > request.world.limits.page:
        raise Refusal(400, "LIMIT_INVALID")
    numbers = [_number(channel, asked) for asked in request.query.id]
    if request.struck(FaultKind.MISSING_ROW):
        numbers = numbers[1:]
    return _channel_messages(request, channel, numbers, count=len(numbers))


def get_own_messages(request: Request) -> Answer:
    """Messages of private chats and small groups by their numbers, which are the account's own."""
    world, viewer = request.world, request.account
    if len(request.query.id) > world.limits.page:
        raise Refusal(400, "LIMIT_INVALID")
    views = world.chats.of(viewer.id)
    shown: list[TLObject] = []
    for number in (int(getattr(asked, "id", 0)) for asked in request.query.id):
        holder = next((view for view in views if number in view.messages), None)
        shown += tl_shapes.messages(world, holder, [number], viewer) if holder else [types.MessageEmpty(number, None)]
    chats = [one for view in views if view.basic for one in tl_shapes.chats(world, view, viewer)]
    return types.messages.Messages(shown, [], chats, tl_shapes.users(world, viewer))


def get_difference(request: Request) -> Answer:
    """The changes of the account's box since the client's pts, at most a page."""
    world, viewer, query = request.world, request.account, request.query
    box = world.chats.box(viewer.id)
    if query.pts <= 0:
        raise Refusal(400, "PERSISTENT_TIMESTAMP_EMPTY")
    if request.struck(FaultKind.TOO_LONG) or query.pts < box.oldest_pts:
        return types.updates.DifferenceTooLong(box.pts)
    log = box.log[bisect.bisect_right(box.log, query.pts, key=lambda one: one.event.pts) :]
    if not log:
        return types.updates.DifferenceEmpty(world.clock.now(), seq=1)
    page = log[: page_size(request, query.pts_limit or world.limits.page)]
    unheard = {number for one in log if one.event.kind is EventKind.NEW for number in one.event.messages}
    new: list[TLObject] = []
    other: list[TLObject] = []
    for one in page:
        if one.event.kind is EventKind.DELETED and unheard.issuperset(one.event.messages):
            continue  # posted and deleted since the client's pts: the answer has neither
        update = tl_shapes.update(world, world.chats.views[one.chat], one.event, viewer)
        if update is not None and one.event.kind is EventKind.NEW:
            new.append(update.message)
        elif update is not None:
            other.append(update)
    chats = [one for view in world.chats.of(viewer.id) if view.basic for one in tl_shapes.chats(world, view, viewer)]
    at = types.updates.State(page[-1].event.pts, qts=1, date=world.clock.now(), seq=1, unread_count=0)
    kind = types.updates.Difference if len(page) == len(log) else types.updates.DifferenceSlice
    return kind(_struck_out(request, new), [], other, chats, tl_shapes.users(world, viewer), at)


def get_channel_difference(request: Request) -> Answer:
    """The changes since the client's pts, at most a page; "too long" when the log does not reach back that far."""
    channel, pts = request.channel(request.query.channel), request.query.pts
    if pts <= 0:
        raise Refusal(400, "PERSISTENT_TIMESTAMP_EMPTY")
    if pts > channel.pts:
        raise Refusal(400, "PERSISTENT_TIMESTAMP_INVALID")
    if request.struck(FaultKind.TOO_LONG) or pts < channel.oldest_pts:
        return _too_long(request, channel)
    events = channel.events[bisect.bisect_right(channel.events, pts, key=lambda event: event.pts) :]
    if not events:
        return types.updates.ChannelDifferenceEmpty(channel.pts, final=True, timeout=30)
    return _difference(request, channel, events)


def page_size(request: Request, wanted: int) -> int:
    """How many rows a page has; the client's limit is only an upper bound."""
    size = max(1, min(wanted, request.world.limits.page))
    return max(1, size * 37 // 100) if request.struck(FaultKind.SHORT_PAGE) else size


def _number(channel: Channel, asked: Any) -> int:
    """The message a request names: by its id, or by that of an answer to it; 0 is a message that is not there."""
    number = int(getattr(asked, "id", 0))
    if not isinstance(asked, types.InputMessageReplyTo):
        return number
    header = tl_shapes.reply_header(channel.messages[number]) if number in channel.messages else None
    return header.reply_to_msg_id or 0 if header else 0


def _difference(request: Request, channel: Channel, events: Sequence[Event]) -> Answer:
    world, viewer = request.world, request.account
    page = events[: page_size(request, request.query.limit)]
    unheard = {number for event in events if event.kind is EventKind.NEW for number in event.messages}
    new: list[TLObject] = []
    other: list[TLObject] = []
    for event in page:
        if event.kind is EventKind.DELETED and unheard.issuperset(event.messages):
            continue  # posted and deleted since the client's pts: the answer has neither
        update = tl_shapes.update(world, channel, event, viewer)
        if update is not None and event.kind is EventKind.NEW:
            new.append(update.message)
        elif update is not None and event.kind is not EventKind.WEB_PAGE:
            other.append(update)
    shown = new + [update.message for update in other if hasattr(update, "message")]
    return types.updates.ChannelDifference(
        page[-1].pts,
        _struck_out(request, new),
        other,
        tl_shapes.chats(world, channel, viewer, shown),
        tl_shapes.users(world, viewer),
        final=len(page) == len(events),
        timeout=30,
    )


def _too_long(request: Request, channel: Channel) -> Answer:
    world, viewer = request.world, request.account
    newest = list(channel.messages)[: -_NEWEST_IN_TOO_LONG - 1 : -1]
    shown = tl_shapes.messages(world, channel, newest, viewer)
    return types.updates.ChannelDifferenceTooLong(
        tl_shapes.dialog(channel, pts=channel.pts, top=channel.top),
        shown,
        tl_shapes.chats(world, channel, viewer, shown),
        tl_shapes.users(world, viewer),
        final=True,
    )


def _page(request: Request, channel: Channel, fits: Callable[[Message], bool]) -> Answer:
    """A page of the fitting messages, newest first. Bounds and offset are exclusive, as the platform has them."""
    query = request.query
    fitting: list[int] = []
    for number in reversed(channel.messages):
        if number <= query.min_id:
            break
        if (not query.max_id or number < query.max_id) and fits(channel.messages[number]):
            fitting.append(number)
    start = _offset(fitting, channel, query) + query.add_offset
    page = fitting[max(0, start) : max(0, start + page_size(request, query.limit))]
    return _channel_messages(request, channel, _struck_out(request, page), count=len(fitting))


def _struck_out(request: Request, rows: list[_Row]) -> list[_Row]:
    """The rows of an answer; under a fault the middle one is missing."""
    middle = len(rows) // 2
    return rows[:middle] + rows[middle + 1 :] if request.struck(FaultKind.MISSING_ROW) else rows


def _offset(fitting: Sequence[int], channel: Channel, query: Any) -> int:
    """How many of the fitting messages lie before the offset."""
    if query.offset_id:
        return bisect.bisect_right(fitting, -query.offset_id, key=lambda number: -number)
    date = _instant(getattr(query, "offset_date", None))
    if not date:
        return 0
    return sum(1 for number in fitting if channel.messages[number].date.timestamp() >= date)


def _channel_messages(request: Request, channel: Channel, numbers: Sequence[int], *, count: int) -> Answer:
    world, viewer = request.world, request.account
    shown = tl_shapes.messages(world, channel, numbers, viewer)
    if channel.owner:
        others = (tl_shapes.chats(world, channel, viewer, shown), tl_shapes.users(world, viewer))
        if len(numbers) == count:
            return types.messages.Messages(shown, [], *others)
        return types.messages.MessagesSlice(count, shown, [], *others)
    return types.messages.ChannelMessages(
        channel.pts,
        count,
        shown,
        _short_topics(channel, numbers),
        tl_shapes.chats(world, channel, viewer, shown),
        tl_shapes.users(world, viewer),
    )


def _short_topics(channel: Channel, numbers: Sequence[int]) -> list[TLObject]:
    """The topics of a page's messages, in the short form without the newest message."""
    if not channel.forum:
        return []
    found = {topic_of(channel.messages[number]) for number in numbers if number in channel.messages}
    return [
        tl_shapes.topic_row(channel, channel.topics[number], 0, short=True)
        for number in sorted(found)
        if number in channel.topics
    ]


def _indexed_until(request: Request) -> datetime:
    now = request.world.clock.now()
    fault = request.struck(FaultKind.SEARCH_LAG)
    return now - timedelta(seconds=fault.seconds or _LAG) if fault else now + timedelta(days=1)


def _instant(moment: datetime | None) -> float:
    """A moment of a request as seconds; what was left out travels as the year 1970 and is 0 here."""
    return moment.timestamp() if moment else 0.0


METHODS: dict[str, Method] = {
    "messages.search": search,
    "messages.getHistory": get_history,
    "messages.getReplies": get_replies,
    "channels.getMessages": get_messages,
    "messages.getMessages": get_own_messages,
    "updates.getDifference": get_difference,
    "updates.getChannelDifference": get_channel_difference,
}
