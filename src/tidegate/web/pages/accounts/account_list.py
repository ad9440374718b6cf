"""The accounts page: state and pace of each account, pause and resume."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.accounts.queries import account_list, accounts
from tidegate.accounts.queries.account_list import AT_A_TIME, AccountCondition
from tidegate.app import operator_requests
from tidegate.app.account_documents import standing_offers
from tidegate.app.platform_registry import platforms
from tidegate.app.setting_sources import LoadedSettings
from tidegate.core.account import Standing
from tidegate.database.pool import Connection, Database
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import changed, page
from tidegate.web.pages.accounts.new_account import NewAccount

pages = GuardedRouter()

Named = Annotated[Text, Form()]

CONDITIONS: Mapping[AccountCondition, str] = {
    AccountCondition.CONNECTED: "Connected", AccountCondition.NOT_CONNECTED: "Not connected",
    AccountCondition.UNREACHABLE: "Cannot be reached", AccountCondition.PAUSED: "Paused",
    AccountCondition.SIGNED_OUT: "Signed out", AccountCondition.BANNED: "Banned",
}  # fmt: skip
"""How accounts do, in words, to choose from."""


class AccountsQuery(BaseModel):
    """Which accounts the page shows: those with *like* in their name, of a platform, in a state, after one."""

    like: Text = ""
    platform: Annotated[str, Query(max_length=40, pattern="^[a-z]*$")] = ""
    state: AccountCondition | Annotated[str, Query(pattern="^$")] = ""
    after: Annotated[int, Query(ge=0, le=BIGGEST)] = 0

    @property
    def narrows(self) -> bool:
        """Whether it leaves any account out."""
        return bool(self.like.strip() or self.platform or self.state)

    def asking(self, *, after: int = 0) -> str:
        """The end of the address of these accounts, those *after* one."""
        given = {"like": self.like, "platform": self.platform, "state": self.state, "after": after}
        asked = {name: str(value) for name, value in given.items() if value}
        return f"?{urlencode(asked)}" if asked else ""


Asked = Annotated[AccountsQuery, Query()]


@pages.get("/accounts")
async def show(request: Request, database: InDatabase, loaded: AsSet, asked: Asked) -> Response:
    """Accounts, some at a time, in natural order."""
    return await show_with_form(request, database, loaded, NewAccount(), asked=asked)


async def show_with_form(
    request: Request,
    database: Database,
    loaded: LoadedSettings,
    form: NewAccount,
    *,
    trouble: str = "",
    asked: AccountsQuery | None = None,
) -> Response:
    """The page with the form for a new account as it was filled in; *trouble* is why it was refused."""
    async with database.connection() as connection:
        values = await _listed(connection, loaded, asked or AccountsQuery())
        loopback = await accounts.loopback_address(connection)
        used = {one.account.platform.name for one in await accounts.listing(connection)}
    found = values["accounts"]
    return page(
        request, "accounts.html", **values, used=sorted(used), states=CONDITIONS,
        more=found[-1].id if len(found) == AT_A_TIME else None,
        form=form, trouble=trouble, faulty=form.faulty_field() if trouble else "", loopback=loopback,
        platforms=platforms(), standings=list(Standing),
        status=HTTPStatus.BAD_REQUEST if trouble else HTTPStatus.OK,
    )  # fmt: skip


@pages.get("/accounts/list")
async def show_list(request: Request, database: InDatabase, loaded: AsSet, asked: Asked) -> Response:
    async with database.connection() as connection:
        values = await _listed(connection, loaded, asked)
    return page(request, "parts/accounts.html", **values)


async def _listed(connection: Connection, loaded: LoadedSettings, asked: AccountsQuery) -> dict[str, Any]:
    found = await account_list.some(
        connection, like=asked.like.strip(), after=asked.after, platform=asked.platform,
        condition=AccountCondition(asked.state) if asked.state else None,
    )  # fmt: skip
    return {
        "accounts": found,
        "offers": await standing_offers(connection, loaded.settings),
        "asked": asked,
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
