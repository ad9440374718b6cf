"""The stream of live updates (server-sent events) that every open page reads."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import StreamingResponse

from tidegate.events.queries.feed import FeedCursor
from tidegate.web.auth.page_session import SignedIn
from tidegate.web.live.event_stream import EventStream
from tidegate.web.server.request_bodies import Router

pages = Router()


@pages.get("/events")
async def events(
    request: Request, visitor: SignedIn, after: str | None = None, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """From where the browser was (``Last-Event-ID``), or from where its page was made (*after*), or from now."""
    place = last_event_id or after
    feed: EventStream = request.app.state.event_stream
    stream = feed.stream(visitor.secret, after=FeedCursor.parse(place) if place else None)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
