"""The stream of live updates (server-sent events) that every open page reads."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from tidegate.core.ids import ChannelKey
from tidegate.events.queries.feed import FeedCursor
from tidegate.web.api.parameters import BIGGEST
from tidegate.web.auth.page_session import GuardedRouter, SignedIn
from tidegate.web.live.event_stream import EventStream

pages = GuardedRouter()


@pages.get("/events")
async def events(
    request: Request,
    visitor: SignedIn,
    after: str | None = None,
    chat: Annotated[ChannelKey | None, Query(ge=1, le=BIGGEST)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """From where the browser was (``Last-Event-ID``), or from where its page was made (*after*), or from now.

    A page of a channel's messages (*chat*) also hears which of them changed.
    """
    place = last_event_id or after
    feed: EventStream = request.app.state.event_stream
    stream = feed.stream(visitor.secret, after=FeedCursor.parse(place) if place else None, chat=chat)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
