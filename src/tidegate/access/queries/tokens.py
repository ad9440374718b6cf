"""API tokens: shown once, stored as a hash, and limited to their scopes and channels."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import asyncpg

from tidegate.access.rules.grant_comparison import Grant
from tidegate.access.rules.secret_hash import secret_hash
from tidegate.core.errors import BadInput, NothingToDo, NotThere
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection, rows_deleted
from tidegate.database.row_values import from_row
from tidegate.events.kinds.access import TokenAdded, TokenConfirmed, TokenRevoked
from tidegate.events.queries import feed

_MARK = "tidegate_"
"""What a token begins with, so that people and scanners know one when they see it."""


class TokenScope(StrEnum):
    """What a token is good for."""

    READ = "read"  # all that is stored
    STEER = "steer"  # accounts paused, channels enabled, cycles asked for, failures tried again
    ADMIN = "admin"  # settings and tokens


class TokenState(StrEnum):
    """Whether a token opens anything."""

    ACTIVE = "active"
    UNCONFIRMED = "unconfirmed"  # it came out of a copy of the database, and may have been revoked in the original
    EXPIRED = "expired"

    @property
    def words(self) -> str:
        return "needs confirmation" if self is TokenState.UNCONFIRMED else self.value


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token. *channels* are our keys of the channels it may read; None is all."""

    name: str
    scopes: frozenset[str]
    channels: Sequence[ChannelKey] | None
    made_at: datetime
    used_at: datetime | None
    expires_at: datetime | None
    state: TokenState
    titles: Sequence[str] = ()

    @property
    def grant(self) -> Grant:
        """What it opens while it is active."""
        return Grant(self.scopes, None if self.channels is None else frozenset(self.channels), self.expires_at)


async def add(
    connection: Connection,
    name: str,
    scopes: Collection[TokenScope],
    channels: Sequence[ChannelKey] | None,
    *,
    expires_at: datetime | None = None,
    by: str | None = None,
) -> str:
    """Make a token and return its secret, which is not stored. It is 256 random bits, so a plain hash is safe.

    *by* is the token that asked for it, None for a person.
    """
    if not name.strip():
        raise BadInput("A token needs a name, so that it can be revoked by it.")
    if expires_at is not None and expires_at <= await connection.fetchval("SELECT clock_now()"):
        raise BadInput(f"The token would have expired already, at {expires_at.isoformat(timespec='seconds')}.")
    secret = _MARK + secrets.token_urlsafe(32)
    made = await connection.fetchval(
        """
        INSERT INTO tokens (name, hash, scopes, channels, expires_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) DO NOTHING RETURNING true
        """,
        name, secret_hash(secret), [scope.value for scope in scopes], None if channels is None else list(channels),
        expires_at,
    )  # fmt: skip
    if not made:
        raise BadInput(f'There is a token "{name}" already; revoke it first, or choose another name.')
    await feed.record(connection, name, TokenAdded(scopes=[scope.value for scope in scopes], by=by or None))
    return secret


async def listing(connection: Connection, *, private: bool = True) -> list[Token]:
    """All tokens, by name; without *private*, the private chats among their channels have no titles."""
    rows = await connection.fetch(f"{_SHOWN} ORDER BY t.name")
    return [_token(row, private=private) for row in rows]


async def named(connection: Connection, name: str) -> Token:
    """The token of that name, held until the transaction ends so that it stays what it is; or a sentence."""
    row = await connection.fetchrow(f"{_SHOWN} WHERE t.name = $1 FOR UPDATE", name)
    if row is None:
        raise NotThere(f'token "{name}"', "See them with: tidegate token list")
    return _token(row)


async def revoke(connection: Connection, name: str) -> None:
    """From now on the token opens nothing."""
    await named(connection, name)
    await connection.execute("DELETE FROM tokens WHERE name = $1", name)
    await feed.record(connection, name, TokenRevoked())


async def confirm(connection: Connection, name: str | None) -> list[str]:
    """Believe a token again that came out of a copy, or all of them; returns their names.

    One that needs no confirmation is nothing to do.
    """
    if name is not None:
        await named(connection, name)
    rows = await connection.fetch(
        "UPDATE tokens SET unconfirmed_since = NULL WHERE unconfirmed_since IS NOT NULL AND ($1::text IS NULL OR "
        "name = $1) RETURNING name",
        name,
    )
    confirmed = sorted(row["name"] for row in rows)
    if not confirmed:
        raise NothingToDo("No token needs confirmation." if name is None else f'Token "{name}" is confirmed already.')
    for one in confirmed:
        await feed.record(connection, one, TokenConfirmed())
    return confirmed


async def unconfirm_all(connection: Connection) -> list[str]:
    """Let no token open anything until it is confirmed; returns the names of all that need it."""
    rows = await connection.fetch(
        "UPDATE tokens SET unconfirmed_since = coalesce(unconfirmed_since, clock_now()) RETURNING name"
    )
    return sorted(row["name"] for row in rows)


async def count_unconfirmed(connection: Connection) -> int:
    """How many tokens wait for confirmation and would open something."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM tokens WHERE unconfirmed_since IS NOT NULL "
        "AND (expires_at IS NULL OR expires_at > clock_now())"
    )
    return number


async def find(connection: Connection, secret: str) -> Token | None:
    """The token with that secret, in any state. The use of an active one is noted at most once a minute."""
    row = await connection.fetchrow(f"{_SHOWN} WHERE t.hash = $1", secret_hash(secret))
    if row is None:
        return None
    token = _token(row)
    if token.state is TokenState.ACTIVE:
        await connection.execute(
            """
            UPDATE tokens SET used_at = clock_now()
            WHERE name = $1 AND (used_at IS NULL OR used_at < clock_now() - interval '1 minute')
            """,
            token.name,
        )
    return token


async def prune_expired(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* tokens that expired before that instant."""
    done = await connection.execute(
        "DELETE FROM tokens WHERE name IN (SELECT name FROM tokens WHERE expires_at < $1 LIMIT $2)", before, limit
    )
    return rows_deleted(done)


_SHOWN = """
    SELECT t.name, t.scopes, t.channels, t.made_at, t.used_at, t.expires_at,
        CASE WHEN t.expires_at <= clock_now() THEN 'expired'
             WHEN t.unconfirmed_since IS NOT NULL THEN 'unconfirmed'
             ELSE 'active' END AS state,
        ARRAY(SELECT c.title FROM channels c WHERE c.id = ANY(t.channels)
              ORDER BY natural_order(c.sought), c.id) AS titles,
        ARRAY(SELECT CASE WHEN c.private_to IS NULL THEN c.title ELSE 'a private chat' END FROM channels c
              WHERE c.id = ANY(t.channels) ORDER BY 1) AS public_titles
    FROM tokens t
"""


def _token(row: asyncpg.Record, *, private: bool = True) -> Token:
    titles = row["titles" if private else "public_titles"]
    return from_row(Token, row, scopes=frozenset(row["scopes"]), state=TokenState(row["state"]), titles=titles)
