"""The page of one account: its name, age, proxy and errors, and its removal."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Path, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.app import operator_requests
from tidegate.app.account_commands import remove_account
from tidegate.app.account_setup import set_proxy
from tidegate.app.composition import Runtime
from tidegate.app.setting_sources import LoadedSettings
from tidegate.core.account import Account, Standing
from tidegate.core.errors import BadInput, NotThere
from tidegate.core.ids import AccountId
from tidegate.core.rules.outgoing_proxy import parse_proxy
from tidegate.database.pool import Connection, Database
from tidegate.web.api.parameters import BIGGEST
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import go_to, page
from tidegate.web.pages.queries import account_facts
from tidegate.web.rules.command_removal import without_commands

pages = GuardedRouter()

AccountNumber = Annotated[AccountId, Path(ge=1, le=BIGGEST)]


@pages.get("/accounts/{account}")
async def show(request: Request, database: InDatabase, loaded: AsSet, account: AccountNumber) -> Response:
    return await _show(request, database, loaded, AccountId(account))


async def _show(
    request: Request,
    database: Database,
    loaded: LoadedSettings,
    number: AccountId,
    *,
    faulty: str = "",
    trouble: str = "",
    typed: str = "",
) -> Response:
    """The page; *trouble* is why the input *faulty* was refused, and *typed* what was in it."""
    async with database.connection() as connection:
        listed = await accounts.find(connection, (await _account(connection, number)).name)
        errors = await account_facts.errors(connection, number)
        held = await account_facts.held(connection, number)
    status = HTTPStatus.BAD_REQUEST if trouble else HTTPStatus.OK
    return page(
        request, "account.html", listed=listed, one=listed.account, errors=errors, held=held, standings=list(Standing),
        pace_in_words=loaded.settings.pace_in_words, faulty=faulty, trouble=trouble, typed=typed, status=status,
    )  # fmt: skip


async def _account(connection: Connection, number: AccountId) -> Account:
    found = await accounts.get(connection, number)
    if found is None:
        raise NotThere(f"account {number}", "")
    return found


@pages.post("/accounts/{account}/rename")
async def rename(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    account: AccountNumber,
    name: Annotated[str, Form(max_length=200)],
) -> Response:
    """Call an account otherwise; its channels, reminders and sends stay with it."""
    async with database.connection() as connection:
        before = (await _account(connection, AccountId(account))).name
    wanted = name.strip()
    try:
        if wanted != before:
            async with database.transaction() as connection:
                await operator_requests.rename(connection, before, wanted)
    except BadInput as problem:
        return await _show(
            request, database, loaded, AccountId(account), faulty="new-name", trouble=str(problem), typed=name
        )
    return go_to(request, f"/accounts/{account}", said=f'The account is called "{wanted}" now.')


@pages.post("/accounts/{account}/age")
async def age(
    request: Request, database: InDatabase, loaded: AsSet, account: AccountNumber, standing: Annotated[Standing, Form()]
) -> Response:
    """Say how long an account has been in use, and so how fast it sends."""
    async with database.transaction() as connection:
        name = (await _account(connection, AccountId(account))).name
        pace = await operator_requests.set_standing(connection, loaded.settings, name, standing)
    return go_to(request, f"/accounts/{account}", said=f'"{name}" sends {pace} now.')


@pages.post("/accounts/{account}/proxy")
async def change_proxy(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    account: AccountNumber,
    *,
    proxy: Annotated[str, Form(max_length=1_000)] = "",
    none: Annotated[bool, Form()] = False,
) -> Response:
    """Connect an account through a proxy, which is tried first, or with *none* directly. It is never shown again."""
    async with database.connection() as connection:
        found = await _account(connection, AccountId(account))
    try:
        address = None if none else parse_proxy(proxy.strip())
        await set_proxy(Runtime(loaded.settings, database), found, address)
    except BadInput as problem:
        return await _show(request, database, loaded, found.id, faulty="proxy", trouble=str(problem))
    said = "connects directly now." if address is None else f"connects through {address.shown} now; it was tried."
    return go_to(request, f"/accounts/{account}", said=f'"{found.name}" {said}')


@pages.get("/accounts/{account}/remove")
async def confirm_removal(request: Request, database: InDatabase, account: AccountNumber) -> Response:
    """Name what is deleted with an account before it is deleted."""
    async with database.connection() as connection:
        one = await _account(connection, AccountId(account))
        held = await account_facts.held(connection, one.id)
    return page(request, "account_remove.html", one=one, held=held)


@pages.post("/accounts/{account}/remove")
async def remove(request: Request, database: InDatabase, loaded: AsSet, account: AccountNumber) -> Response:
    """Sign an account out at its platform and delete it here, with its reminders and sends; messages stay."""
    async with database.connection() as connection:
        one = await _account(connection, AccountId(account))
    sentence = await remove_account(Runtime(loaded.settings, database), one)
    return go_to(request, "/accounts", said=without_commands(sentence))
