"""Messages: searched as at the terminal, and read channel by channel with what was edited and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.errors import BadInput
from tidegate.rules.linking import original_link
from tidegate.rules.querying import read_instant, read_query
from tidegate.store import channels, chronicle
from tidegate.store.channels import Kept
from tidegate.store.chronicle import Chronicle
from tidegate.store.database import Connection
from tidegate.store.search import Found, Order, Results, search
from tidegate.web.api.access import InDatabase
from tidegate.web.api.asking import BIGGEST, Number, Text, days_of
from tidegate.web.pages.channel import kept_channel
from tidegate.web.rendering import page
from tidegate.words import Platform

_FINDS = 50
_MESSAGES = 60

pages = APIRouter()


class SearchAsked(BaseModel):
    """What is looked for, what comes first, and in which zone days begin; without script in UTC."""

    q: Text = ""
    by: Order = Order.NEWEST
    zone: Text = ""


@dataclass(frozen=True, slots=True)
class FindView:
    """A result with the places it leads to: its channel here, and the original."""

    found: Found
    key: int
    link: str | None


@pages.get("/messages")
async def find(request: Request, database: InDatabase, asked: Annotated[SearchAsked, Query()]) -> Response:
    """Messages and files inside archives that have what was asked for; a query without sense is told so in its page."""
    results, trouble = Results([], more=False), ""
    views: list[FindView] = []
    if asked.q.strip():
        try:
            async with database.connection() as connection:
                results = await _search(connection, asked)
                views = await _views(connection, results)
        except BadInput as problem:
            trouble = str(problem)
    return page(
        request, "messages.html", asked=asked, orders=list(Order), finds=views, results=results, trouble=trouble
    )


async def _search(connection: Connection, asked: SearchAsked) -> Results:
    query = read_query(asked.q, days_of(asked.zone or "UTC"))
    keys = None if query.channel is None else [(await channels.find(connection, query.channel)).key]
    return await search(connection, query, channels=keys, order=asked.by, most=_FINDS)


async def _views(connection: Connection, results: Results) -> list[FindView]:
    rows = await connection.fetch(
        "SELECT id, platform, number, title, guild FROM channels WHERE number = ANY($1)",
        list({one.channel for one in results.found}),
    )
    known = {(row["number"], row["title"]): row for row in rows}
    return [
        FindView(
            one, row["id"],
            original_link(Platform(row["platform"]), one.channel, one.id, guild=row["guild"], topic=one.topic),
        )
        for one in results.found
        if (row := known.get((one.channel, one.title))) is not None
    ]  # fmt: skip


class ReadAsked(BaseModel):
    """Which stretch of a channel: the newest, before or since a message, or from a day of a zone on."""

    before: Number | None = None
    since: Number | None = None
    at: Text = ""
    zone: Text = ""

    @staticmethod
    def address(key: int, **asked: Any) -> str:
        return f"/channels/{key}/messages?{urlencode(asked)}"


@pages.get("/channels/{key}/messages")
async def read(
    request: Request, database: InDatabase, key: Annotated[int, Path(ge=1, le=BIGGEST)],
    asked: Annotated[ReadAsked, Query()],
) -> Response:  # fmt: skip
    """A channel as it reads: oldest first, edits with what was said before, tombstones with what was deleted."""
    async with database.connection() as connection:
        kept = await kept_channel(connection, key)
        found = await _stretch(connection, kept, asked)
    older = found.messages[0].id if found.has_older and found.messages else None
    newer = found.messages[-1].id + 1 if found.has_newer and found.messages else None
    return page(
        request, "channel_messages.html", kept=kept, key=key, messages=found.messages, asked=asked,
        older=None if older is None else asked.address(key, before=older),
        newer=None if newer is None else asked.address(key, since=newer),
    )  # fmt: skip


async def _stretch(connection: Connection, kept: Kept, asked: ReadAsked) -> Chronicle:
    if asked.at.strip():
        at = read_instant("at", asked.at.strip(), days_of(asked.zone or "UTC"))
        first = await chronicle.first_at(connection, kept.key, at)
        return await chronicle.since(connection, kept, first, most=_MESSAGES)
    if asked.since is not None:
        return await chronicle.since(connection, kept, asked.since, most=_MESSAGES)
    return await chronicle.before(connection, kept, asked.before, most=_MESSAGES)
