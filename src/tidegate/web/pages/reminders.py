"""Reminders: a form in steps, a review with the estimate, and firing and trying them."""

from __future__ import annotations

from itertools import zip_longest
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from tidegate.app import allowance_of
from tidegate.errors import BadInput
from tidegate.reminders import controls, saving
from tidegate.reminders.estimating import Foreseen, foresee
from tidegate.reminders.plan import make_plan
from tidegate.reminders.written import checked
from tidegate.settings import Settings
from tidegate.store import accounts, reminders, target_lists, targets
from tidegate.store.database import Connection, Database
from tidegate.store.group_list import choices
from tidegate.web.api.access import AsSet, InDatabase
from tidegate.web.reminder_form import WEEKDAYS, ReminderForm, form_of
from tidegate.web.rendering import changed, go_to, page
from tidegate.words import ReminderId

_GROUPS = 2_000

pages = APIRouter()

Numbered = Annotated[str, Form()]
Filled = Annotated[ReminderForm, Form()]


@pages.get("/reminders")
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "reminders.html", reminders=await reminders.listing(connection))


@pages.get("/reminders/list")
async def show_list(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/reminders.html", reminders=await reminders.listing(connection))


# The form


@pages.get("/reminders/new")
async def new(request: Request, database: InDatabase, account: str = "") -> Response:
    """The inputs with their presets: every day at 09:00, delivery hours from 6 to 18."""
    return await _show_form(request, database, ReminderForm(account=account, text=[""], file=[""], sha256=[""]))


@pages.get("/reminders/{reminder}/edit")
async def edit(request: Request, database: InDatabase, reminder: str) -> Response:
    """The same inputs, filled with what is kept."""
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
    return await _show_form(request, database, form_of(kept.id, kept.written, kept.files))


@pages.post("/reminders/form")
async def change_again(request: Request, database: InDatabase, form: Filled) -> Response:
    """Back from the review, with everything as it was typed."""
    return await _show_form(request, database, form)


@pages.get("/reminders/groups")
async def groups(request: Request, database: InDatabase, account: str = "") -> Response:
    """The groups that an account may write to, to choose from."""
    async with database.connection() as connection:
        return page(request, "parts/groups.html", groups=await choices(connection, account, _GROUPS), chosen=set())


async def _show_form(request: Request, database: Database, form: ReminderForm, trouble: str = "") -> Response:
    async with database.connection() as connection:
        names = [one.account.name for one in await accounts.listing(connection)]
        account = form.account or (names[0] if names else "")
        found = await choices(connection, account, _GROUPS)
        lists = await target_lists.listing(connection)
    known = {one.name for one in found}
    others = [*(one for one in form.group if one not in known), *form.others.splitlines()]
    return page(
        request, "reminder_form.html", form=form, account=account, accounts=names, groups=found, lists=lists,
        chosen=set(form.group), others="\n".join(others), weekdays=WEEKDAYS, trouble=trouble,
        messages=list(zip_longest(form.text, form.file, form.sha256, fillvalue="")),
    )  # fmt: skip


# The review


@pages.post("/reminders/review")
async def review(request: Request, database: InDatabase, loaded: AsSet, form: Filled) -> Response:
    """What would be sent to how many, when it begins and ends, and whether it fits; nothing is kept yet."""
    try:
        foreseen = await _look(database, loaded.settings, form)
    except BadInput as problem:
        return await _show_form(request, database, form, trouble=str(problem))
    pairs = [(name, value) for name, value in (await request.form()).multi_items() if name != "change_token"]
    return page(request, "reminder_review.html", form=form, foreseen=foreseen, told=foreseen.as_json(), pairs=pairs)


async def _look(database: Database, settings: Settings, form: ReminderForm) -> Foreseen:
    """Keep the reminder, look at its plan, and take all of it back."""
    async with database.connection() as connection:
        trial = connection.transaction()
        await trial.start()
        try:
            kept = await reminders.find(connection, str(await _keep(connection, form)))
            account = (await accounts.find(connection, kept.account_name)).account
            plan = await make_plan(connection, kept, at=kept.due_at or kept.now)
            return await foresee(connection, plan, allowance_of(settings, account.platform, account.standing))
        finally:
            await trial.rollback()


@pages.post("/reminders/save")
async def save(request: Request, database: InDatabase, form: Filled) -> Response:
    """Keep it as it was reviewed; what can no longer be is said above the form, with everything as it was typed."""
    try:
        async with database.transaction() as connection:
            await _keep(connection, form)
    except BadInput as problem:
        return await _show_form(request, database, form, trouble=str(problem))
    return go_to(request, "/reminders")


async def _keep(connection: Connection, form: ReminderForm) -> ReminderId:
    reminder = checked(form.document())
    if not form.reminder:
        return await saving.add(connection, reminder, {}, sent_ahead=form.files)
    kept = await reminders.find(connection, form.reminder, lock=True)
    return await saving.change(connection, kept, reminder, {}, sent_ahead=form.files)


# What is done with them


@pages.post("/reminders/fire")
async def fire(request: Request, database: InDatabase, reminder: Numbered) -> Response:
    """Fire it now; the run's page shows what becomes of it."""
    async with database.transaction() as connection:
        run = await controls.fire(connection, reminder)
    return go_to(request, f"/activity/{run}")


@pages.get("/reminders/{reminder}/test")
async def choose_test(request: Request, database: InDatabase, reminder: str) -> Response:
    """Which group to try it on."""
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
        found = await targets.of_reminder(connection, kept.id)
    return page(request, "reminder_test.html", kept=kept, groups=found)


@pages.post("/reminders/test")
async def test(request: Request, database: InDatabase, reminder: Numbered, group: Annotated[str, Form()]) -> Response:
    """Send it to one group now, whatever the hour."""
    async with database.transaction() as connection:
        run = await controls.fire(connection, reminder, test_on=group)
    return go_to(request, f"/activity/{run}")


@pages.post("/reminders/remove")
async def remove(request: Request, database: InDatabase, reminder: Numbered) -> Response:
    """Forget it; its runs stay."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        await reminders.remove(connection, kept)
    return changed(request, f'"{kept.name}" is forgotten.', back="/reminders")
