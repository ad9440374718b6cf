"""Signing an account in on the pages: the form, the questions of its platform, and what was found."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Form, HTTPException, Query, Request
from fastapi.responses import Response

from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import new_account, require_usable
from tidegate.app.composition import Runtime
from tidegate.app.platform_registry import platforms
from tidegate.core.account import Account, AccountState
from tidegate.core.errors import BadInput
from tidegate.database.pool import Database
from tidegate.web.api.parameters import Text
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import AS_PART, go_to, live_page
from tidegate.web.pages.accounts.account_list import show_with_form
from tidegate.web.pages.accounts.new_account import NewAccount
from tidegate.web.pending_account_sign_ins import PendingSignIn, PendingSignIns, SignInStart

pages = GuardedRouter()

Named = Annotated[Text, Form()]


@pages.post("/accounts/add")
async def add(request: Request, database: InDatabase, loaded: AsSet, new: Annotated[NewAccount, Form()]) -> Response:
    """Start signing an account in. What was refused is shown again, with all that was typed."""
    try:
        start = await _checked(database, new)
    except BadInput as problem:
        return await show_with_form(request, database, loaded, new, trouble=str(problem))
    return await _begin(request, Runtime(loaded.settings, database), start)


async def _checked(database: Database, new: NewAccount) -> SignInStart:
    """What can be refused before any question is asked."""
    if new.platform is None:
        raise BadInput("Choose a platform.")
    async with database.connection() as connection:
        await accounts.require_new_name(connection, new.name)
    account = new_account(new.name, new.platform, new.standing, new.loopback.strip() or None)
    proxy = new.proxy_address
    if proxy is not None:
        await require_usable(account, proxy)
    return SignInStart(account, proxy, _phone_of(account, new.phone))


def _phone_of(account: Account, phone: str) -> str | None:
    given = phone.strip() or None
    if given and not account.platform.links_by_phone:
        brands = " and ".join(one.brand for one in platforms() if one.links_by_phone)
        raise BadInput(f"A code to type into a phone is {brands}'s. Leave that phone number empty for other platforms.")
    return given


@pages.post("/accounts/sign-in")
async def sign_in_again(request: Request, database: InDatabase, loaded: AsSet, name: Named) -> Response:
    """Start signing an account in again that its platform signed out; its data stays."""
    async with database.connection() as connection:
        account = (await accounts.find(connection, name)).account
    if account.state is not AccountState.SIGNED_OUT:
        raise BadInput(f'"{account.name}" is not signed out. Reload the page.')
    return await _begin(request, Runtime(loaded.settings, database), SignInStart(account))


async def _begin(request: Request, runtime: Runtime, start: SignInStart) -> Response:
    talks = _conversations(request)
    conversation = talks.begin(runtime, start)
    await talks.find(conversation).moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


@pages.get("/accounts/adding/{conversation}")
async def adding(request: Request, conversation: str) -> Response:
    """The open question of a sign-in, or its result."""
    return live_page(request, "account_sign_in.html", talk=_found(request, conversation), conversation=conversation)


@pages.get("/accounts/adding/{conversation}/now", dependencies=AS_PART)
async def adding_now(request: Request, conversation: str, seen: Annotated[int, Query(ge=0)] = 0) -> Response:
    """The same as a part; nothing while it is as the page has *seen* it, so that a code is not drawn again."""
    talk = _found(request, conversation)
    if talk.version == seen:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return live_page(request, "account_sign_in.html", talk=talk, conversation=conversation)


@pages.post("/accounts/adding/{conversation}")
async def answer(request: Request, conversation: str, answer: Annotated[str, Form(max_length=1_000)]) -> Response:
    """Answer the open question, and show what follows."""
    talk = _found(request, conversation)
    talk.answer(answer)
    await talk.moved_on()
    return go_to(request, f"/accounts/adding/{quote(conversation)}")


@pages.post("/accounts/adding/{conversation}/restart")
async def restart(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    conversation: str,
    by: Annotated[Literal["scan", "code"], Form()] = "scan",
) -> Response:
    """Begin from the start with what was chosen, by a code to scan or to type."""
    talk = _found(request, conversation)
    by_code = by == "code" and talk.account.platform.links_by_phone
    talk = _conversations(request).restart(conversation, Runtime(loaded.settings, database), "" if by_code else None)
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
