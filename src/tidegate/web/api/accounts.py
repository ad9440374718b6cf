"""Accounts over the API: who they are, whether they work, and what each of their cycles cost."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from tidegate.errors import BadInput
from tidegate.shapes.accounts import AccountRow, account_row, account_rows
from tidegate.store import accounts as kept_accounts
from tidegate.store import commands
from tidegate.store.accounts import Listed
from tidegate.store.database import Connection, Database
from tidegate.web.api.access import InDatabase, ReaderOfAll, Steerer
from tidegate.web.api.asking import AccountNamed, answer, answer_all, refusals
from tidegate.words import AccountState

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
        await found_account(connection, account)
        return answer(await account_row(connection, account))


@accounts.post(
    "/{account}/pause", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
)
async def pause(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Make no further call for the account until it is resumed."""
    return await _change(database, account, AccountState.PAUSED, AccountState.ACTIVE)


@accounts.post(
    "/{account}/resume", response_model=AccountRow, responses=refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
)
async def resume(database: InDatabase, _: Steerer, account: AccountNamed) -> Response:
    """Let the account work again, after a pause or a ban that is over."""
    return await _change(database, account, AccountState.ACTIVE, AccountState.PAUSED, AccountState.BANNED)


async def _change(database: Database, name: str, state: AccountState, *expected: AccountState) -> Response:
    """Store the state and tell the owner, who looks again; one that is in that state already stays in it."""
    async with database.transaction() as connection:
        found = (await found_account(connection, name)).account
        changed = await kept_accounts.change_state(connection, found.id, state, expected=expected)
        if not changed and found.state is not state:
            raise HTTPException(HTTPStatus.CONFLICT, unable(found.name, found.state))
        await commands.ask(connection, found.id, "look_again", {})
        return answer(await account_row(connection, name))


def unable(name: str, state: AccountState) -> str:
    """Why an account cannot do what is asked, and what a person does about it."""
    return f'Account "{name}" is {state.value.replace("_", " ")}: {state.next_action.replace("NAME", name)}.'


async def found_account(connection: Connection, name: str) -> Listed:
    """The account of that name, or 404 with the sentence."""
    try:
        return await kept_accounts.find(connection, name)
    except BadInput as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(problem)) from None
