"""Accounts over the API: who they are, whether they work, and what each of their cycles cost."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate import steering
from tidegate.shapes.accounts import AccountRow, account_row, account_rows
from tidegate.shapes.commands import CommandRow
from tidegate.shapes.cycles import CyclesPage, cycles_page
from tidegate.store import accounts as kept_accounts
from tidegate.web.api.access import InDatabase, ReaderOfAll, Steerer
from tidegate.web.api.asking import AccountNamed, Limit, Number, answer, answer_all, refusals
from tidegate.web.api.commands import accepted


class CyclesAsked(BaseModel):
    """Which cycles: those before one, which *next* of the page before names."""

    before: Number | None = None
    limit: Limit = 50


accounts = APIRouter(prefix="/accounts", tags=["accounts"])


@accounts.get("", response_model=list[AccountRow], responses=refusals())
async def listed(database: InDatabase, _: ReaderOfAll) -> Response:
    """Every account: its state, what to do about it, who serves it, its pace."""
    async with database.connection() as connection:
        return answer_all(await account_rows(connection))


@accounts.get("/{account}", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, _: ReaderOfAll, account: AccountNamed) -> Response:
    """One account."""
    async with database.connection() as connection:
        return answer(await account_row(connection, account))


@accounts.post(
    "/{account}/pause", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
)
async def pause(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Make no further call for the account until it is resumed."""
    async with database.transaction() as connection:
        await steering.pause(connection, account)
        return answer(await account_row(connection, account))


@accounts.post(
    "/{account}/resume", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
)
async def resume(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Let the account work again, after a pause or a ban that is over."""
    async with database.transaction() as connection:
        await steering.resume(connection, account)
        return answer(await account_row(connection, account))


@accounts.post(
    "/{account}/cycle",
    response_model=CommandRow,
    status_code=HTTPStatus.ACCEPTED,
    responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
)
async def cycle(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Have a cycle over all of the account's channels made now."""
    async with database.transaction() as connection:
        found = await kept_accounts.find(connection, account)
        return await accepted(connection, await steering.ask_cycle(connection, found.account))


@accounts.post(
    "/{account}/sync",
    response_model=CommandRow,
    status_code=HTTPStatus.ACCEPTED,
    responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
)
async def sync(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Have the account list what it can see now."""
    async with database.transaction() as connection:
        found = await kept_accounts.find(connection, account)
        return await accepted(connection, await steering.ask_sync(connection, found.account))


@accounts.get("/{account}/cycles", response_model=CyclesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def cycles(
    database: InDatabase, _: ReaderOfAll, account: AccountNamed, asked: Annotated[CyclesAsked, Query()]
) -> Response:
    """What each cycle did and how many calls it spent, newest first."""
    async with database.connection() as connection:
        found = await kept_accounts.find(connection, account)
        return answer(await cycles_page(connection, found.account, before=asked.before, most=asked.limit))
