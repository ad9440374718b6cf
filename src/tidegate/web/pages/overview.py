"""The first page: accounts with their lanes, what needs a person, and what happens."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tidegate.store import accounts, feed, pace
from tidegate.store.accounts import Listed
from tidegate.store.database import Connection
from tidegate.store.pace import Shown
from tidegate.web.api.access import InDatabase
from tidegate.web.rendering import page

_FEED = 25

pages = APIRouter()


@dataclass(frozen=True, slots=True)
class LaneRow:
    """An account as the overview shows it."""

    listed: Listed
    pace: Shown | None


@pages.get("/")
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(
            request, "overview.html", lanes=await _lanes(connection), events=await feed.newest(connection, _FEED)
        )


@pages.get("/overview/lanes")
async def show_lanes(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/lanes.html", lanes=await _lanes(connection))


@pages.get("/overview/feed")
async def show_feed(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/feed.html", events=await feed.newest(connection, _FEED))


async def _lanes(connection: Connection) -> list[LaneRow]:
    paces = await pace.shown(connection)
    return [LaneRow(one, paces.get(one.account.id)) for one in await accounts.listing(connection)]
