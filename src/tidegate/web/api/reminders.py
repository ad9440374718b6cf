"""Reminders over the API: create, edit, estimate, fire and test."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.app.composition import allowance_of
from tidegate.core.json_fields import Named
from tidegate.database.pool import Database
from tidegate.reminders import reminder_changes
from tidegate.reminders.documents import EstimateShown, ReminderRow, estimate_shown, reminder_row
from tidegate.reminders.private_test import ask_private_test
from tidegate.reminders.queries import reminders as kept_reminders
from tidegate.reminders.queries import runs
from tidegate.reminders.reminder_estimate import estimate_reminder
from tidegate.reminders.reminder_files import with_plain_names
from tidegate.reminders.reminder_parser import WrittenPart, WrittenReminder, as_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.documents import RunRow, run_rows
from tidegate.web.api.commands import QUEUES_COMMAND, accepted
from tidegate.web.api.parameters import ReminderNamed, Rows, Text
from tidegate.web.api.responses import CHANGE_REFUSALS, NO_CONTENT, answer, answer_all, refusals
from tidegate.web.auth.token_check import AsSet, InDatabase, ReaderOfAll, Steerer
from tidegate.web.server.request_bodies import ApiRouter

reminders = ApiRouter(tags=["reminders"])

_OPENS_RUN: dict[str, Any] = {
    "response_model": RunRow,
    "status_code": HTTPStatus.ACCEPTED,
    "responses": CHANGE_REFUSALS,
}


class ReminderWanted(WrittenReminder):
    """A reminder document. *files* are the uploaded files of its parts: plain names with hashes."""

    targets: Annotated[tuple[Named, ...], Field(max_length=10_000, fail_fast=True)] | None = None
    parts: Annotated[tuple[WrittenPart, ...], Field(min_length=1, max_length=1_000, fail_fast=True)]
    files: dict[Named, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = Field(default_factory=dict, max_length=1_000)

    @property
    def sent_ahead(self) -> dict[str, bytes]:
        return {name: bytes.fromhex(sha256) for name, sha256 in self.files.items()}


class TestWanted(BaseModel):
    """The group to send a test to: its title or number."""

    target: Text


@reminders.get("/reminders", response_model=list[ReminderRow], responses=refusals())
async def listed(database: InDatabase, _: ReaderOfAll, asked: Rows) -> Response:
    """Reminders, ordered by their next run."""
    async with database.connection() as connection:
        found = await kept_reminders.listing(connection, skip=asked.skip, most=asked.limit)
    return answer_all([reminder_row(kept) for kept in found])


@reminders.get("/reminders/{reminder}", response_model=WrittenReminder, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, reminder: ReminderNamed) -> Response:
    """A complete reminder document; it can be sent back unchanged."""
    async with database.connection() as connection:
        kept = await kept_reminders.find(connection, reminder)
    return answer(kept.written)


@reminders.post("/reminders", response_model=ReminderRow, status_code=HTTPStatus.CREATED, responses=refusals())
async def add(database: InDatabase, _: Steerer, written: ReminderWanted) -> Response:
    """Create a reminder."""
    reminder, files = with_plain_names(as_reminder(written), written.sent_ahead)
    async with database.transaction() as connection:
        kept = await reminder_changes.add(connection, reminder, {}, sent_ahead=files)
    return answer(reminder_row(kept), HTTPStatus.CREATED, {"Location": f"/api/reminders/{kept.id}"})


@reminders.put("/reminders/{reminder}", response_model=ReminderRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def change(database: InDatabase, _: Steerer, reminder: ReminderNamed, written: ReminderWanted) -> Response:
    """Replace a reminder; it keeps its files, and open runs keep their frozen content."""
    new = as_reminder(written)
    async with database.transaction() as connection:
        kept = await kept_reminders.find(connection, reminder, lock=True)
        plain, files = with_plain_names(new, written.sent_ahead, stored=kept.files)
        changed = await reminder_changes.change(connection, kept, plain, {}, sent_ahead=files)
    return answer(reminder_row(changed))


@reminders.delete("/reminders/{reminder}", **NO_CONTENT, responses=refusals(HTTPStatus.NOT_FOUND))
async def remove(database: InDatabase, _: Steerer, reminder: ReminderNamed) -> Response:
    """Delete a reminder; its runs stay, and an open run continues."""
    async with database.transaction() as connection:
        await kept_reminders.remove(connection, await kept_reminders.find(connection, reminder, lock=True))
    return Response(status_code=HTTPStatus.NO_CONTENT)


@reminders.get("/reminders/{reminder}/estimate", response_model=EstimateShown, responses=refusals(HTTPStatus.NOT_FOUND))
async def estimate(database: InDatabase, _: ReaderOfAll, loaded: AsSet, reminder: ReminderNamed) -> Response:
    """Whether a reminder fits into its window, when it would end, and what would be left over; makes no platform
    call."""
    async with database.connection() as connection:
        kept = await kept_reminders.find(connection, reminder)
        found = await estimate_reminder(connection, kept, partial(allowance_of, loaded.settings))
    return answer(estimate_shown(found))


@reminders.post("/reminders/{reminder}/fire", **_OPENS_RUN)
async def fire(
    database: InDatabase,
    _: Steerer,
    reminder: ReminderNamed,
    *,
    next_window: Annotated[bool, Query(description="After its delivery hours: send it when they next begin.")] = False,
) -> Response:
    """Fire a reminder now: its run is frozen, and the account's worker delivers it."""
    return await _fired(database, reminder, next_window=next_window)


@reminders.post("/reminders/{reminder}/test", **_OPENS_RUN)
async def test(database: InDatabase, _: Steerer, reminder: ReminderNamed, wanted: TestWanted) -> Response:
    """Send a reminder to one of its groups now, whatever the hour."""
    return await _fired(database, reminder, wanted.target)


@reminders.post("/reminders/{reminder}/test-privately", **QUEUES_COMMAND)
async def try_privately(database: InDatabase, _: Steerer, reminder: ReminderNamed) -> Response:
    """Send a reminder to the account's own chat, which no group sees; this makes no run."""
    async with database.transaction() as connection:
        kept = await kept_reminders.find(connection, reminder)
        return await accepted(connection, await ask_private_test(connection, kept))


async def _fired(
    database: Database, reminder: str, test_on: str | None = None, *, next_window: bool = False
) -> Response:
    """202: the new run, with its address in ``Location``."""
    async with database.transaction() as connection:
        kept = await kept_reminders.find(connection, reminder, lock=True)
        number = await run_controls.fire(connection, kept, test_on=test_on, next_window=next_window)
        [row] = await run_rows(connection, [await runs.find(connection, number)])
    where = {"Location": f"/api/runs/{number}"}
    return answer(row, HTTPStatus.ACCEPTED, where)
