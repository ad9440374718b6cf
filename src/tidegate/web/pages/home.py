"""Home: whether anything is wrong, what is going out, and whether the copy is up to date."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi import HTTPException, Request
from fastapi.responses import Response

from tidegate.app.doctor.status_report import problem_limits
from tidegate.channels.queries import channel_places, mirror_states
from tidegate.database.pool import Connection
from tidegate.events.queries import feed
from tidegate.problems.problem import Problem
from tidegate.reminders.queries import run_targets, runs
from tidegate.reminders.rules.run_summary import RunState
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.charts.activity_charts import activity, zone_from
from tidegate.web.charts.rules.time_buckets import ChartRange
from tidegate.web.live.activity_lines import channels_in, grouped_lines
from tidegate.web.live.event_sentences import bar, command_words
from tidegate.web.menu import LINKS, all_problems, menu_of
from tidegate.web.page_response import page
from tidegate.web.pages.media import storage
from tidegate.web.pages.queries import home

_LANES = 25
_LINES = 8
_FEED = 80  # events that are read for those lines: many become one
_NEXT = 3

pages = GuardedRouter()


class _Part(NamedTuple):
    """A part of the page: its template, and what that shows."""

    template: str
    values: Callable[[Connection, Request], Awaitable[dict[str, Any]]]


async def _problems(connection: Connection, request: Request) -> dict[str, Any]:
    found: list[Problem] | None = getattr(request.state, "problems", None)  # the menu has read them already
    if found is None:
        found = await all_problems(connection, request.app.state.loaded)
    return {
        "problems": [(one, LINKS[one.kind]) for one in found],
    }


async def _sending(connection: Connection, _request: Request) -> dict[str, Any]:
    open_runs = await runs.listing(connection, ended=False, limit=_NEXT)
    return {
        "runs": open_runs,
        "counts": await runs.counts(connection, [run.id for run in open_runs]),
        "ends": {
            run.id: (await run_targets.speed(connection, run.id)).ends_at(run.now)
            for run in open_runs
            if run.state is RunState.RUNNING
        },
        "upcoming": await home.upcoming(connection, _NEXT),
    }


async def _mirror(connection: Connection, request: Request) -> dict[str, Any]:
    within = problem_limits(request.app.state.loaded.settings).checked_within
    behind = await mirror_states.accounts_behind(connection, within)
    return {"mirror": await home.mirror(connection), "mirror_counts": await mirror_states.counts(connection, behind)}


async def _in_progress(connection: Connection, _request: Request) -> dict[str, Any]:
    work = await home.progress(connection)
    places = await channel_places.of_numbers(connection, [one.event.channel for one in work])
    return {
        "bars": [bar(one, places) for one in work],
        "asked": [(one, command_words(one.kind)) for one in await home.asked(connection)],
    }


async def _lanes(connection: Connection, _request: Request) -> dict[str, Any]:
    return {"lanes": await home.lanes(connection, _LANES), "most_lanes": _LANES}


async def _feed(connection: Connection, _request: Request) -> dict[str, Any]:
    events = await feed.newest(connection, _FEED)
    places = await channel_places.of_numbers(connection, channels_in(events))
    return {"lines": grouped_lines(events, _LINES, places)}


_PARTS: Mapping[str, _Part] = {
    "needs": _Part("problem_list", _problems),
    "sending": _Part("sending", _sending),
    "mirror": _Part("mirror_summary", _mirror),
    "running": _Part("work_in_progress", _in_progress),
    "lanes": _Part("account_lanes", _lanes),
    "feed": _Part("activity_list", _feed),
}
"""The parts by their names in addresses, which pages that are open keep asking for."""


@pages.get("/")
async def show(
    request: Request,
    database: InDatabase,
    range: ChartRange = ChartRange.DAY,  # noqa: A002
) -> Response:
    async with database.connection() as connection:
        parts = [await part.values(connection, request) for part in _PARTS.values()]
        asks_media = await storage.asks(connection, request)
        first = await home.first_steps(connection)
        charts = await activity(connection, range, zone_from(request))
    values = {name: value for part in parts for name, value in part.items()}
    return page(request, "home.html", asks_media=asks_media, first=first, charts=charts, account=None, **values)


@pages.get("/overview/{part}")
async def show_part(request: Request, part: str, database: InDatabase) -> Response:
    """One part of the page, for htmx."""
    if part not in _PARTS:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Home has no part "{part}".')
    shown = _PARTS[part]
    async with database.connection() as connection:
        return page(request, f"parts/{shown.template}.html", **await shown.values(connection, request))


@pages.get("/menu")
async def show_menu(request: Request, database: InDatabase, here: str = "/") -> Response:
    """The menu again, with the problems of now, for a page that is open at *here*."""
    async with database.connection() as connection:
        request.state.menu = await menu_of(request, connection, here)
    return page(request, "parts/menu.html")
