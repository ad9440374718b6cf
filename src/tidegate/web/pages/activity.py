"""Activity: runs with what became of each group, and what a person does about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import Response

from tidegate.reminders import controls
from tidegate.reminders.controls import Resolution
from tidegate.rules.delivering import TargetState
from tidegate.store import run_moves, run_targets, runs
from tidegate.store.database import Connection
from tidegate.store.runs import Run
from tidegate.web.api.access import InDatabase
from tidegate.web.api.asking import BIGGEST
from tidegate.web.rendering import changed, counted, page
from tidegate.words import RunId

_RUNS, _TARGETS = 50, 100

pages = APIRouter()

RunNumber = Annotated[int, Path(ge=1, le=BIGGEST)]
After = Annotated[int, Query(ge=0, le=2**31 - 1)]
Before = Annotated[int | None, Query(ge=1, le=BIGGEST)]


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run with its targets counted by state."""

    run: Run
    counts: Mapping[str, int]

    @property
    def sent(self) -> int:
        return self.counts.get("sent", 0)

    @property
    def all(self) -> int:
        return sum(self.counts.values())


@pages.get("/activity")
async def show(request: Request, database: InDatabase, before: Before = None) -> Response:
    async with database.connection() as connection:
        return page(request, "activity.html", **await _list(connection, before))


@pages.get("/activity/list")
async def show_list(request: Request, database: InDatabase, before: Before = None) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/runs.html", **await _list(connection, before))


async def _list(connection: Connection, before: int | None) -> dict[str, Any]:
    found = await runs.listing(connection, before=before, limit=_RUNS + 1)
    return {
        "runs": await _counted(connection, found[:_RUNS]),
        "before": before,
        "older": found[_RUNS - 1].id if len(found) > _RUNS else None,
        "all_paused": await run_moves.everything_is_paused(connection),
    }


async def _counted(connection: Connection, found: list[Run]) -> list[ShownRun]:
    """Runs with their counts: kept where they have ended, counted now where they are open."""
    counted = await runs.counts(connection, [run.id for run in found if run.counts is None])
    return [ShownRun(run, run.counts if run.counts is not None else _named(counted[run.id])) for run in found]


def _named(counts: Counter[TargetState]) -> dict[str, int]:
    return {state.value: counts[state] for state in TargetState}


@pages.get("/activity/{run}")
async def show_run(
    request: Request, database: InDatabase, run: RunNumber, state: TargetState | None = None, after: After = 0
) -> Response:
    async with database.connection() as connection:
        return page(request, "run.html", **await _run(connection, RunId(run), state, after))


@pages.get("/activity/{run}/now")
async def show_run_now(
    request: Request, database: InDatabase, run: RunNumber, state: TargetState | None = None, after: After = 0
) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/run.html", **await _run(connection, RunId(run), state, after))


async def _run(connection: Connection, number: RunId, state: TargetState | None, after: int) -> dict[str, Any]:
    [shown] = await _counted(connection, [await runs.find(connection, number)])
    found = await run_targets.of_run(connection, number, state=state, after=after, limit=_TARGETS)
    return {
        "shown": shown,
        "targets": found,
        "state": state,
        "after": after,
        "more": found[-1].number if len(found) == _TARGETS else None,
        "states": list(TargetState),
        "resolutions": list(Resolution),
    }


# What people do to them


@pages.post("/activity/pause-all")
async def pause_all(request: Request, database: InDatabase) -> Response:
    """Stop every send, also of runs that open from now on."""
    async with database.transaction() as connection:
        paused = await controls.pause_all(connection)
    sentence = f"Every run is paused, {counted(len(paused), 'run')} under way among them."
    return changed(request, sentence, back="/activity")


@pages.post("/activity/resume-all")
async def resume_all(request: Request, database: InDatabase) -> Response:
    async with database.transaction() as connection:
        resumed = await controls.resume_all(connection)
    return changed(request, f"Runs go on again, {counted(len(resumed), 'run')} at once.", back="/activity")


@pages.post("/activity/{run}/pause")
async def pause(request: Request, database: InDatabase, run: RunNumber) -> Response:
    """Make no further claim for it; what is in flight completes."""
    async with database.transaction() as connection:
        await controls.pause(connection, RunId(run))
    return changed(request, f"Run {run} is paused.", back=f"/activity/{run}")


@pages.post("/activity/{run}/resume")
async def resume(request: Request, database: InDatabase, run: RunNumber) -> Response:
    async with database.transaction() as connection:
        await controls.resume(connection, RunId(run))
    return changed(request, f"Run {run} goes on.", back=f"/activity/{run}")


@pages.post("/activity/{run}/cancel")
async def cancel(request: Request, database: InDatabase, run: RunNumber) -> Response:
    """Send nothing more of it; what was sent stays sent."""
    async with database.transaction() as connection:
        await controls.cancel(connection, RunId(run))
    return changed(request, f"Run {run} is cancelled.", back=f"/activity/{run}")


@pages.post("/activity/{run}/resolve")
async def resolve(
    request: Request,
    database: InDatabase,
    run: RunNumber,
    resolution: Annotated[Resolution, Form()],
    group: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Settle what nobody knows the outcome of, for all such groups or for some."""
    async with database.transaction() as connection:
        settled = await controls.resolve(connection, RunId(run), resolution, groups=group or ())
    return changed(request, f"Settled: {counted(settled, 'message')}.", back=f"/activity/{run}")
