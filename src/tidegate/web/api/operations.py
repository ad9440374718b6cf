"""What it cost, what happened, and how this process is set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from tidegate.shapes.calls import CallsRow, calls_rows
from tidegate.shapes.instants import Instant
from tidegate.shapes.settings import SettingRow, setting_rows
from tidegate.store import feed
from tidegate.store.calls import By
from tidegate.web.api.access import Admin, AsSet, InDatabase, ReaderOfAll
from tidegate.web.api.asking import Limit, Text, answer_all, refusals

operations = APIRouter(tags=["operations"])


@operations.get("/calls", response_model=list[CallsRow], responses=refusals())
async def calls(database: InDatabase, _: ReaderOfAll, by: By | None = None) -> Response:
    """How many platform calls were made and how many of them failed: what ``tidegate calls --json`` prints."""
    async with database.connection() as connection:
        return answer_all(await calls_rows(connection, by))


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """Something that happened to *subject*; *cursor* is its place, after which a reader goes on."""

    cursor: str
    at: Instant
    kind: str
    subject: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events, oldest first. *next* goes on after them, also when there are none yet."""

    events: list[FeedEvent]
    next: str


class FeedAsked(BaseModel):
    """From where on, and how much. Without *after* it begins with the oldest event; ``now`` leaves out the past."""

    after: Text | None = None
    limit: Limit = 100


@operations.get("/feed", response_model=FeedPage, responses=refusals())
async def happened(database: InDatabase, _: ReaderOfAll, asked: Annotated[FeedAsked, Query()]) -> Response:
    """What happened after a cursor. An event is told once every transaction that began before it has ended."""
    async with database.connection() as connection:
        if asked.after == "now":
            return JSONResponse({"events": [], "next": str(await feed.latest(connection))})
        after = feed.START if asked.after is None else feed.Cursor.parse(asked.after)
        events = await feed.read(connection, after, asked.limit)
    return JSONResponse(
        {"events": [event.as_json() for event in events], "next": str(events[-1].cursor if events else after)}
    )


@operations.get("/settings", response_model=list[SettingRow], responses=refusals())
async def settings(_: Admin, loaded: AsSet) -> Response:
    """Every setting of the process that answers, and where its value came from; of a secret only that it is set."""
    return answer_all(setting_rows(loaded))
