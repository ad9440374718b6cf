"""The HTTP API for bots and scripts: search and context, with a token. It reads the store and asks no platform."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, Field

from tidegate.errors import BadInput
from tidegate.port import MessageId
from tidegate.rules.querying import read_query
from tidegate.store import channels, tokens
from tidegate.store.channels import Kept
from tidegate.store.context import MOST, Bounds, read
from tidegate.store.database import Connection, Database
from tidegate.store.search import Order, search
from tidegate.store.tokens import Token, TokenScope

_BIGGEST = 2**63 - 1
_SHOW_ONE = "Show a token as: Authorization: Bearer TOKEN. Make one with: tidegate token add NAME"

api = APIRouter(prefix="/api")
"""The addresses; the application that takes them in has the open database in its state."""


class Shape(StrEnum):
    """How a context is told: as a document, or as the lines that a bot reads."""

    JSON = "json"
    TEXT = "text"


class ContextAsked(BaseModel):
    """How much of a channel is wanted, and in which shape."""

    limit: int = Field(100, ge=1, le=MOST)
    chars: int | None = Field(None, ge=1)
    before: int | None = Field(None, ge=1, le=_BIGGEST)
    deleted: bool = False
    format: Shape = Shape.JSON
    zone: str = "UTC"

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.limit, self.chars, None if self.before is None else MessageId(self.before), self.deleted)


class SearchAsked(BaseModel):
    """What is looked for, what comes first, and how many of it; days are those of *zone*."""

    q: str
    by: Order = Order.NEWEST
    limit: int = Field(50, ge=1, le=1_000)
    zone: str = "UTC"


def _database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def _reader(
    database: Annotated[Database, Depends(_database)], authorization: Annotated[str | None, Header()] = None
) -> Token:
    """Whose token the request shows, if it may read."""
    kind, _, secret = (authorization or "").partition(" ")
    challenge = {"WWW-Authenticate": "Bearer"}
    if kind.lower() != "bearer" or not secret.strip():
        raise HTTPException(HTTPStatus.UNAUTHORIZED, f"This needs a token. {_SHOW_ONE}", challenge)
    async with database.connection() as connection:
        token = await tokens.find(connection, secret.strip())
    if token is None:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, f"The token is unknown or was revoked. {_SHOW_ONE}", challenge)
    if TokenScope.READ not in token.scopes:
        raise HTTPException(HTTPStatus.FORBIDDEN, f'Token "{token.name}" may not read; its scopes do not include read.')
    return token


InDatabase = Annotated[Database, Depends(_database)]
Reader = Annotated[Token, Depends(_reader)]


@api.get("/search")
async def find(database: InDatabase, reader: Reader, asked: Annotated[SearchAsked, Query()]) -> Response:
    """What ``tidegate search --json`` prints, of the channels that the token may read."""
    zone = _zone(asked.zone)
    query = read_query(asked.q, lambda moment: moment.replace(tzinfo=zone))
    async with database.connection() as connection:
        keys = reader.channels
        if query.channel is not None:
            keys = [(await _channel(connection, reader, query.channel)).key]
        results = await search(connection, query, channels=keys, order=asked.by, most=asked.limit)
    return JSONResponse({"query": asked.q, **results.as_json()})


@api.get("/context/{channel:path}")
async def context(
    database: InDatabase, reader: Reader, channel: str, asked: Annotated[ContextAsked, Query()]
) -> Response:
    """What ``tidegate context`` prints, as its document or as its lines."""
    zone = _zone(asked.zone)
    async with database.connection() as connection:
        kept = await _channel(connection, reader, channel)
        found = await read(connection, kept, asked.bounds, lambda moment: moment.astimezone(zone))
    if asked.format is Shape.TEXT:
        return PlainTextResponse("".join(f"{line}\n" for line in found.lines))
    return JSONResponse(found.as_json())


async def _channel(connection: Connection, reader: Token, named: str) -> Kept:
    """The channel of that name; to a token that may not read it, it does not exist."""
    try:
        kept = await channels.find(connection, named)
    except BadInput as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(problem)) from None
    if reader.channels is not None and kept.key not in reader.channels:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Token "{reader.name}" reads no channel "{named}".')
    return kept


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f'There is no time zone "{name}"; write for example zone=Europe/Berlin.') from None
