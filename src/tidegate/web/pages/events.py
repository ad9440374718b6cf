"""The stream of news that every open page listens to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse

from tidegate.store.feed import Cursor
from tidegate.web.guard import SignedIn
from tidegate.web.news import News

pages = APIRouter()


@pages.get("/events")
async def events(
    request: Request, visitor: SignedIn, after: str | None = None, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """From where the browser was (``Last-Event-ID``), or from where its page was made (*after*), or from now."""
    place = last_event_id or after
    news: News = request.app.state.news
    stream = news.stream(visitor.secret, after=Cursor.parse(place) if place else None)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
