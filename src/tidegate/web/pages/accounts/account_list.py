"""The accounts page: state and pace of each account, pause and resume."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Form, Query, Request
from fastapi.responses import Response

from tidegate.accounts.queries import account_list, accounts
from tidegate.accounts.queries.account_list import AT_A_TIME
from tidegate.app import operator_requests
from tidegate.app.account_documents import standing_offers
from tidegate.app.platform_registry import platforms
from tidegate.app.setting_sources import LoadedSettings
from tidegate.core.account import Standing
from tidegate.database.pool import Connection, Database
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import changed, page
from tidegate.web.pages.accounts.new_account import NewAccount
from tidegate.web.server.request_bodies import Router

pages = Router()

Named = Annotated[Text, Form()]
After = Annotated[int, Query(ge=0, le=BIGGEST)]


@pages.get("/accounts")
async def show(request: Request, database: InDatabase, loaded: AsSet, like: Text = "", after: After = 0) -> Response:
    """Accounts, some at a time, in the order they were added."""
    return await show_with_form(request, database, loaded, NewAccount(), like=like, after=after)


async def show_with_form(
    request: Request,
    database: Database,
    loaded: LoadedSettings,
    form: NewAccount,
    *,
    trouble: str = "",
    like: str = "",
    after: int = 0,
) -> Response:
    """The page with the form for a new account as it was filled in; *trouble* is why it was refused."""
    async with database.connection() as connection:
        values = await _listed(connection, loaded, like, after)
        loopback = await accounts.loopback_address(connection)
    found = values["accounts"]
    return page(
        request, "accounts.html", **values, after=after, more=found[-1].id if len(found) == AT_A_TIME else None,
        form=form, trouble=trouble, faulty=form.faulty_field() if trouble else "", loopback=loopback,
        platforms=platforms(), standings=list(Standing),
        status=HTTPStatus.BAD_REQUEST if trouble else HTTPStatus.OK,
    )  # fmt: skip


@pages.get("/accounts/list")
async def show_list(
    request: Request, database: InDatabase, loaded: AsSet, like: Text = "", after: After = 0
) -> Response:
    async with database.connection() as connection:
        values = await _listed(connection, loaded, like, after)
    return page(request, "parts/accounts.html", **values)


async def _listed(connection: Connection, loaded: LoadedSettings, like: str, after: int) -> dict[str, Any]:
    return {
        "accounts": await account_list.some(connection, like=like, after=after),
        "offers": await standing_offers(connection, loaded.settings),
        "like": like,
        "pace_in_words": loaded.settings.pace_in_words,
    }


# Steering them


@pages.post("/accounts/standing")
async def standing(
    request: Request, database: InDatabase, loaded: AsSet, name: Named, standing: Annotated[Standing, Form()]
) -> Response:
    """Change the standing of an account, and so how fast it sends."""
    async with database.transaction() as connection:
        pace = await operator_requests.set_standing(connection, loaded.settings, name, standing)
    return changed(request, f'"{name}" sends {pace} now.', back="/accounts")


@pages.post("/accounts/pause")
async def pause(request: Request, database: InDatabase, name: Named) -> Response:
    """Stop all platform calls of an account until it is resumed."""
    async with database.transaction() as connection:
        await operator_requests.pause(connection, name)
    return changed(request, f'"{name}" is paused: no further request is made for it.', back="/accounts")


@pages.post("/accounts/resume")
async def resume(request: Request, database: InDatabase, name: Named) -> Response:
    """Let an account work again, after a pause or a ban that is over."""
    async with database.transaction() as connection:
        await operator_requests.resume(connection, name)
    return changed(request, f'"{name}" works again.', back="/accounts")


@pages.post("/accounts/sync")
async def sync(request: Request, database: InDatabase, name: Named) -> Response:
    """Request a new list of the channels and groups that an account can see."""
    async with database.transaction() as connection:
        await operator_requests.ask_sync(connection, (await accounts.find(connection, name)).account)
    return changed(
        request, f'Refreshing the channels of "{name}". New ones appear when that is done.', back="/accounts"
    )
