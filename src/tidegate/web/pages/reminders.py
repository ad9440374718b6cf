"""The reminders pages: a form in steps, a review with the estimate, firing and testing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, zip_longest
from typing import Annotated

from fastapi import Depends, Form, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.app.composition import allowance_of
from tidegate.app.settings import Settings
from tidegate.core.account import Account
from tidegate.core.errors import BadInput
from tidegate.core.rules.natural_order import NaturalKey, natural_key
from tidegate.database.pool import Connection, Database
from tidegate.reminders import reminder_changes
from tidegate.reminders.documents import estimate_shown
from tidegate.reminders.private_test import ask_private_test
from tidegate.reminders.queries import reminders, run_states, runs, target_lists, targets
from tidegate.reminders.queries.group_choice import choices
from tidegate.reminders.queries.reminders import KeptReminder, ReminderReach
from tidegate.reminders.queries.targets import TargetGroup
from tidegate.reminders.reminder_estimate import ReminderEstimate, estimate_plan
from tidegate.reminders.reminder_files import with_plain_names
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.rules.placeholders import PLACEHOLDERS
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.rules.schedule_text import schedule_in_words
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_plan import make_plan
from tidegate.web.api.parameters import Place
from tidegate.web.auth.page_session import GuardedRouter, count_as_heavy
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import AS_PART, changed, go_to, live_page, page
from tidegate.web.reminder_form_fields import WEEKDAYS, ReminderForm, form_of

_GROUPS = 2_000
_NEVER = datetime.max.replace(tzinfo=UTC)
SENDING = (RunState.RUNNING, RunState.WAITING)
"""The states of a run that sends by itself, now or when its hours begin."""

pages = GuardedRouter()


@dataclass(frozen=True, slots=True)
class ListedReminder:
    """A reminder as the list shows it."""

    kept: KeptReminder
    reach: ReminderReach

    @property
    def schedule(self) -> str:
        """When it is sent, in words."""
        return schedule_in_words(self.kept.reminder.schedule)

    @property
    def has_switch(self) -> bool:
        """Whether it can be turned on and off: one that is sent manually has nothing to turn off."""
        return self.kept.reminder.schedule is not None

    @property
    def enabled(self) -> bool:
        return self.kept.reminder.enabled


Numbered = Annotated[str, Form()]
Filled = Annotated[ReminderForm, Form()]


@pages.get("/reminders")
@pages.get("/reminders/list", dependencies=AS_PART)
async def show(request: Request, database: InDatabase, saved: Place = 0) -> Response:
    async with database.connection() as connection:
        listed = await reminders.listing(connection)
        reaches = await reminders.reaches(connection)
        all_paused = await run_states.everything_is_paused(connection)
        any_account = bool(listed) or bool(await accounts.listing(connection, most=1))
    found = sorted(listed, key=lambda kept: (kept.due_at or _NEVER, natural_key(kept.name)))
    return live_page(
        request, "reminders.html", reminders=[ListedReminder(kept, reaches[kept.id]) for kept in found],
        all_paused=all_paused, any_account=any_account, saved=next((one for one in found if one.id == saved), None),
    )  # fmt: skip


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


@pages.get("/reminders/{reminder}/duplicate")
async def duplicate(request: Request, database: InDatabase, reminder: str) -> Response:
    """The form of a new reminder with all that another one has; nothing is saved yet."""
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
        taken = {one.name for one in await reminders.listing(connection)}
    names = (f"{kept.name[:180]} (copy{f' {number}' if number > 1 else ''})" for number in count(1))
    form = form_of(kept.id, kept.written, kept.files)
    copied = form.model_copy(update={"reminder": "", "name": next(name for name in names if name not in taken)})
    return await _show_form(request, database, copied)


@pages.post("/reminders/form")
async def change_again(request: Request, database: InDatabase, form: Filled) -> Response:
    """Back from the review, with all input."""
    return await _show_form(request, database, form)


@pages.get("/reminders/groups")
async def groups(request: Request, database: InDatabase, account: str = "") -> Response:
    """The groups that an account may write to."""
    async with database.connection() as connection:
        found = await choices(connection, account, _GROUPS)
    return page(request, "parts/group_choice.html", groups=found, chosen=set())


async def _show_form(request: Request, database: Database, form: ReminderForm, trouble: str = "") -> Response:
    async with database.connection() as connection:
        known = sorted((one.account for one in await accounts.listing(connection)), key=_by_name)
        account = form.account or (known[0].name if known else "")
        found = await choices(connection, account, _GROUPS)
        lists = sorted(await target_lists.listing(connection), key=lambda one: natural_key(one.name))
    names = {one.name for one in found}
    others = [*(one for one in form.group if one not in names), *form.others.splitlines()]
    return page(
        request, "reminder_form.html", form=form, account=account, accounts=known, groups=found, lists=lists,
        chosen=set(form.group), others="\n".join(others), weekdays=WEEKDAYS.items(), trouble=trouble,
        faulty=form.faulty_field() if trouble else "", placeholders=PLACEHOLDERS,
        messages=list(zip_longest(form.text, form.file, form.sha256, fillvalue="")),
        returned=request.method == "POST",
    )  # fmt: skip


def _by_name(account: Account) -> NaturalKey:
    return natural_key(account.name)


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
        request, "reminder_review.html", form=form, foreseen=foreseen, estimate=estimate_shown(foreseen), pairs=pairs,
        schedule=schedule_in_words(foreseen.plan.reminder.schedule), window=foreseen.plan.reminder.window,
    )  # fmt: skip


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
            kept = await _keep(connection, form)
    except BadInput as problem:
        return await _show_form(request, database, form, trouble=str(problem))
    return go_to(request, f"/reminders?saved={kept.id}")


async def _keep(connection: Connection, form: ReminderForm) -> KeptReminder:
    written = parse_reminder(form.document())
    if not form.reminder:
        reminder, files = with_plain_names(written, form.files)
        return await reminder_changes.add(connection, reminder, {}, sent_ahead=files)
    kept = await reminders.find(connection, form.reminder, lock=True)
    reminder, files = with_plain_names(written, form.files, stored=kept.files)
    return await reminder_changes.change(connection, kept, reminder, {}, sent_ahead=files)


# What is done with them


@pages.post("/reminders/switch")
async def switch(
    request: Request, database: InDatabase, reminder: Numbered, *, on: Annotated[bool, Form()]
) -> Response:
    """Turn a reminder on or off; off, its schedule sends nothing."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        await reminder_changes.set_enabled(connection, kept, on=on)
    says = "is on: it is sent by its schedule." if on else "is off: nothing is sent until you turn it on."
    return changed(request, f'"{kept.name}" {says}', back="/reminders")


@pages.post("/reminders/fire")
async def fire(
    request: Request,
    database: InDatabase,
    reminder: Numbered,
    *,
    next_window: Annotated[bool, Form()] = False,
    any_hour: Annotated[bool, Form()] = False,
) -> Response:
    """Send it now; the run's page shows what becomes of it. Outside its delivery hours, ask first when to send it."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        if not (next_window or any_hour) and not kept.reminder.window.is_open(kept.now):
            return go_to(request, f"/reminders/{kept.id}/fire")
        run = await run_controls.fire(connection, kept, next_window=next_window, any_hour=any_hour)
    return go_to(request, f"/activity/{run}")


@pages.get("/reminders/{reminder}/fire")
async def confirm_fire(request: Request, database: InDatabase, reminder: str) -> Response:
    """Name what is sent to how many groups before it is sent; outside its delivery hours, ask when."""
    async with database.connection() as connection:
        kept = await reminders.find(connection, reminder)
        found = await targets.of_reminder(connection, kept.id)
        ahead = await runs.open_of(connection, kept.account)
        plan, refused = None, ""
        try:
            plan = await make_plan(connection, kept, at=kept.now)
        except BadInput as problem:
            refused = str(problem)
    window = kept.reminder.window
    opens = None if window.is_open(kept.now) else window.next(kept.now).opens
    return page(
        request, "reminder_fire.html", kept=kept, opens=opens, window=window, groups=len(found), plan=plan,
        refused=refused, ahead=[one for one in ahead if one.state in SENDING and not one.test],
    )  # fmt: skip


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
    return changed(request, f'A test goes to the own chat of "{kept.account_name}" now.', back="/reminders")


@pages.post("/reminders/remove")
async def remove(request: Request, database: InDatabase, reminder: Numbered) -> Response:
    """Delete a reminder; its runs stay."""
    async with database.transaction() as connection:
        kept = await reminders.find(connection, reminder, lock=True)
        await reminders.remove(connection, kept)
    return changed(request, f'"{kept.name}" is deleted.', back="/reminders")
