"""The topics of a forum, or the threads of a channel, by name."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.app.policies import policy_of
from tidegate.channels.queries import channel_list, channels
from tidegate.channels.queries.channel_list import ListPosition
from tidegate.core.ids import TopicId
from tidegate.history.channel_documents import channels_listed, topic_row
from tidegate.web.api.parameters import BIGGEST
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import page
from tidegate.web.pages.library.channel_head import Key, opened_channel
from tidegate.web.pages.library.channels import channel_views, pictures_of

_TOPICS = 100
_THREADS = 50

pages = GuardedRouter("/channels/{key}/topics")


class ChannelTopicsQuery(BaseModel):
    """Where a page begins: after a topic, or at a place among the threads."""

    after: Annotated[TopicId, Query(ge=0, le=BIGGEST)] = channels.NO_TOPIC
    cursor: Annotated[str, Query(max_length=4_000)] | None = None


@pages.get("")
async def show(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    key: Key,
    asked: Annotated[ChannelTopicsQuery, Query()],
) -> Response:
    """One page of topics or threads."""
    async with opened_channel(database, loaded, key) as (connection, kept, head):
        topics = await channel_list.topics_by_title(connection, key, after=asked.after, most=_TOPICS + 1)
        place = None if asked.cursor is None else ListPosition.parse(asked.cursor)
        threads = await channel_list.threads(connection, kept, after=place, most=_THREADS)
        policy = policy_of(loaded.settings)
        rows = await channels_listed(connection, threads.lines, policy.scans, policy.retries)
        pictures = await pictures_of(connection, threads.lines)
    return page(
        request, "channel_topics.html", head=head, kept=kept, key=key, here_from=asked.after or asked.cursor,
        topics=[topic_row(topic) for topic in topics[:_TOPICS]],
        more_topics=topics[_TOPICS - 1]["topic"] if len(topics) > _TOPICS else None,
        threads=channel_views(threads.lines, rows, pictures), more_threads=threads.next,
    )  # fmt: skip
