"""Who may ask the API: the token that a request shows, its scopes, and the channels it is for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tidegate.errors import BadInput
from tidegate.sources import Loaded
from tidegate.store import channels, tokens
from tidegate.store.channels import Kept
from tidegate.store.database import Connection, Database
from tidegate.store.tokens import Token, TokenScope

_SHOW_ONE = "Show a token as: Authorization: Bearer TOKEN. Make one with: tidegate token add NAME"
_MAY = {
    TokenScope.READ: "may not read",
    TokenScope.STEER: "may not steer",
    TokenScope.ADMIN: "may not look at settings and tokens",
}

_bearer = HTTPBearer(auto_error=False, description="A token, as tidegate token add prints it.")


def _database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


def _loaded(request: Request) -> Loaded:
    loaded: Loaded = request.app.state.loaded
    return loaded


InDatabase = Annotated[Database, Depends(_database)]
AsSet = Annotated[Loaded, Depends(_loaded)]
"""The settings of this process, with their sources."""


def _holder(scope: TokenScope, *, of_all: bool) -> Callable[..., Coroutine[Any, Any, Token]]:
    """Whose token the request shows, if it has that scope; where it has to be one for *all* channels, if it is."""

    async def holder(
        database: InDatabase, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Token:
        challenge = {"WWW-Authenticate": "Bearer"}
        if shown is None or not shown.credentials.strip():
            raise HTTPException(HTTPStatus.UNAUTHORIZED, f"This needs a token. {_SHOW_ONE}", challenge)
        async with database.connection() as connection:
            token = await tokens.find(connection, shown.credentials.strip())
        if token is None:
            raise HTTPException(HTTPStatus.UNAUTHORIZED, f"The token is unknown or was revoked. {_SHOW_ONE}", challenge)
        if scope not in token.scopes:
            sentence = f'Token "{token.name}" {_MAY[scope]}; its scopes do not include {scope.value}.'
            raise HTTPException(HTTPStatus.FORBIDDEN, sentence)
        if of_all and token.channels is not None:
            sentence = f'Token "{token.name}" is for some channels only; this needs one for all of them.'
            raise HTTPException(HTTPStatus.FORBIDDEN, sentence)
        return token

    return holder


Reader = Annotated[Token, Depends(_holder(TokenScope.READ, of_all=False))]
"""A token that may read, perhaps some channels only."""

ReaderOfAll = Annotated[Token, Depends(_holder(TokenScope.READ, of_all=True))]
Steerer = Annotated[Token, Depends(_holder(TokenScope.STEER, of_all=True))]
Admin = Annotated[Token, Depends(_holder(TokenScope.ADMIN, of_all=True))]


async def channel_for(connection: Connection, token: Token, named: str) -> Kept:
    """The channel of that name; to a token that may not read it, it does not exist."""
    try:
        kept = await channels.find(connection, named)
    except BadInput as problem:
        raise HTTPException(HTTPStatus.NOT_FOUND, str(problem)) from None
    if token.channels is not None and kept.key not in token.channels:
        raise HTTPException(HTTPStatus.NOT_FOUND, f'Token "{token.name}" reads no channel "{named}".')
    return kept
