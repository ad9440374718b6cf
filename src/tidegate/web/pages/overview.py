"""The first page: lanes, calls spent, what runs, what needs a person, and what happens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from tidegate.store import feed, overview, runs
from tidegate.store.database import Connection
from tidegate.web.api.access import InDatabase
from tidegate.web.rendering import page
from tidegate.web.telling import bar, command_words, told

_LANES = 25
_FEED = 20

pages = APIRouter()


@pages.get("/")
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        values = {
            **await _figures(connection),
            **await _needs(connection),
            **await _running(connection),
            **await _lanes(connection),
            **await _feed(connection),
        }
    return page(request, "overview.html", **values)


@pages.get("/overview/figures")
async def show_figures(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/figures.html", **await _figures(connection))


@pages.get("/overview/needs")
async def show_needs(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/needs.html", **await _needs(connection))


@pages.get("/overview/running")
async def show_running(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/running.html", **await _running(connection))


@pages.get("/overview/lanes")
async def show_lanes(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/lanes.html", **await _lanes(connection))


@pages.get("/overview/feed")
async def show_feed(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/feed.html", **await _feed(connection))


async def _figures(connection: Connection) -> dict[str, Any]:
    return {"house": await overview.house(connection), "lately": await overview.lately(connection)}


async def _needs(connection: Connection) -> dict[str, Any]:
    return {"needs": await overview.needs(connection)}


async def _running(connection: Connection) -> dict[str, Any]:
    open_runs = await runs.listing(connection, ended=False, limit=10)
    return {
        "runs": open_runs,
        "counts": await runs.counts(connection, [run.id for run in open_runs]),
        "bars": [bar(one) for one in await overview.progress(connection)],
        "asked": [(one, command_words(one.kind)) for one in await overview.asked(connection)],
    }


async def _lanes(connection: Connection) -> dict[str, Any]:
    return {"lanes": await overview.lanes(connection, _LANES), "most_lanes": _LANES}


async def _feed(connection: Connection) -> dict[str, Any]:
    return {"events": [(event, told(event)) for event in await feed.newest(connection, _FEED)]}
