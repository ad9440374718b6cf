"""Reminders over the API: written as JSON, looked at beforehand, fired and tried."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from tidegate.reminders import controls, saving
from tidegate.reminders.texts import Named
from tidegate.reminders.written import WrittenReminder, as_reminder
from tidegate.shapes.reminders import (
    EstimateShown,
    ReminderRow,
    foreseen,
    reminder_row,
)
from tidegate.shapes.runs import RunRow, run_rows
from tidegate.store import reminders as kept_reminders
from tidegate.store import runs
from tidegate.store.database import Database
from tidegate.web.api.access import AsSet, InDatabase, ReaderOfAll, Steerer
from tidegate.web.api.asking import ReminderNamed, Text, answer, answer_all, refusals

reminders = APIRouter(tags=["reminders"])


class ReminderWanted(WrittenReminder):
    """A reminder as it is written. *files* are those of its parts that were sent ahead: each name with its hash."""

    files: dict[Named, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = Field(default_factory=dict)

    @property
    def sent_ahead(self) -> dict[str, bytes]:
        return {name: bytes.fromhex(sha256) for name, sha256 in self.files.items()}


class TestWanted(BaseModel):
    """The group to try a reminder on: its title or number."""

    target: Text


@reminders.get("/reminders", response_model=list[ReminderRow], responses=refusals())
async def listed(database: InDatabase, _: ReaderOfAll) -> Response:
    """Every reminder, those that fire next first."""
    async with database.connection() as connection:
        return answer_all([reminder_row(kept) for kept in await kept_reminders.listing(connection)])


@reminders.get("/reminders/{reminder}", response_model=WrittenReminder, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, reminder: ReminderNamed) -> Response:
    """A reminder as it is written, complete; it can be put again as it is."""
    async with database.connection() as connection:
        kept = await kept_reminders.find(connection, reminder)
    return JSONResponse(dict(kept.written))


@reminders.post("/reminders", response_model=ReminderRow, status_code=HTTPStatus.CREATED, responses=refusals())
async def add(database: InDatabase, _: Steerer, written: ReminderWanted) -> Response:
    """Keep a new reminder."""
    reminder = as_reminder(written)
    async with database.transaction() as connection:
        number = await saving.add(connection, reminder, {}, sent_ahead=written.sent_ahead)
        row = reminder_row(await kept_reminders.find(connection, str(number)))
    where = {"Location": f"/api/reminders/{number}"}
    return JSONResponse(asdict(row), status_code=HTTPStatus.CREATED, headers=where)


@reminders.put("/reminders/{reminder}", response_model=ReminderRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def change(database: InDatabase, _: Steerer, reminder: ReminderNamed, written: ReminderWanted) -> Response:
    """Change a reminder to what is written now; it keeps its files, and open runs stay as they were frozen."""
    new = as_reminder(written)
    async with database.transaction() as connection:
        kept = await kept_reminders.find(connection, reminder, lock=True)
        number = await saving.change(connection, kept, new, {}, sent_ahead=written.sent_ahead)
        row = reminder_row(await kept_reminders.find(connection, str(number)))
    return answer(row)


@reminders.delete(
    "/reminders/{reminder}",
    status_code=HTTPStatus.NO_CONTENT,
    response_class=Response,
    responses=refusals(HTTPStatus.NOT_FOUND),
)
async def remove(database: InDatabase, _: Steerer, reminder: ReminderNamed) -> Response:
    """Forget a reminder; its runs stay, and one that is open goes on."""
    async with database.transaction() as connection:
        await kept_reminders.remove(connection, await kept_reminders.find(connection, reminder, lock=True))
    return Response(status_code=HTTPStatus.NO_CONTENT)


@reminders.get("/reminders/{reminder}/estimate", response_model=EstimateShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def estimate(database: InDatabase, _: ReaderOfAll, loaded: AsSet, reminder: ReminderNamed) -> Response:
    """Whether a reminder fits into its window, when it would end, and what would be left over; spends no call."""
    async with database.connection() as connection:
        kept = await kept_reminders.find(connection, reminder)
        told = await foreseen(connection, kept, loaded.settings)
    return JSONResponse(told.as_json())


@reminders.post(
    "/reminders/{reminder}/fire",
    response_model=RunRow,
    status_code=HTTPStatus.ACCEPTED,
    responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
)
async def fire(database: InDatabase, _: Steerer, reminder: ReminderNamed) -> Response:
    """Fire a reminder now: its run is frozen, and whoever serves the account delivers it."""
    return await _fired(database, reminder)


@reminders.post(
    "/reminders/{reminder}/test",
    response_model=RunRow,
    status_code=HTTPStatus.ACCEPTED,
    responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
)
async def test(database: InDatabase, _: Steerer, reminder: ReminderNamed, wanted: TestWanted) -> Response:
    """Send a reminder to one of its groups now, whatever the hour."""
    return await _fired(database, reminder, wanted.target)


async def _fired(database: Database, reminder: str, test_on: str | None = None) -> Response:
    """202: the run as it was just opened, and in ``Location`` where to look at it."""
    async with database.transaction() as connection:
        kept = await kept_reminders.find(connection, reminder, lock=True)
        number = await controls.fire(connection, kept.name, test_on=test_on)
        [row] = await run_rows(connection, [await runs.find(connection, number)])
    where = {"Location": f"/api/runs/{number}"}
    return JSONResponse(asdict(row), status_code=HTTPStatus.ACCEPTED, headers=where)
