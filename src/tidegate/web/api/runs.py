"""Runs over the API: list, results per group, pause, resume, cancel, resolve and remainder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.accounts.queries import accounts
from tidegate.core.ids import RunId
from tidegate.database.pool import Connection, Database
from tidegate.reminders.queries import run_targets
from tidegate.reminders.queries import runs as kept_runs
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.rules.send_states import SendState
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.documents import RunRow, RunShown, run_rows, run_shown
from tidegate.reminders.runs.run_controls import Resolution
from tidegate.reminders.runs.run_remainder import Remainder, make_remainder
from tidegate.web.api.parameters import BIGGEST, POSITIVE, Limit, Place, Text, Texts
from tidegate.web.api.responses import CHANGE_REFUSALS, answer, refusals
from tidegate.web.auth.token_check import InDatabase, ReaderOfAll, Steerer
from tidegate.web.server.request_bodies import ApiRouter
from tidegate.web.server.streamed_responses import members

runs = ApiRouter("/runs", tags=["runs"])

RunNumber = Annotated[RunId, Path(ge=1, le=BIGGEST, description="The run's number.")]


class RunsQuery(BaseModel):
    """Which runs: of one account, those that have ended or not, those before one that *next* named."""

    account: Text | None = None
    ended: bool | None = None
    before: Annotated[RunId, POSITIVE] | None = None
    limit: Limit = 50


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Runs, newest first; *next* is what to ask *before*, and null on the last page."""

    runs: list[RunRow]
    next: int | None


class TargetsQuery(BaseModel):
    """Which groups of a run: those in one state, and those after one that *next* named."""

    state: SendState | None = None
    after: Place = 0
    limit: Limit = 100


TargetsAsked = Annotated[TargetsQuery, Query()]


@dataclass(frozen=True, kw_only=True)
class RunShownPage(RunShown):
    """A run with some of its groups; *next* is what to ask *after* for more of them, and null with the last ones."""

    next: int | None


class ResolutionWanted(BaseModel):
    """How to count messages with an unknown outcome: of some groups, by title or number, or of all."""

    as_: Resolution = Field(alias="as")
    targets: Texts = []


@dataclass(frozen=True, slots=True)
class Settled:
    """How many messages were settled, and the run afterwards."""

    settled: int
    run: RunRow


@dataclass(frozen=True, slots=True)
class RunsChanged:
    """The numbers of the open runs that were paused or resumed."""

    changed: list[RunId]


@runs.get("", response_model=RunsPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def listed(database: InDatabase, _: ReaderOfAll, asked: Annotated[RunsQuery, Query()]) -> Response:
    """Runs page by page: state, and how many groups each reached."""
    async with database.connection() as connection:
        account = None if asked.account is None else (await accounts.find(connection, asked.account)).account.id
        found = await kept_runs.listing(
            connection, account=account, ended=asked.ended, before=asked.before, limit=asked.limit + 1
        )
        rows = await run_rows(connection, found[: asked.limit])
    return answer(RunsPage(rows, rows[-1].id if len(found) > asked.limit else None))


@runs.get("/{run}", response_model=RunShownPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, run: RunNumber, asked: TargetsAsked) -> Response:
    """One run: what ``tidegate runs show --json`` prints, its groups page by page."""
    async with database.connection() as connection:
        found = await kept_runs.find(connection, run)
        targets = await run_targets.of_run(
            connection, found.id, state=asked.state, after=asked.after, limit=asked.limit + 1
        )
        document = await run_shown(connection, found, targets[: asked.limit])
    following = targets[asked.limit - 1].number if len(targets) > asked.limit else None
    return answer({**members(document), "next": following})


@runs.post("/pause", response_model=RunsChanged, responses=refusals())
async def pause_all(database: InDatabase, _: Steerer) -> Response:
    """Pause all sending, also of runs that open later; nothing is fired until it is resumed."""
    async with database.transaction() as connection:
        return answer(RunsChanged([run.id for run in await run_controls.pause_all(connection)]))


@runs.post("/resume", response_model=RunsChanged, responses=refusals())
async def resume_all(database: InDatabase, _: Steerer) -> Response:
    """Resume all runs that were paused together; one that was paused alone stays paused."""
    async with database.transaction() as connection:
        return answer(RunsChanged([run.id for run in await run_controls.resume_all(connection)]))


@runs.post("/{run}/pause", response_model=RunRow, responses=CHANGE_REFUSALS)
async def pause(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """Pause a run; sends in flight complete."""
    return await _moved(database, run, run_controls.pause)


@runs.post("/{run}/resume", response_model=RunRow, responses=CHANGE_REFUSALS)
async def resume(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """Resume a paused run."""
    return await _moved(database, run, run_controls.resume)


@runs.post("/{run}/cancel", response_model=RunRow, responses=CHANGE_REFUSALS)
async def cancel(database: InDatabase, _: Steerer, run: RunNumber) -> Response:
    """Cancel a run: messages not sent yet are skipped."""
    return await _moved(database, run, run_controls.cancel)


@runs.post("/{run}/resolve", response_model=Settled, responses=CHANGE_REFUSALS)
async def resolve(database: InDatabase, _: Steerer, run: RunNumber, wanted: ResolutionWanted) -> Response:
    """Settle messages with an unknown outcome: sent, to be sent again, or left out."""
    async with database.transaction() as connection:
        settled = await run_controls.resolve(connection, run, wanted.as_, groups=wanted.targets)
        [row] = await run_rows(connection, [await kept_runs.find(connection, run)])
    return answer(Settled(settled, row))


class RemainderWanted(BaseModel):
    """The account that sends to the remaining groups of a run."""

    account: Text


@runs.post("/{run}/remainder", response_model=Remainder, status_code=HTTPStatus.CREATED, responses=CHANGE_REFUSALS)
async def remainder(database: InDatabase, _: Steerer, run: RunNumber, wanted: RemainderWanted) -> Response:
    """Make a reminder of the groups that a run did not reach, for another account; nothing is sent until it is fired.

    Groups with an unknown outcome, or with some of the messages, are left out and named.
    """
    async with database.transaction() as connection:
        made = await make_remainder(connection, run, wanted.account)
    where = {"Location": f"/api/reminders/{made.id}"}
    return answer(made, HTTPStatus.CREATED, where)


async def _moved(database: Database, run: RunId, control: Callable[[Connection, RunId], Awaitable[Run]]) -> Response:
    """Change a run and return it."""
    async with database.transaction() as connection:
        await control(connection, run)
        [row] = await run_rows(connection, [await kept_runs.find(connection, run)])
    return answer(row)
