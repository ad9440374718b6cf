"""Runs over the API: what was fired, what became of each group, and what people do about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from tidegate.reminders import controls
from tidegate.reminders.controls import Resolution
from tidegate.rules.delivering import TargetState
from tidegate.shapes.runs import RunRow, RunShown, run_rows, run_shown
from tidegate.store import accounts, run_targets
from tidegate.store import runs as kept_runs
from tidegate.store.database import Connection, Database
from tidegate.store.runs import Run
from tidegate.web.api.access import InDatabase, ReaderOfAll, Steerer
from tidegate.web.api.asking import BIGGEST, Limit, Number, Text, answer, refusals
from tidegate.words import RunId

runs = APIRouter(prefix="/runs", tags=["runs"])

RunNumber = Annotated[RunId, Path(ge=1, le=BIGGEST, description="The run's number.")]


class RunsAsked(BaseModel):
    """Which runs: of one account, those that have ended or not, those before one that *next* named."""

    account: Text | None = None
    ended: bool | None = None
    before: Number | None = None
    limit: Limit = 50


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, newest first; *next* is what to ask *before*, and null on the last page."""

    runs: list[RunRow]
    next: int | None


class TargetsAsked(BaseModel):
    """Which groups of a run: those in one state, and those after one that *next* named."""

    state: TargetState | None = None
    after: int = Field(0, ge=0, le=2**31 - 1)
    limit: Limit = 100


@dataclass(frozen=True, kw_only=True)
class RunShownPage(RunShown):
    """A run with some of its groups; *next* is what to ask *after* for more of them, and null with the last ones."""

    next: int | None


class ResolutionWanted(BaseModel):
    """What to take messages for whose outcome nobody knows: of some groups, by title or number, or of all."""

    as_: Resolution = Field(alias="as")
    targets: Annotated[list[Text], Field(max_length=10_000)] = []


@dataclass(frozen=True, slots=True)
class Settled:
    """How many messages were settled, and the run as it stands after it."""

    settled: int
    run: RunRow


@dataclass(frozen=True, slots=True)
class RunsChanged:
    """The numbers of the open runs that were stopped or go on."""

    changed: list[int]


@runs.get("", response_model=RunsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(database: InDatabase, _: ReaderOfAll, asked: Annotated[RunsAsked, Query()]) -> Response:
    """Runs page by page: how each stands, and how many groups it reached."""
    async with database.connection() as connection:
        account = None if asked.account is None else (await accounts.find(connection, asked.account)).account.id
        found = await kept_runs.listing(
            connection, account=account, ended=asked.ended, before=asked.before, limit=asked.limit + 1
        )
        rows = await run_rows(connection, found[: asked.limit])
    return answer(RunsPage(rows, rows[-1].id if len(found) > asked.limit else None))


@runs.get("/{run}", response_model=RunShownPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(
    database: InDatabase, _: ReaderOfAll, run: RunNumber, asked: Annotated[TargetsAsked, Query()]
) -> Response:
    """One run: what ``tidegate runs show --json`` prints, its groups page by page."""
    async with database.connection() as connection:
        found = await kept_runs.find(connection, run)
        targets = await run_targets.of_run(
            connection, found.id, state=asked.state, after=asked.after, limit=asked.limit + 1
        )
        told = await run_shown(connection, found, targets[: asked.limit])
    return JSONResponse(
        {**asdict(told), "next": targets[asked.limit - 1].number if len(targets) > asked.limit else None}
    )


_CHANGED = refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@runs.post("/pause", response_model=RunsChanged, responses=refusals())
async def pause_all(database: InDatabase, _: Steerer) -> Response:
    """Stop every send, also of runs that open from now on; nothing is fired until they go on."""
    async with database.transaction() as connection:
        return answer(RunsChanged([run.id for run in await controls.pause_all(connection)]))


@runs.post("/resume", response_model=RunsChanged, responses=refusals())
async def resume_all(database: InDatabase, _: Steerer) -> Response:
    """Go on with all runs that were stopped together; one that was paused on its own stays so."""
    async with database.transaction() as connection:
        return answer(RunsChanged([run.id for run in await controls.resume_all(connection)]))


@runs.post("/{run}/pause", response_model=RunRow, responses=_CHANGED)
async def pause(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """Make no further send for a run; what is in flight completes."""
    return await _moved(database, run, controls.pause)


@runs.post("/{run}/resume", response_model=RunRow, responses=_CHANGED)
async def resume(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """Go on with a paused run."""
    return await _moved(database, run, controls.resume)


@runs.post("/{run}/cancel", response_model=RunRow, responses=_CHANGED)
async def cancel(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """End a run: what is not sent yet is left out, what was sent stays sent."""
    return await _moved(database, run, controls.cancel)


@runs.post("/{run}/resolve", response_model=Settled, responses=_CHANGED)
async def resolve(database: InDatabase, _: Steerer, run: RunNumber, wanted: ResolutionWanted) -> Response:
    """Settle what nobody knows the outcome of: it was sent, it is sent again, or it is left out."""
    async with database.transaction() as connection:
        settled = await controls.resolve(connection, run, wanted.as_, groups=wanted.targets)
        [row] = await run_rows(connection, [await kept_runs.find(connection, run)])
    return answer(Settled(settled, row))


async def _moved(database: Database, run: RunId, control: Callable[[Connection, RunId], Awaitable[Run]]) -> Response:
    """Do something to a run and answer with how it stands then."""
    async with database.transaction() as connection:
        await control(connection, run)
        [row] = await run_rows(connection, [await kept_runs.find(connection, run)])
    return answer(row)
