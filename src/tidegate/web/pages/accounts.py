"""The accounts page: state and pace, pause and resume, and signing accounts in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import Form, HTTPException, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, PlainValidator

from tidegate.accounts.queries import account_list, accounts
from tidegate.accounts.queries.account_list import AT_A_TIME
from tidegate.app import operator_requests
from tidegate.app.account_documents import standing_offers
from tidegate.app.account_setup import new_account
from tidegate.app.composition import Runtime
from tidegate.app.platform_registry import platforms
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.errors import BadInput
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Database
from tidegate.web.api.parameters import BIGGEST, Text
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import AS_PART, changed, go_to, live_page, page
from tidegate.web.pending_account_sign_ins import PendingSignIn, PendingSignIns
from tidegate.web.server.request_bodies import Router

pages = Router()

Named = Annotated[Text, Form()]
After = Annotated[int, Query(ge=0, le=BIGGEST)]
Phone = Annotated[str, Form(max_length=50)]


@pages.get("/accounts")
async def show(request: Request, database: InDatabase, loaded: AsSet, like: Text = "", after: After = 0) -> Response:
    """Accounts, some at a time, in the order they were added."""
    async with database.connection() as connection:
        found = await account_list.some(connection, like=like, after=after)
        offers = await standing_offers(connection, loaded.settings)
        loopback = await accounts.loopback_address(connection)
    more = found[-1].id if len(found) == AT_A_TIME else None
    return page(
        request, "accounts.html", accounts=found, like=like, after=after, more=more, loopback=loopback,
        platforms=platforms(), standings=list(Standing), offers=offers,
        pace_in_words=loaded.settings.pace_in_words,
    )  # fmt: skip


@pages.get("/accounts/list")
async def show_list(
    request: Request, database: InDatabase, loaded: AsSet, like: Text = "", after: After = 0
) -> Response:
    async with database.connection() as connection:
        found = await account_list.some(connection, like=like, after=after)
        offers = await standing_offers(connection, loaded.settings)
    return page(
        request, "parts/accounts.html", accounts=found, like=like,
        standings=list(Standing), offers=offers, pace_in_words=loaded.settings.pace_in_words,
    )  # fmt: skip


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
    return changed(request, f'"{name}" is paused: no further call is made for it.', back="/accounts")


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
        request, f'"{name}" lists what it can see; channels and groups show when it is done.', back="/accounts"
    )


# Signing one in


class NewAccount(BaseModel):
    """The form for a new account."""

    name: str = Field(max_length=200)
    platform: Annotated[Platform, PlainValidator(platform_named)]
    standing: Standing = Standing.NORMAL
    loopback: str = Field("", max_length=200)
    phone: str = Field("", max_length=50)


@pages.post("/accounts/add")
async def add(request: Request, database: InDatabase, loaded: AsSet, new: Annotated[NewAccount, Form()]) -> Response:
    """Start signing an account in; the questions of its platform follow on another page."""
    async with database.connection() as connection:
        await accounts.require_free(connection, new.name)
    account = new_account(new.name, new.platform, new.standing, new.loopback.strip() or None)
    return await _begin(request, Runtime(loaded.settings, database), account, new.phone)


@pages.get("/accounts/sign-in")
async def ask_phone(request: Request, database: InDatabase, name: str) -> Response:
    """Ask for the phone that a code is typed into: a separate page, because the list reloads itself."""
    return page(request, "account_sign_in_again.html", account=await _signed_out(database, name))


@pages.post("/accounts/sign-in")
async def sign_in_again(
    request: Request, database: InDatabase, loaded: AsSet, name: Named, phone: Phone = ""
) -> Response:
    """Start signing an account in again that its platform signed out; its data stays."""
    account = await _signed_out(database, name)
    return await _begin(request, Runtime(loaded.settings, database), account, phone)


async def _signed_out(database: Database, name: str) -> Account:
    async with database.connection() as connection:
        account = (await accounts.find(connection, name)).account
    if account.state is not AccountState.SIGNED_OUT:
        raise BadInput(f'"{name}" is not signed out. Load the page again.')
    return account


async def _begin(request: Request, runtime: Runtime, account: Account, phone: str) -> Response:
    by_phone = phone.strip() or None
    if by_phone and not account.platform.links_by_phone:
        brands = " and ".join(one.brand for one in platforms() if one.links_by_phone)
        raise BadInput(f"A code to type into a phone is {brands}'s. Leave that phone number empty for other platforms.")
    talks = _conversations(request)
    conversation = talks.begin(runtime, account, by_phone)
    await talks.find(conversation).moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


@pages.get("/accounts/adding/{conversation}")
@pages.get("/accounts/adding/{conversation}/now", dependencies=AS_PART)
async def adding(request: Request, conversation: str) -> Response:
    """The open question of a sign-in, or its result."""
    return live_page(request, "account_sign_in.html", talk=_found(request, conversation), conversation=conversation)


@pages.post("/accounts/adding/{conversation}")
async def answer(request: Request, conversation: str, answer: Annotated[str, Form(max_length=1_000)]) -> Response:
    """Answer the open question, and show what follows."""
    talk = _found(request, conversation)
    talk.answer(answer)
    await talk.moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


def _conversations(request: Request) -> PendingSignIns:
    found: PendingSignIns = request.app.state.conversations
    return found


def _found(request: Request, conversation: str) -> PendingSignIn:
    try:
        return _conversations(request).find(conversation)
    except BadInput as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(problem)) from None
