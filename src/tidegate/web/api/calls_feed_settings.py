"""Platform calls, the feed of events, and the settings of this process, over the API."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.app.settings_document import SettingRow, setting_rows
from tidegate.core.json_fields import Instant
from tidegate.events.queries import feed
from tidegate.lanes.documents import CallsRow, calls_rows
from tidegate.lanes.queries.calls import CallGrouping
from tidegate.web.api.parameters import Limit, RowsQuery, Text
from tidegate.web.api.responses import answer, answer_all, refusals
from tidegate.web.auth.token_check import Admin, AsSet, InDatabase, ReaderOfAll, holder
from tidegate.web.server.heavy_request_limit import Heavy
from tidegate.web.server.request_bodies import ApiRouter

operations = ApiRouter(tags=["operations"])


class CallsQuery(RowsQuery):
    """How calls are grouped, and which rows."""

    by: CallGrouping | None = None


@operations.get("/calls", response_model=list[CallsRow], responses=refusals(HTTPStatus.TOO_MANY_REQUESTS))
async def calls(
    database: InDatabase, reader: ReaderOfAll, heavy: Heavy, asked: Annotated[CallsQuery, Query()]
) -> Response:
    """How many platform calls were made and how many of them failed: what ``tidegate calls --json`` prints."""
    heavy.begin(holder(reader))
    async with database.connection() as connection:
        return answer_all(await calls_rows(connection, asked.by, skip=asked.skip, most=asked.limit))


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """Something that happened to *subject*; a reader continues after its *cursor*."""

    cursor: str
    at: Instant
    kind: str
    subject: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events, oldest first. *next* is the cursor to continue after, also when there are none yet."""

    events: list[FeedEvent]
    next: str


class FeedQuery(BaseModel):
    """Where to start, and how many events. Without *after* it starts at the oldest; ``now`` skips past events."""

    after: Text | None = None
    limit: Limit = 100


@operations.get("/feed", response_model=FeedPage, responses=refusals())
async def happened(database: InDatabase, _: ReaderOfAll, asked: Annotated[FeedQuery, Query()]) -> Response:
    """What happened after a cursor. An event is visible once every transaction that began before it has ended.

    Events about private chats are left out: they are outside all channels.
    """
    async with database.connection() as connection:
        if asked.after == "now":
            return answer({"events": [], "next": str(await feed.latest(connection))})
        after = feed.START if asked.after is None else feed.FeedCursor.parse(asked.after)
        newest = await feed.latest(connection)  # before the events are read: what is newer may not be among them
        events = await feed.read(connection, after, asked.limit, private=False)
    following = events[-1].cursor if events else after
    if len(events) < asked.limit:  # what is left up to the newest is about private chats
        following = max(following, newest)
    return answer({"events": [event.as_json() for event in events], "next": str(following)})


@operations.get("/settings", response_model=list[SettingRow], responses=refusals())
async def settings(_: Admin, loaded: AsSet) -> Response:
    """Every setting of this process with its source; secrets are hidden."""
    return answer_all(setting_rows(loaded))
