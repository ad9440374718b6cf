"""Tokens over the API: create, list, confirm and revoke, by a token with at least the same rights."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import HTTPException, Path
from fastapi.responses import Response
from pydantic import BaseModel, Field

from tidegate.access.documents import NewToken, TokenRow, token_row
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import Token, TokenScope
from tidegate.access.rules.grant_comparison import Grant, excess
from tidegate.app import operator_requests
from tidegate.core.json_fields import Words, instant
from tidegate.database.pool import Connection
from tidegate.web.api.parameters import Text, days_of
from tidegate.web.api.responses import CHANGE_REFUSALS, NO_CONTENT, answer, answer_all, refusals
from tidegate.web.auth.token_check import Admin, InDatabase, channel_for
from tidegate.web.server.request_bodies import ApiRouter

own_tokens = ApiRouter("/tokens", tags=["tokens"])


class TokenWanted(BaseModel):
    """A token to make: *channels* are the numbers or titles of the only ones it may read."""

    name: Text
    scopes: Annotated[list[TokenScope], Field(min_length=1, max_length=100)] = [TokenScope.READ]
    channels: Annotated[list[Text], Field(max_length=1_000)] | None = None
    expires: Text | None = Field(None, description="A span such as 30d, a day, or an instant; left out, it has no end.")


@own_tokens.get("", response_model=list[TokenRow], responses=refusals())
async def listed(database: InDatabase, _: Admin) -> Response:
    """Every token: its scopes, and when it was last used."""
    async with database.connection() as connection:
        return answer_all([token_row(one) for one in await tokens.listing(connection, private=False)])


@own_tokens.post("", response_model=NewToken, status_code=HTTPStatus.CREATED, responses=refusals(HTTPStatus.NOT_FOUND))
async def made(database: InDatabase, admin: Admin, wanted: TokenWanted) -> Response:
    """Create a token with at most the rights and lifetime of the requesting one."""
    scopes = list(dict.fromkeys(wanted.scopes))
    async with database.transaction() as connection:
        keys = [(await channel_for(connection, admin, one)).key for one in wanted.channels or []] or None
        expires_at = await operator_requests.token_end(connection, wanted.expires, days_of("UTC"))
        own = (await tokens.named(connection, admin.name)).grant
        grant = Grant(frozenset(scopes), None if keys is None else frozenset(keys), expires_at)
        _require_within(grant, own, f'Token "{admin.name}" gives nothing that it does not have itself')
        secret = await tokens.add(connection, wanted.name, scopes, keys, expires_at=expires_at, by=admin.name)
    document = NewToken(
        name=wanted.name, scopes=[scope.value for scope in scopes], expires_at=instant(expires_at), token=secret
    )
    return answer(document, HTTPStatus.CREATED)


TokenNamed = Annotated[Words, Path(description="The token's name.")]


@own_tokens.post("/{name}/confirm", **NO_CONTENT, responses=CHANGE_REFUSALS)
async def confirmed(database: InDatabase, admin: Admin, name: TokenNamed) -> Response:
    """Confirm a token that was restored from a backup; 409 for one that needs no confirmation."""
    async with database.transaction() as connection:
        await _require_above(connection, admin, name)
        await tokens.confirm(connection, name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@own_tokens.delete("/{name}", **NO_CONTENT, responses=refusals(HTTPStatus.NOT_FOUND))
async def revoked(database: InDatabase, admin: Admin, name: TokenNamed) -> Response:
    """Revoke a token: it stops working at once."""
    async with database.transaction() as connection:
        await _require_above(connection, admin, name)
        await tokens.revoke(connection, name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _require_above(connection: Connection, admin: Token, name: str) -> None:
    """Refuse to change a token with more rights than the requesting one."""
    other = (await tokens.named(connection, name)).grant
    _require_within(other, admin.grant, f'Token "{name}" may do more than token "{admin.name}"')


def _require_within(wanted: Grant, own: Grant, sentence: str) -> None:
    if beyond := excess(wanted, own):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"{sentence}: {', '.join(beyond)}.")
