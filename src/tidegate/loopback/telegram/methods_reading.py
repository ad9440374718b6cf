"""Reading messages: history, search, by id, and the difference since a count the client remembers."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from telethon.tl import TLObject, types

from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram import shapes
from tidegate.loopback.telegram.asking import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.channels import Channel, Event, EventKind, Message, topic_of
from tidegate.loopback.telegram.content import FileKind

_LAG = 60.0
_NEWEST_IN_TOO_LONG = 20

_FILTERS: dict[type, frozenset[FileKind]] = {
    types.InputMessagesFilterDocument: frozenset({FileKind.DOCUMENT}),
    types.InputMessagesFilterPhotos: frozenset({FileKind.PHOTO}),
    types.InputMessagesFilterVideo: frozenset({FileKind.VIDEO}),
    types.InputMessagesFilterPhotoVideo: frozenset({FileKind.PHOTO, FileKind.VIDEO}),
    types.InputMessagesFilterMusic: frozenset({FileKind.AUDIO}),
}


def search(request: Request) -> Answer:
    query = request.query
    channel = request.channel(query.peer)
    if type(query.filter) not in (*_FILTERS, types.InputMessagesFilterEmpty):
        raise Refusal(400, "INPUT_FILTER_INVALID")
    kinds = _FILTERS.get(type(query.filter))
    indexed_until = _indexed_until(request)
    since, until = _instant(query.min_date), _instant(query.max_date)

    def fits(message: Message) -> bool:
        return (
            (kinds is None or (message.file is not None and message.file.kind in kinds))
            and (not query.q or _holds(message, query.q))
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
    numbers = [getattr(asked, "id", 0) for asked in request.query.id]
    if request.struck(FaultKind.MISSING_ROW):
        numbers = numbers[1:]
    return _channel_messages(request, channel, numbers, count=len(numbers))


def get_channel_difference(request: Request) -> Answer:
    """What happened since the asker's pts, at most a page of it; too long when the log does not reach back so far."""
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
    """How many rows a page has; the client's limit is only a wish."""
    size = max(1, min(wanted, request.world.limits.page))
    return max(1, size * 37 // 100) if request.struck(FaultKind.SHORT_PAGE) else size


def _difference(request: Request, channel: Channel, events: Sequence[Event]) -> Answer:
    world, viewer = request.world, request.account
    page = events[: page_size(request, request.query.limit)]
    unheard = {number for event in events if event.kind is EventKind.NEW for number in event.messages}
    new, other = [], []
    for event in page:
        if event.kind is EventKind.DELETED and unheard.issuperset(event.messages):
            continue  # came and went since the asker last heard: it is told of neither
        update = shapes.update(world, channel, event, viewer)
        if update is not None and event.kind is EventKind.NEW:
            new.append(update.message)
        elif update is not None:
            other.append(update)
    return types.updates.ChannelDifference(
        page[-1].pts,
        new,
        other,
        [shapes.chat(world, channel, viewer)],
        shapes.users(world, viewer),
        final=len(page) == len(events),
        timeout=30,
    )


def _too_long(request: Request, channel: Channel) -> Answer:
    world, viewer = request.world, request.account
    newest = list(channel.messages)[: -_NEWEST_IN_TOO_LONG - 1 : -1]
    return types.updates.ChannelDifferenceTooLong(
        shapes.dialog(channel, pts=channel.pts, top=channel.top),
        shapes.messages(world, channel, newest, viewer),
        [shapes.chat(world, channel, viewer)],
        shapes.users(world, viewer),
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
    return _channel_messages(request, channel, page, count=len(fitting))


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
    return types.messages.ChannelMessages(
        channel.pts,
        count,
        shapes.messages(world, channel, numbers, viewer),
        _short_topics(channel, numbers),
        [shapes.chat(world, channel, viewer)],
        shapes.users(world, viewer),
    )


def _short_topics(channel: Channel, numbers: Sequence[int]) -> list[TLObject]:
    """The topics of a page's messages, in the short form that tells no newest message."""
    if not channel.forum:
        return []
    found = {topic_of(channel.messages[number]) for number in numbers if number in channel.messages}
    return [
        shapes.topic_row(channel, channel.topics[number], 0, short=True)
        for number in sorted(found)
        if number in channel.topics
    ]


def _indexed_until(request: Request) -> datetime:
    now = request.world.clock.now()
    fault = request.struck(FaultKind.SEARCH_LAG)
    return now - timedelta(seconds=fault.seconds or _LAG) if fault else now + timedelta(days=1)


def _holds(message: Message, words: str) -> bool:
    text = f"{message.text} {message.file.name if message.file else ''}".casefold()
    return words.casefold() in text


def _instant(moment: datetime | None) -> float:
    """A moment of a request as seconds; what was left out travels as the year 1970 and is 0 here."""
    return moment.timestamp() if moment else 0.0


METHODS: dict[str, Method] = {
    "messages.search": search,
    "messages.getHistory": get_history,
    "messages.getReplies": get_replies,
    "channels.getMessages": get_messages,
    "updates.getChannelDifference": get_channel_difference,
}
