"""The topics of a forum: the whole list in pages, or those asked for by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from telethon.tl import types

from tidegate.loopback.faults import FaultKind
from tidegate.loopback.telegram import tl_shapes
from tidegate.loopback.telegram.method_context import Answer, Method, Refusal, Request
from tidegate.loopback.telegram.methods.messages import page_size
from tidegate.loopback.telegram.world.channels import Channel, Topic

Row = tuple[Topic, int]
"""A topic and its newest message."""


def get_forum_topics(request: Request) -> Answer:
    query = request.query
    channel = _forum(request)
    rows = [row for row in _ordered(channel) if not query.q or query.q.casefold() in row[0].title.casefold()]
    page = _after(rows, channel, query)[: page_size(request, query.limit)]
    return _answer(request, channel, page, count=len(rows))


def get_forum_topics_by_id(request: Request) -> Answer:
    channel = _forum(request)
    if len(request.query.topics) > request.world.limits.page:
        raise Refusal(400, "LIMIT_INVALID")
    tops = channel.tops()
    never_was = Topic(0, "", channel.date, deleted=True)
    rows = []
    for number in request.query.topics:
        topic = channel.topics.get(number) or never_was
        rows.append((topic if topic.id else Topic(number, "", channel.date, deleted=True), tops.get(number, number)))
    return _answer(request, channel, rows, count=len(rows))


def _forum(request: Request) -> Channel:
    channel = request.channel(request.query.peer)
    if not channel.forum:
        raise Refusal(400, "CHANNEL_FORUM_MISSING")
    return channel


def _ordered(channel: Channel) -> list[Row]:
    """Pinned topics first, the others by their newest message, or by their own age where the forum is set so."""
    tops = channel.tops()
    rows = [(topic, topic.top if topic.deleted else tops.get(topic.id, topic.id)) for topic in channel.topics.values()]
    rows.sort(key=lambda row: (row[0].pinned, _place(channel, row)), reverse=True)
    return rows


def _place(channel: Channel, row: Row) -> tuple[int, int]:
    topic, top = row
    return (topic.id, topic.id) if channel.by_create_date else (top, topic.id)


def _after(rows: Sequence[Row], channel: Channel, query: Any) -> list[Row]:
    """What follows the offset. The list may have moved since, so an unpinned topic is found by its place."""
    if not query.offset_topic and not query.offset_id:
        return list(rows)
    pinned = [row for row in rows if row[0].pinned]
    rest = [row for row in rows if not row[0].pinned]
    for index, (topic, _) in enumerate(pinned):
        if topic.id == query.offset_topic:
            return pinned[index + 1 :] + rest
    last = query.offset_topic if channel.by_create_date else query.offset_id
    return [row for row in rest if _place(channel, row) < (last, query.offset_topic)]


def _answer(request: Request, channel: Channel, rows: Sequence[Row], *, count: int) -> Answer:
    world, viewer = request.world, request.account
    tops = [top for topic, top in rows if not topic.deleted and top in channel.messages]
    if request.struck(FaultKind.MISSING_ROW):
        tops = tops[:-1]
    return types.messages.ForumTopics(
        count,
        [tl_shapes.topic_row(channel, topic, top) for topic, top in rows],
        tl_shapes.messages(world, channel, tops, viewer),
        [tl_shapes.chat(world, channel, viewer)],
        tl_shapes.users(world, viewer),
        channel.pts,
        order_by_create_date=channel.by_create_date,
    )


METHODS: dict[str, Method] = {
    "messages.getForumTopics": get_forum_topics,
    "messages.getForumTopicsByID": get_forum_topics_by_id,
}
