"""Tokens over the API: made, listed and revoked by one that may."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from tidegate.reminders.texts import Words
from tidegate.shapes.instants import Instant
from tidegate.store import tokens
from tidegate.store.tokens import TokenScope
from tidegate.web.api.access import Admin, InDatabase, channel_for
from tidegate.web.api.asking import Text, answer, refusals

own_tokens = APIRouter(prefix="/tokens", tags=["tokens"])


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it is known after it was made. *channels* are the titles of those it may read; null is all."""

    name: str
    scopes: list[str]
    channels: list[str] | None
    made_at: Instant
    used_at: Instant | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. *token* is the secret itself, told this once: only its hash is kept."""

    name: str
    scopes: list[str]
    token: str


class TokenWanted(BaseModel):
    """A token to make: *channels* are the numbers or titles of the only ones it may read."""

    name: Text
    scopes: Annotated[list[TokenScope], Field(min_length=1)] = [TokenScope.READ]
    channels: list[Text] | None = None


@own_tokens.get("", response_model=list[TokenRow], responses=refusals())
async def listed(database: InDatabase, _: Admin) -> Response:
    """Every token: what it is good for, and when it was last used."""
    async with database.connection() as connection:
        return JSONResponse([one.as_json() for one in await tokens.listing(connection)])


@own_tokens.post(
    "",
    response_model=NewToken,
    status_code=HTTPStatus.CREATED,
    responses=refusals(HTTPStatus.NOT_FOUND),
)
async def made(database: InDatabase, admin: Admin, wanted: TokenWanted) -> Response:
    """Make a token."""
    scopes = list(dict.fromkeys(wanted.scopes))
    async with database.transaction() as connection:
        named = wanted.channels or []
        keys = [(await channel_for(connection, admin, one)).key for one in named] or None
        secret = await tokens.add(connection, wanted.name, scopes, keys)
    return answer(NewToken(wanted.name, [scope.value for scope in scopes], secret), HTTPStatus.CREATED)


@own_tokens.delete(
    "/{name}", status_code=HTTPStatus.NO_CONTENT, response_class=Response, responses=refusals(HTTPStatus.NOT_FOUND)
)
async def revoked(database: InDatabase, _: Admin, name: Annotated[Words, Path()]) -> Response:
    """Revoke a token: it opens nothing from now on."""
    async with database.transaction() as connection:
        await tokens.revoke(connection, name)
    return Response(status_code=HTTPStatus.NO_CONTENT)
