"""Accounts: their health and pace, pausing and resuming them, and signing new ones in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate import steering
from tidegate.app import House
from tidegate.errors import BadInput
from tidegate.joining import new_account
from tidegate.store import account_list, accounts
from tidegate.store.account_list import AT_A_TIME
from tidegate.store.database import Database
from tidegate.web.api.access import AsSet, InDatabase
from tidegate.web.api.asking import BIGGEST, Text
from tidegate.web.conversations import Conversation, Conversations
from tidegate.web.rendering import changed, go_to, page
from tidegate.words import Account, AccountState, Platform, Standing

pages = APIRouter()

Named = Annotated[Text, Form()]
After = Annotated[int, Query(ge=0, le=BIGGEST)]
Phone = Annotated[str, Form(max_length=50)]


@pages.get("/accounts")
async def show(request: Request, database: InDatabase, like: Text = "", after: After = 0) -> Response:
    """Accounts, some at a time, in the order they were added."""
    async with database.connection() as connection:
        found = await account_list.some(connection, like=like, after=after)
        loopback = await connection.fetchval("SELECT max(loopback) FROM accounts")
    more = found[-1].id if len(found) == AT_A_TIME else None
    return page(
        request, "accounts.html", accounts=found, like=like, after=after, more=more, loopback=loopback,
        platforms=list(Platform), standings=list(Standing),
    )  # fmt: skip


@pages.get("/accounts/list")
async def show_list(request: Request, database: InDatabase, like: Text = "", after: After = 0) -> Response:
    async with database.connection() as connection:
        found = await account_list.some(connection, like=like, after=after)
    return page(request, "parts/accounts.html", accounts=found, like=like)


# Steering them


@pages.post("/accounts/pause")
async def pause(request: Request, database: InDatabase, name: Named) -> Response:
    """Make no further call for it until it is resumed."""
    async with database.transaction() as connection:
        await steering.pause(connection, name)
    return changed(request, f'"{name}" is paused: no further call is made for it.', back="/accounts")


@pages.post("/accounts/resume")
async def resume(request: Request, database: InDatabase, name: Named) -> Response:
    """Let it work again, after a pause or a ban that is over."""
    async with database.transaction() as connection:
        await steering.resume(connection, name)
    return changed(request, f'"{name}" works again.', back="/accounts")


@pages.post("/accounts/sync")
async def sync(request: Request, database: InDatabase, name: Named) -> Response:
    """Have it list the channels and groups it can see now."""
    async with database.transaction() as connection:
        await steering.ask_sync(connection, (await accounts.find(connection, name)).account)
    return changed(
        request, f'"{name}" lists what it can see; channels and groups show when it is done.', back="/accounts"
    )


# Signing one in


class NewAccount(BaseModel):
    """What is known of an account before its platform asks."""

    name: str = Field(max_length=200)
    platform: Platform
    standing: Standing = Standing.NORMAL
    loopback: str = Field("", max_length=200)
    phone: str = Field("", max_length=50)


@pages.post("/accounts/add")
async def add(request: Request, database: InDatabase, loaded: AsSet, new: Annotated[NewAccount, Form()]) -> Response:
    """Begin to sign an account in; the questions of its platform follow on a page of their own."""
    async with database.connection() as connection:
        await accounts.require_free(connection, new.name)
    account = new_account(new.name, new.platform, new.standing, new.loopback.strip() or None)
    return await _begin(request, House(loaded.settings, database), account, new.phone)


@pages.get("/accounts/sign-in")
async def ask_phone(request: Request, database: InDatabase, name: str) -> Response:
    """Ask for the phone that a code is typed into: a page of its own, because the list loads itself anew."""
    return page(request, "account_again.html", account=await _signed_out(database, name))


@pages.post("/accounts/sign-in")
async def sign_in_again(
    request: Request, database: InDatabase, loaded: AsSet, name: Named, phone: Phone = ""
) -> Response:
    """Begin to sign an account in again that its platform signed out; all that belongs to it stays."""
    account = await _signed_out(database, name)
    return await _begin(request, House(loaded.settings, database), account, phone)


async def _signed_out(database: Database, name: str) -> Account:
    async with database.connection() as connection:
        account = (await accounts.find(connection, name)).account
    if account.state is not AccountState.SIGNED_OUT:
        raise BadInput(f'"{name}" is not signed out. Load the page again.')
    return account


async def _begin(request: Request, house: House, account: Account, phone: str) -> Response:
    by_phone = phone.strip() or None
    if by_phone and account.platform is not Platform.WHATSAPP:
        raise BadInput("A code to type into a phone is WhatsApp's. Leave that phone number empty for other platforms.")
    talks = _conversations(request)
    conversation = talks.begin(house, account, by_phone)
    await talks.find(conversation).moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


@pages.get("/accounts/adding/{conversation}")
async def adding(request: Request, conversation: str) -> Response:
    """What is asked now, or how it ended."""
    return page(request, "account_adding.html", talk=_found(request, conversation), conversation=conversation)


@pages.get("/accounts/adding/{conversation}/now")
async def adding_now(request: Request, conversation: str) -> Response:
    return page(request, "parts/adding.html", talk=_found(request, conversation), conversation=conversation)


@pages.post("/accounts/adding/{conversation}")
async def answer(request: Request, conversation: str, answer: Annotated[str, Form(max_length=1_000)]) -> Response:
    """Bring an answer, and show what follows."""
    talk = _found(request, conversation)
    talk.answer(answer)
    await talk.moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


def _conversations(request: Request) -> Conversations:
    found: Conversations = request.app.state.conversations
    return found


def _found(request: Request, conversation: str) -> Conversation:
    try:
        return _conversations(request).find(conversation)
    except BadInput as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(problem)) from None
