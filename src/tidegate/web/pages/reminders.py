"""The reminders pages: a form in steps, a review with the estimate, firing and testing."""

from __future__ import annotations

from itertools import zip_longest
from typing import Annotated

from fastapi import Depends, Form, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.app.composition import allowance_of
from tidegate.app.settings import Settings
from tidegate.core.errors import BadInput
from tidegate.database.pool import Connection, Database
from tidegate.reminders import saved_reminder
from tidegate.reminders.documents import estimate_shown
from tidegate.reminders.estimate import ReminderEstimate, estimate_plan
from tidegate.reminders.private_test import ask_private_test
from tidegate.reminders.queries import reminders, target_lists, targets
from tidegate.reminders.queries.group_choice import choices
from tidegate.reminders.queries.reminders import KeptReminder
from tidegate.reminders.queries.targets import TargetGroup
from tidegate.reminders.reminder_files import with_plain_names
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_plan import make_plan, missed
from tidegate.web.auth.page_session import count_as_heavy
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import AS_PART, changed, go_to, live_page, page
from tidegate.web.reminder_form import WEEKDAYS, ReminderForm, form_of
from tidegate.web.server.request_bodies import Router

_GROUPS = 2_000

pages = Router()

Numbered = Annotated[str, Form()]
Filled = Annotated[ReminderForm, Form()]


@pages.get("/reminders")
@pages.get("/reminders/list", dependencies=AS_PART)
async def show(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return live_page(request, "reminders.html", reminders=await reminders.listing(connection))


# The form


@pages.get("/reminders/new")
async def new(request: Request, database: InDatabase, account: str = "") -> Response:
    """The inputs with their presets: every day at 09:00, delivery hours from 6 to 18."""
    return await _show_form(request, database, ReminderForm(account=account, text=[""], file=[""], sha256=[""]))


@pages.get("/reminders/{reminder}/edit")
async def edit(request: Request, database: InDatabase, reminder: str) -> Response:
    """The form of a stored reminder."""
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
    return await _show_form(request, database, form_of(kept.id, kept.written, kept.files))


@pages.post("/reminders/form")
async def change_again(request: Request, database: InDatabase, form: Filled) -> Response:
    """Back from the review, with all input."""
    return await _show_form(request, database, form)


@pages.get("/reminders/groups")
async def groups(request: Request, database: InDatabase, account: str = "") -> Response:
    """The groups that an account may write to."""
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


@pages.post("/reminders/review", dependencies=[Depends(count_as_heavy)])
async def review(request: Request, database: InDatabase, loaded: AsSet, form: Filled) -> Response:
    """What would be sent to how many groups, when, and whether it fits; nothing is saved yet."""
    try:
        foreseen = await _look(database, loaded.settings, form)
    except BadInput as problem:
        return await _show_form(request, database, form, trouble=str(problem))
    pairs = [(name, value) for name, value in (await request.form()).multi_items() if name != "change_token"]
    return page(
        request, "reminder_review.html", form=form, foreseen=foreseen, estimate=estimate_shown(foreseen), pairs=pairs
    )


async def _look(database: Database, settings: Settings, form: ReminderForm) -> ReminderEstimate:
    """Keep the reminder, look at its plan, and take all of it back."""
    async with database.connection() as connection:
        trial = connection.transaction()
        await trial.start()
        try:
            kept = await _keep(connection, form)
            account = (await accounts.find(connection, kept.account_name)).account
            plan = await make_plan(connection, kept, at=kept.due_at or kept.now)
            return await estimate_plan(connection, plan, allowance_of(settings, account.platform, account.standing))
        finally:
            await trial.rollback()


@pages.post("/reminders/save")
async def save(request: Request, database: InDatabase, form: Filled) -> Response:
    """Save it as reviewed; an error is shown above the form, which keeps all input."""
    try:
        async with database.transaction() as connection:
            await _keep(connection, form)
    except BadInput as problem:
        return await _show_form(request, database, form, trouble=str(problem))
    return go_to(request, "/reminders")


async def _keep(connection: Connection, form: ReminderForm) -> KeptReminder:
    written = parse_reminder(form.document())
    if not form.reminder:
        reminder, files = with_plain_names(written, form.files)
        return await saved_reminder.add(connection, reminder, {}, sent_ahead=files)
    kept = await reminders.find(connection, form.reminder, lock=True)
    reminder, files = with_plain_names(written, form.files, stored=kept.files)
    return await saved_reminder.change(connection, kept, reminder, {}, sent_ahead=files)


# What is done with them


@pages.post("/reminders/fire")
async def fire(
    request: Request, database: InDatabase, reminder: Numbered, *, next_window: Annotated[bool, Form()] = False
) -> Response:
    """Fire it now; the run's page shows what becomes of it. After its delivery hours, ask first when to send it."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        if not next_window and missed(kept.reminder, kept.now) is not None:
            return go_to(request, f"/reminders/{kept.id}/fire")
        run = await run_controls.fire(connection, kept, next_window=next_window)
    return go_to(request, f"/activity/{run}")


@pages.get("/reminders/{reminder}/fire")
async def ask_when(request: Request, database: InDatabase, reminder: str) -> Response:
    """Ask whether to wait for the next delivery hours, because today's have ended."""
    kept, found = await _with_groups(database, reminder)
    written = kept.reminder
    windows = missed(written, kept.now)
    return page(request, "reminder_fire.html", kept=kept, windows=windows, window=written.window, groups=len(found))


@pages.get("/reminders/{reminder}/test")
async def choose_test(request: Request, database: InDatabase, reminder: str) -> Response:
    """Choose the group for a test."""
    kept, found = await _with_groups(database, reminder)
    return page(request, "reminder_test.html", kept=kept, groups=found)


async def _with_groups(database: Database, reminder: str) -> tuple[KeptReminder, list[TargetGroup]]:
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
        return kept, await targets.of_reminder(connection, kept.id)


@pages.post("/reminders/test")
async def test(request: Request, database: InDatabase, reminder: Numbered, group: Annotated[str, Form()]) -> Response:
    """Send it to one group now, whatever the hour."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        run = await run_controls.fire(connection, kept, test_on=group)
    return go_to(request, f"/activity/{run}")


@pages.post("/reminders/test-privately")
async def try_privately(request: Request, database: InDatabase, reminder: Numbered) -> Response:
    """Send it to the account's own chat, which no group sees."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder)
        await ask_private_test(connection, kept)
    return changed(request, f'It goes to the own chat of "{kept.account_name}" now.', back="/reminders")


@pages.post("/reminders/remove")
async def remove(request: Request, database: InDatabase, reminder: Numbered) -> Response:
    """Delete a reminder; its runs stay."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        await reminders.remove(connection, kept)
    return changed(request, f'"{kept.name}" is forgotten.', back="/reminders")
