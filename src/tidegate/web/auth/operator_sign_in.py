"""Signing in and out: with the operator's password, or with a one-time link that may also set it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi import FastAPI, Form, Request
from fastapi.responses import Response

from tidegate.access.queries import operator_password, page_sessions, password_tries, sign_in_links
from tidegate.core.durations import span_text
from tidegate.core.errors import BadInput
from tidegate.database.pool import Connection, Database
from tidegate.events.queries import feed
from tidegate.web.auth.csrf import SendAgain, is_from_own_page, require_own_origin
from tidegate.web.auth.form_resubmission import carried, show_again
from tidegate.web.auth.page_session import SignedIn, SignedInVisitor, SignInFirst, shown_secret
from tidegate.web.auth.token_check import InDatabase
from tidegate.web.page_response import address, go_to, is_htmx, local_path, page
from tidegate.web.server.error_responses import refusal
from tidegate.web.server.proxy_headers import client_of
from tidegate.web.server.request_bodies import Router
from tidegate.web.site_address import COOKIE, site_of

SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1_000
_LINK_COMMAND = "tidegate web --sign-in-link"
_USED_UP = f"This link was used already or is too old. Make a new one: {_LINK_COMMAND}"

_COOKIE_FOR = 400 * 24 * 3600  # seconds, the longest browsers keep one; the session's own end is in the database

_SEND_PLAINLY = {"Tidegate-Send": "plainly"}
"""To the page's script: a form with something typed in it is kept when the browser itself sends it."""

signing_in = Router(include_in_schema=False)

_hasher = PasswordHasher()
_hashing = ThreadPoolExecutor(2, thread_name_prefix="password")  # each takes 64 MiB and a core for a moment


async def hash_password(password: str) -> str:
    """The hash of a password; slow on purpose, in a thread."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadInput(f"The password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,} characters.")
    return await asyncio.get_running_loop().run_in_executor(_hashing, _hasher.hash, password)


async def is_password(kept: str, password: str) -> bool:
    """Whether *password* matches the stored hash *kept*."""

    def verify() -> bool:
        try:
            return _hasher.verify(kept, password)
        except (VerificationError, InvalidHashError):
            return False

    return await asyncio.get_running_loop().run_in_executor(_hashing, verify)


@dataclass
class WrongPassword(Exception):
    """Wrong password, or not checked because too many attempts failed; *headers* say how long."""

    status: HTTPStatus
    sentence: str
    headers: dict[str, str] = field(default_factory=dict)


async def require_password(request: Request, database: Database, password: str) -> None:
    """Whether the password is right. Too many attempts have to wait, and the count survives a restart.

    A browser that is signed in is limited only by its own attempts.
    """
    async with database.transaction() as connection:
        client = await _counted_as(request, connection)
        wait = await password_tries.charge_try(connection, client)
        kept = await operator_password.password_hash(connection)
    if wait is not None:
        rounded = timedelta(seconds=max(1, round(wait.total_seconds())))
        sentence = f"Too many wrong passwords. Try again in {span_text(rounded)}."
        headers = {"Retry-After": str(round(rounded.total_seconds()))}
        raise WrongPassword(HTTPStatus.TOO_MANY_REQUESTS, sentence, headers)
    if kept is None or not await is_password(kept, password):
        raise WrongPassword(HTTPStatus.FORBIDDEN, "Wrong password.")
    async with database.transaction() as connection:
        await password_tries.forgive(connection, client)


@signing_in.get("/sign-in")
async def ask(request: Request, database: InDatabase, once: str = "", next: str = "/") -> Response:  # noqa: A002 - as the address has it
    """The sign-in page: asks for the password, or accepts a one-time link. Looking at a link does not use it up."""
    async with database.connection() as connection:
        kept = await operator_password.password_hash(connection)
        good = bool(once) and await sign_in_links.link_is_good(connection, once)
    if once and good:
        return page(request, "one_time_link.html", once=once, has_password=kept is not None, trouble="")
    return _ask_again(request, _USED_UP if once else "", next=next, has_password=kept is not None)


@signing_in.post("/sign-in")
async def with_password(
    request: Request,
    database: InDatabase,
    password: Annotated[str, Form(max_length=LONGEST_PASSWORD)],
    next: Annotated[str, Form()] = "/",  # noqa: A002 - as the form has it
    typed: Annotated[str, Form()] = "",
) -> Response:
    """Sign in with the password; too many attempts have to wait, and the count survives a restart.

    *typed* is a form that was sent without a session: it can be sent afterwards.
    """
    require_own_origin(request)
    try:
        await require_password(request, database, password)
    except WrongPassword as wrong:
        answer = _ask_again(request, wrong.sentence, next=next, typed=typed, status=wrong.status)
        answer.headers.update(wrong.headers)
        return answer
    async with database.transaction() as connection:
        secret = await _begin(request, connection)
        request.state.visitor = SignedInVisitor(secret, await feed.latest(connection))
    kept = show_again(request, local_path(next), typed) if typed else None
    return _signed_in(request, secret, kept or go_to(request, local_path(next)))


@signing_in.post("/sign-in/once")
async def with_link(
    request: Request,
    database: InDatabase,
    once: Annotated[str, Form(max_length=200)],
    password: Annotated[str, Form(max_length=LONGEST_PASSWORD)] = "",
) -> Response:
    """Use up a one-time link: its holder is the operator, and may set the password with it.

    The link is checked first: hashing takes a core and 64 MiB for a moment, and a guess should not cost that.
    """
    require_own_origin(request)
    async with database.connection() as connection:
        if not await sign_in_links.link_is_good(connection, once):
            return _ask_again(request, _USED_UP, next="/", status=HTTPStatus.FORBIDDEN)
    try:
        hashed = await hash_password(password) if password else None
    except BadInput as problem:
        return await _greet_again(request, database, once, str(problem))
    async with database.transaction() as connection:
        if not await sign_in_links.use_link(connection, once):
            return _ask_again(request, _USED_UP, next="/", status=HTTPStatus.FORBIDDEN)
        if hashed is not None:
            await operator_password.set_password(connection, hashed)
        secret = await _begin(request, connection)
    return _signed_in(request, secret, go_to(request, "/"))


@signing_in.post("/sign-out")
async def sign_out(request: Request, database: InDatabase, visitor: SignedIn) -> Response:
    """End this browser's session."""
    async with database.transaction() as connection:
        await page_sessions.end_session(connection, visitor.secret)
    return signed_out(request)


def signed_out(request: Request) -> Response:
    """Redirect to the sign-in page, and delete the cookie of the ended session."""
    site = site_of(request)
    answer = go_to(request, "/sign-in")
    answer.delete_cookie(
        site.session_cookie(request), path=site.path("/"), secure=site.is_secure(request), httponly=True, samesite="lax"
    )
    return answer


def send_to_sign_in(app: FastAPI) -> None:
    """Redirect to sign-in; afterwards the browser returns to the page, with the input of a form."""

    async def ask(request: Request, _needed: Exception) -> Response:
        typed = await carried(request) if is_from_own_page(request) else ""
        if typed:
            database: Database = request.app.state.database
            async with database.connection() as connection:
                kept = await operator_password.password_hash(connection)
            trouble = "Your sign-in has ended. Sign in again: what you typed is kept meanwhile."
            return _ask_again(request, trouble, next=request.url.path, typed=typed, has_password=kept is not None)
        wanted = address(request)
        if is_htmx(request) or wanted == "/":
            answer = go_to(request, "/sign-in")
            answer.headers.update(_SEND_PLAINLY)
            return answer
        return go_to(request, f"/sign-in?next={quote(wanted, safe='/')}")

    async def show(request: Request, _needed: Exception) -> Response:
        typed = await carried(request)
        shown = show_again(request, request.url.path, typed) if typed else None
        if shown is None:
            sentence = "You have signed in again since this page was made. Reload the page."
            return refusal(request, HTTPStatus.FORBIDDEN, sentence, _SEND_PLAINLY)
        return shown

    app.add_exception_handler(SignInFirst, ask)
    app.add_exception_handler(SendAgain, show)


def _ask_again(
    request: Request,
    trouble: str,
    *,
    next: str,  # noqa: A002 - as the address has it
    typed: str = "",
    has_password: bool = True,
    status: int = HTTPStatus.OK,
) -> Response:
    return page(
        request, "sign_in.html", status=status, trouble=trouble, is_wrong=status >= HTTPStatus.BAD_REQUEST,
        next=local_path(next), typed=typed, has_password=has_password, command=_LINK_COMMAND,
    )  # fmt: skip


async def _greet_again(request: Request, database: Database, once: str, trouble: str) -> Response:
    async with database.connection() as connection:
        kept = await operator_password.password_hash(connection)
    return page(
        request, "one_time_link.html", status=HTTPStatus.BAD_REQUEST, once=once, has_password=kept is not None,
        trouble=trouble,
    )  # fmt: skip


async def _begin(request: Request, connection: Connection) -> str:
    return await page_sessions.begin_session(connection, client_of(request.scope), site_of(request).sessions)


async def _counted_as(request: Request, connection: Connection) -> str:
    """The key under which the attempts of this browser are counted."""
    secret = shown_secret(request)
    if await page_sessions.find_session(connection, secret, site_of(request).sessions) is not None:
        return password_tries.tries_within(secret)
    return password_tries.tries_from(client_of(request.scope))


def _signed_in(request: Request, secret: str, answer: Response) -> Response:
    site = site_of(request)
    answer.set_cookie(
        site.session_cookie(request),
        secret,
        max_age=_COOKIE_FOR,
        path=site.path("/"),
        secure=site.is_secure(request),
        httponly=True,
        samesite="lax",
    )
    if COOKIE in request.cookies and site.is_secure(request):  # from before cookies over https had a name of their own
        answer.delete_cookie(COOKIE, path=site.path("/"))
    return answer
