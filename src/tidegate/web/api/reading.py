"""Search and context, for bots: what their channels hold, in one request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, Field

from tidegate.port import MessageId
from tidegate.rules.querying import read_query
from tidegate.shapes.instants import Instant
from tidegate.store.context import MOST, Bounds, read
from tidegate.store.search import Order, search
from tidegate.web.api.access import InDatabase, Reader, channel_for
from tidegate.web.api.asking import BIGGEST, Answers, ChannelNamed, Number, Text, days_of, refusals, zone_of

reading = APIRouter(tags=["messages"])


class Shape(StrEnum):
    """How a context is told: as a document, or as the lines that a bot reads."""

    JSON = "json"
    TEXT = "text"


class ContextAsked(BaseModel):
    """How much of a channel is wanted, and in which shape."""

    limit: int = Field(100, ge=1, le=MOST)
    chars: Annotated[int, Field(ge=1, le=BIGGEST)] | None = None
    before: Number | None = None
    deleted: bool = False
    format: Shape = Shape.JSON
    zone: Text = "UTC"

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.limit, self.chars, None if self.before is None else MessageId(self.before), self.deleted)


class SearchAsked(BaseModel):
    """What is looked for, what comes first, and how many of it; days are those of *zone*."""

    q: Text
    by: Order = Order.NEWEST
    limit: int = Field(50, ge=1, le=1_000)
    zone: Text = "UTC"


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A message, or a file inside an archive: then *archive*, *archive_name* and *size* are there too."""

    kind: str
    channel: int
    title: str
    topic: int | None
    id: int
    at: Instant
    author: str
    author_id: int | None
    text: str
    files: list[str]
    archive: int | None = None
    archive_name: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Finds:
    """What was found. *weighed* is among how many of the newest matches relevance was weighed, if not among all."""

    query: str
    results: list[FoundRow]
    more: bool
    weighed: int | None


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """A message as a bot reads it. Of a deleted one *text* is null, unless it was asked for."""

    id: int
    at: Instant
    author: str
    author_id: int | None
    text: str | None
    files: list[str]
    service: str
    topic: int | None
    reply_to: int | None
    reactions: dict[str, int]
    edited_at: Instant | None
    deleted_at: Instant | None
    revisions: int
    line: str


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A channel's newest messages, oldest first. Before *incomplete_before* some may be missing."""

    channel: int
    title: str
    messages: list[ContextMessage]
    incomplete_before: int | None


@reading.get("/search", response_model=Finds, responses=refusals(HTTPStatus.NOT_FOUND))
async def find(database: InDatabase, reader: Reader, asked: Annotated[SearchAsked, Query()]) -> Response:
    """What ``tidegate search --json`` prints, of the channels that the token may read."""
    query = read_query(asked.q, days_of(asked.zone))
    async with database.connection() as connection:
        keys = reader.channels
        if query.channel is not None:
            keys = [(await channel_for(connection, reader, query.channel)).key]
        results = await search(connection, query, channels=keys, order=asked.by, most=asked.limit)
    return JSONResponse({"query": asked.q, **results.as_json()})


_AS_LINES: Answers = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@reading.get(
    "/context/{channel:path}",
    response_model=ContextDocument,
    responses={**refusals(HTTPStatus.NOT_FOUND), **_AS_LINES},
)
async def context(
    database: InDatabase, reader: Reader, channel: ChannelNamed, asked: Annotated[ContextAsked, Query()]
) -> Response:
    """What ``tidegate context`` prints, as its document or as its lines."""
    zone = zone_of(asked.zone)
    async with database.connection() as connection:
        kept = await channel_for(connection, reader, channel)
        found = await read(connection, kept, asked.bounds, lambda moment: moment.astimezone(zone))
    if asked.format is Shape.TEXT:
        return PlainTextResponse("".join(f"{line}\n" for line in found.lines))
    return JSONResponse(found.as_json())
