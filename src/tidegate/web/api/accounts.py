"""Accounts over the API: state, pause and resume, cycles and their calls."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel

from tidegate.accounts.queries import accounts as kept_accounts
from tidegate.app import operator_requests
from tidegate.app.account_documents import AccountRow, account_row, account_rows
from tidegate.core.ids import CycleId
from tidegate.cycles.documents import CyclesPage, cycles_page
from tidegate.web.api.commands import QUEUES_COMMAND, accepted
from tidegate.web.api.parameters import POSITIVE, AccountNamed, Limit, Rows
from tidegate.web.api.responses import CHANGE_REFUSALS, answer, answer_all, refusals
from tidegate.web.auth.token_check import AsSet, InDatabase, ReaderOfAll, Steerer
from tidegate.web.server.request_bodies import ApiRouter


class CyclesQuery(BaseModel):
    """Which cycles: those before *before*, the *next* of the previous page."""

    before: Annotated[CycleId, POSITIVE] | None = None
    limit: Limit = 50


CyclesAsked = Annotated[CyclesQuery, Query()]


accounts = ApiRouter("/accounts", tags=["accounts"])


@accounts.get("", response_model=list[AccountRow], responses=refusals())
async def listed(database: InDatabase, loaded: AsSet, _: ReaderOfAll, asked: Rows) -> Response:
    """Accounts: state, next action, worker and pace."""
    async with database.connection() as connection:
        return answer_all(await account_rows(connection, loaded.settings, skip=asked.skip, most=asked.limit))


@accounts.get("/{account}", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND))
async def shown(database: InDatabase, loaded: AsSet, _: ReaderOfAll, account: AccountNamed) -> Response:
    """One account."""
    async with database.connection() as connection:
        return answer(await account_row(connection, account, loaded.settings))


@accounts.post("/{account}/pause", response_model=AccountRow, responses=CHANGE_REFUSALS)
async def pause(database: InDatabase, loaded: AsSet, _: Steerer, account: AccountNamed) -> Response:
    """Stop all platform calls of the account until it is resumed."""
    async with database.transaction() as connection:
        await operator_requests.pause(connection, account)
        return answer(await account_row(connection, account, loaded.settings))


@accounts.post("/{account}/resume", response_model=AccountRow, responses=CHANGE_REFUSALS)
async def resume(database: InDatabase, loaded: AsSet, _: Steerer, account: AccountNamed) -> Response:
    """Let the account work again, after a pause or a ban that is over."""
    async with database.transaction() as connection:
        await operator_requests.resume(connection, account)
        return answer(await account_row(connection, account, loaded.settings))


@accounts.post("/{account}/cycle", **QUEUES_COMMAND)
async def cycle(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Request a cycle over all of the account's channels."""
    async with database.transaction() as connection:
        found = await kept_accounts.find(connection, account)
        return await accepted(connection, await operator_requests.ask_cycle(connection, found.account))


@accounts.post("/{account}/sync", **QUEUES_COMMAND)
async def sync(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Request a new list of the channels that the account can see."""
    async with database.transaction() as connection:
        found = await kept_accounts.find(connection, account)
        return await accepted(connection, await operator_requests.ask_sync(connection, found.account))


@accounts.get("/{account}/cycles", response_model=CyclesPage, responses=refusals(HTTPStatus.NOT_FOUND))
async def cycles(database: InDatabase, _: ReaderOfAll, account: AccountNamed, asked: CyclesAsked) -> Response:
    """What each cycle did and how many calls it spent, newest first."""
    async with database.connection() as connection:
        found = await kept_accounts.find(connection, account)
        return answer(await cycles_page(connection, found.account, before=asked.before, most=asked.limit))
