"""The settings page: settings in effect, colours, the password, and tokens of the API."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.access.queries import operator_password, page_sessions, tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.app.operator_requests import token_end
from tidegate.app.setting_sources import LoadedSettings
from tidegate.app.settings_document import setting_rows
from tidegate.channels.queries import channel_places
from tidegate.channels.queries.channel_places import ChannelPlace
from tidegate.channels.rules.channel_names import full_name
from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey
from tidegate.core.rules.natural_order import natural_key
from tidegate.core.rules.readable_values import counted
from tidegate.database.pool import Connection, Database
from tidegate.web.api.parameters import days_of
from tidegate.web.auth.operator_sign_in import (
    LONGEST_PASSWORD,
    WrongPassword,
    hash_password,
    require_password,
    signed_out,
)
from tidegate.web.auth.page_session import GuardedRouter
from tidegate.web.auth.token_check import AsSet, InDatabase
from tidegate.web.page_response import THEME_COOKIE, THEMES, changed, go_to, is_htmx, local_path, page
from tidegate.web.refused_field import FIELD_HEADER, of_field
from tidegate.web.server.error_responses import refusal
from tidegate.web.site_address import site_of

_YEAR = 365 * 24 * 3600
_LIFETIMES = (("", "never"), ("7d", "after 7 days"), ("30d", "after 30 days"), ("90d", "after 90 days"),
              ("365d", "after a year"))  # fmt: skip

pages = GuardedRouter()


class TokenForm(BaseModel):
    """The form for a new token."""

    name: Annotated[str, Field(max_length=100)] = ""
    scope: list[TokenScope] = []
    expires: Annotated[str, Field(max_length=100)] = ""


@pages.get("/settings")
async def show(request: Request, database: InDatabase, loaded: AsSet) -> Response:
    """Every setting with its source, and every token; secrets are hidden."""
    return await _show(request, database, loaded, TokenForm(scope=[TokenScope.READ]))


async def _show(
    request: Request, database: Database, loaded: LoadedSettings, new: TokenForm, trouble: str = ""
) -> Response:
    """The page with the form for a token as it was filled in; *trouble* is why it was refused."""
    async with database.connection() as connection:
        kept = await _tokens(connection)
        places = await _places(connection, kept)
        open_sessions = await page_sessions.count_sessions(connection)
        has_password = await operator_password.password_hash(connection) is not None
    return page(
        request, "settings.html", settings=setting_rows(loaded), tokens=kept, scopes=list(TokenScope),
        lifetimes=_LIFETIMES, has_password=has_password, warnings=loaded.warnings, sessions=site_of(request).sessions,
        new=new, trouble=trouble, places=places, open_sessions=open_sessions,
        status=HTTPStatus.BAD_REQUEST if trouble else HTTPStatus.OK,
    )  # fmt: skip


async def _tokens(connection: Connection) -> list[tokens.Token]:
    return sorted(await tokens.listing(connection), key=lambda one: natural_key(one.name))


async def _places(connection: Connection, kept: list[tokens.Token]) -> dict[ChannelKey, ChannelPlace]:
    """The channels that tokens are limited to, in natural order."""
    found = await channel_places.of_keys(connection, {key for one in kept for key in one.channels or ()})
    return dict(sorted(found.items(), key=lambda pair: natural_key(full_name(pair[1].title, pair[1]))))


@pages.get("/settings/tokens")
async def show_tokens(request: Request, database: InDatabase) -> Response:
    async with database.connection() as connection:
        kept = await _tokens(connection)
        return page(request, "parts/tokens.html", tokens=kept, places=await _places(connection, kept))


@pages.post("/settings/tokens")
async def add_token(
    request: Request,
    database: InDatabase,
    loaded: AsSet,
    new: Annotated[TokenForm, Form()],
) -> Response:
    """Create a token and show it once; what was refused is shown again as it was filled in."""
    try:
        async with database.transaction() as connection:
            secret, end = await _add_token(connection, new)
    except BadInput as problem:
        if is_htmx(request):  # the page's script shows the sentence
            raise
        return await _show(request, database, loaded, new, str(problem))
    return page(request, "token_made.html", name=new.name, secret=secret, expires_at=end)


async def _add_token(connection: Connection, new: TokenForm) -> tuple[str, datetime | None]:
    """The secret of the new token, and when it expires."""
    if not new.scope:
        raise BadInput("Choose at least one scope: a token without one opens nothing.")
    end = await token_end(connection, new.expires or None, days_of("UTC"))
    return await tokens.add(connection, new.name, new.scope, None, expires_at=end), end


@pages.post("/settings/tokens/confirm")
async def confirm_tokens(request: Request, database: InDatabase, name: Annotated[str, Form()] = "") -> Response:
    """Confirm a token that was restored from a backup, or without a name all of them."""
    async with database.transaction() as connection:
        confirmed = await tokens.confirm(connection, name or None)
    said = f'Token "{name}" is confirmed.' if name else f"{counted(len(confirmed), 'token')} confirmed."
    return changed(request, said, back="/settings")


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
    """A new password ends every session, this one too, so that a stolen cookie becomes useless.

    Where a password is set it is required, so that a stranger at a signed-in browser cannot lock its owner out.
    """
    async with database.connection() as connection:
        has_one = await operator_password.password_hash(connection) is not None
    if has_one:
        try:
            await require_password(request, database, current)
        except WrongPassword as wrong:
            return refusal(request, wrong.status, wrong.sentence, {**wrong.headers, FIELD_HEADER: "current"})
    with of_field("password"):
        hashed = await hash_password(password)
    async with database.transaction() as connection:
        await operator_password.set_password(connection, hashed)
    return signed_out(request)


@pages.post("/settings/sign-out-everywhere")
async def sign_out_everywhere(request: Request, database: InDatabase) -> Response:
    """End every session, this one too, with its live streams; unused links become invalid."""
    async with database.transaction() as connection:
        await page_sessions.end_all_sessions(connection)
    return signed_out(request)


@pages.post("/theme")
async def choose_theme(
    request: Request,
    theme: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",  # noqa: A002 - as the form has it
) -> Response:
    """Choose light, dark or the device's colours; the page's script applies it, so that no input is lost."""
    if theme not in THEMES:
        raise BadInput(f"There are the colours {', '.join(THEMES)}.")
    site = site_of(request)
    answer = Response(status_code=HTTPStatus.NO_CONTENT) if is_htmx(request) else go_to(request, local_path(next))
    answer.set_cookie(
        THEME_COOKIE, theme, max_age=_YEAR, path=site.path("/"), secure=site.is_secure(request), httponly=True,
        samesite="lax",
    )  # fmt: skip
    return answer
