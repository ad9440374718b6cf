"""The overview page: accounts, calls, running work, what needs attention, and recent events."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import Response

from tidegate.database.pool import Connection
from tidegate.events.queries import feed
from tidegate.media.queries import media_pauses
from tidegate.reminders.queries import run_states, runs
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.live.event_text import bar, command_words, event_summary
from tidegate.web.page_response import page
from tidegate.web.pages.media import storage
from tidegate.web.pages.queries import overview
from tidegate.web.server.request_bodies import Router

_LANES = 25
_FEED = 20

pages = Router()


async def _figures(connection: Connection) -> dict[str, Any]:
    return {"service": await overview.service_counts(connection), "lately": await overview.lately(connection)}


async def _needs(connection: Connection) -> dict[str, Any]:
    return {
        "needs": await overview.needs(connection),
        "everything_paused": await run_states.everything_is_paused(connection),
        "media_waits": await media_pauses.sentences(connection),
    }


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
    return {"events": [(event, event_summary(event)) for event in await feed.newest(connection, _FEED)]}


_PARTS = {"figures": _figures, "needs": _needs, "running": _running, "lanes": _lanes, "feed": _feed}


@pages.get("/")
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        parts = [await part(connection) for part in _PARTS.values()]
        asks_media = await storage.asks(connection, request)
    values = {name: value for part in parts for name, value in part.items()}
    return page(request, "overview.html", asks_media=asks_media, **values)


@pages.get("/overview/{part}")
async def show_part(request: Request, part: str, database: InDatabase) -> Response:
    """One part of the page, for htmx."""
    if part not in _PARTS:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'The overview has no part "{part}".')
    async with database.connection() as connection:
        return page(request, f"parts/{part}.html", **await _PARTS[part](connection))
