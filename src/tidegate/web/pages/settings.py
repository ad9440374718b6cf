"""Settings as they are in effect, colours, the password, and tokens for the API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from tidegate.errors import BadInput
from tidegate.shapes.settings import setting_rows
from tidegate.store import sign_ins, tokens
from tidegate.store.tokens import TokenScope
from tidegate.web.api.access import AsSet, InDatabase
from tidegate.web.guard import local_path
from tidegate.web.problems import refusal
from tidegate.web.rendering import THEME_COOKIE, THEMES, changed, go_to, is_htmx, page
from tidegate.web.signing_in import LONGEST_PASSWORD, WrongPassword, hash_password, require_password
from tidegate.web.site import site_of

_YEAR = 365 * 24 * 3600

pages = APIRouter()


@pages.get("/settings")
async def show(request: Request, database: InDatabase, loaded: AsSet) -> Response:
    """Every setting with its source, and every token; of secrets only that they are there."""
    async with database.connection() as connection:
        kept = await tokens.listing(connection)
        has_password = await sign_ins.password_hash(connection) is not None
    return page(
        request, "settings.html", settings=setting_rows(loaded), tokens=kept, scopes=list(TokenScope),
        has_password=has_password, warnings=loaded.warnings,
    )  # fmt: skip


@pages.get("/settings/tokens")
async def show_tokens(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        return page(request, "parts/tokens.html", tokens=await tokens.listing(connection))


@pages.post("/settings/tokens")
async def add_token(
    request: Request,
    database: InDatabase,
    name: Annotated[str, Form(max_length=100)],
    scope: Annotated[list[TokenScope] | None, Form()] = None,
) -> Response:
    """Make a token and show it, this once."""
    if not scope:
        raise BadInput("Choose at least one scope: a token without one opens nothing.")
    async with database.transaction() as connection:
        secret = await tokens.add(connection, name, scope, None)
    return page(request, "token_made.html", name=name, secret=secret)


@pages.post("/settings/tokens/revoke")
async def revoke_token(request: Request, database: InDatabase, name: Annotated[str, Form()]) -> Response:
    async with database.transaction() as connection:
        await tokens.revoke(connection, name)
    return changed(request, f'Token "{name}" is revoked.', back="/settings")


@pages.post("/settings/password")
async def set_password(
    request: Request,
    database: InDatabase,
    password: Annotated[str, Form(max_length=LONGEST_PASSWORD)],
    current: Annotated[str, Form(max_length=LONGEST_PASSWORD)] = "",
) -> Response:
    """A new password ends every session, this one too, so that a stolen cookie is worth nothing afterwards.

    Whoever finds a browser signed in cannot shut its owner out: where there is a password, it is asked for.
    """
    async with database.connection() as connection:
        has_one = await sign_ins.password_hash(connection) is not None
    if has_one:
        try:
            await require_password(request, database, current)
        except WrongPassword as wrong:
            return refusal(request, wrong.status, wrong.sentence, wrong.headers)
    hashed = await hash_password(password)
    async with database.transaction() as connection:
        await sign_ins.set_password(connection, hashed)
    return go_to(request, "/sign-in")


@pages.post("/theme")
async def choose_theme(
    request: Request,
    theme: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",  # noqa: A002 - as the form has it
) -> Response:
    """Light, dark, or as the device has it; the page's script shows it at once, so that nothing typed is lost."""
    if theme not in THEMES:
        raise BadInput(f"There are the colours {', '.join(THEMES)}.")
    site = site_of(request)
    answer = Response(status_code=HTTPStatus.NO_CONTENT) if is_htmx(request) else go_to(request, local_path(next))
    answer.set_cookie(
        THEME_COOKIE, theme, max_age=_YEAR, path=site.path("/"), secure=site.is_secure(request), httponly=True,
        samesite="lax",
    )  # fmt: skip
    return answer
