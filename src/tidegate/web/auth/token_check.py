"""The token of an API request: its scopes, and the channels it may read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import Token, TokenScope, TokenState
from tidegate.accounts.queries import accounts
from tidegate.app.setting_sources import LoadedSettings
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel, SeveralChannels
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection, Database

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


def _loaded(request: Request) -> LoadedSettings:
    loaded: LoadedSettings = request.app.state.loaded
    return loaded


InDatabase = Annotated[Database, Depends(_database)]
AsSet = Annotated[LoadedSettings, Depends(_loaded)]
"""The settings of this process, with their sources."""


def _holder(scope: TokenScope, *, of_all: bool) -> Callable[..., Coroutine[Any, Any, Token]]:
    """A dependency that requires a token with a scope and, with *of_all*, one for all channels."""

    async def holder(
        request: Request, database: InDatabase, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Token:
        challenge = {"WWW-Authenticate": "Bearer"}
        if shown is None or not shown.credentials.strip():
            raise HTTPException(HTTPStatus.UNAUTHORIZED, f"This needs a token. {_SHOW_ONE}", challenge)
        async with database.connection() as connection:
            token = await tokens.find(connection, shown.credentials.strip())
        if token is None or token.state is not TokenState.ACTIVE:
            raise HTTPException(HTTPStatus.UNAUTHORIZED, _why_not(token), challenge)
        request.app.state.request_rates.accept(request.scope)
        if scope not in token.scopes:
            sentence = f'Token "{token.name}" {_MAY[scope]}; its scopes do not include {scope.value}.'
            raise HTTPException(HTTPStatus.FORBIDDEN, sentence)
        if of_all and token.channels is not None:
            sentence = f'Token "{token.name}" is for some channels only; this needs one for all of them.'
            raise HTTPException(HTTPStatus.FORBIDDEN, sentence)
        return token

    return holder


def _why_not(token: Token | None) -> str:
    """Why a token is refused; None is an unknown token."""
    if token is None:
        return f"The token is unknown or was revoked. {_SHOW_ONE}"
    if token.state is TokenState.EXPIRED and token.expires_at is not None:
        return f'Token "{token.name}" expired at {token.expires_at.isoformat(timespec="seconds")}. {_SHOW_ONE}'
    return (
        f'Token "{token.name}" was restored from a backup, and may have been revoked since. The operator confirms it '
        f"with: tidegate token confirm {shlex.quote(token.name)}, or on the page Settings."
    )


Reader = Annotated[Token, Depends(_holder(TokenScope.READ, of_all=False))]
"""A token that may read, perhaps some channels only."""

ReaderOfAll = Annotated[Token, Depends(_holder(TokenScope.READ, of_all=True))]
Steerer = Annotated[Token, Depends(_holder(TokenScope.STEER, of_all=True))]
Admin = Annotated[Token, Depends(_holder(TokenScope.ADMIN, of_all=True))]


def holder(token: Token) -> str:
    """Whose heavy requests are counted together."""
    return f"token {token.name}"


async def channel_for(connection: Connection, token: Token, named: str) -> KnownChannel:
    """The channel of that name; to a token that may not read it, it does not exist."""
    try:
        kept = await channels.find(connection, named, among=token.channels, private=token.channels is not None)
    except BadInput as problem:
        hidden = token.channels is not None and not isinstance(problem, SeveralChannels)
        sentence = f'Token "{token.name}" reads no channel "{named}".' if hidden else str(problem)
        raise HTTPException(HTTPStatus.NOT_FOUND, sentence) from None
    [seen] = await as_seen_by(connection, token, [kept])
    return seen


async def hidden_from(connection: Connection, token: Token) -> list[ChannelKey]:
    """The mirrored channels that a token does not see although it is for all of them: private chats have to be named.

    A token for some channels sees those and no others, so nothing has to be hidden from it.
    """
    return await channels.private_mirrored(connection) if token.channels is None else []


async def account_for(connection: Connection, token: Token, named: str) -> AccountId:
    """The account of that name; to a token for some channels, one that sees none of them does not exist."""
    if token.channels is None:
        return (await accounts.find(connection, named)).account.id
    found = await accounts.seeing(connection, named, token.channels)
    if found is None:
        sentence = f'Token "{token.name}" knows no account "{named}".'
        raise HTTPException(HTTPStatus.NOT_FOUND, sentence)
    return found


async def as_seen_by(connection: Connection, token: Token, found: Sequence[KnownChannel]) -> list[KnownChannel]:
    """Channels as a token may see them: a narrow one sees no other channels and no remarks for operators."""
    if token.channels is None:
        return list(found)
    own = {(one.platform, one.number) for one in (await channels.of_keys(connection, token.channels)).values()}
    return [
        replace(one, remark="")
        if (one.platform, one.parent) in own
        else replace(one, parent=None, parent_key=None, parent_title="", remark="")
        for one in found
    ]
