"""The log: everything that happened, the checks and what they saved, and the workers."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tidegate.channels.queries import channel_places
from tidegate.database.pool import Connection
from tidegate.events.queries import feed
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.live.activity_lines import channels_in, line
from tidegate.web.page_response import AS_PART, live_page
from tidegate.web.pages.queries import home, log

_EVENTS = 200
_CYCLES = 20

pages = GuardedRouter()


async def _values(connection: Connection) -> dict[str, Any]:
    events = await feed.newest(connection, _EVENTS)
    places = await channel_places.of_numbers(connection, channels_in(events))
    return {
        "service": await home.service_counts(connection),
        "lately": await home.lately(connection),
        "lines": [line(event, places) for event in events],
        "checks": await log.checks(connection, _CYCLES),
        "workers": await log.workers(connection),
    }


@pages.get("/log")
@pages.get("/log/now", dependencies=AS_PART)
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return live_page(request, "log.html", **await _values(connection))
