"""API tokens: shown once, kept as a hash, and good for what their scopes and channels say."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import asyncpg

from tidegate.errors import BadInput, NotThere
from tidegate.store import feed
from tidegate.store.database import Connection

_MARK = "tidegate_"
"""What a token begins with, so that people and scanners know one when they see it."""


class TokenScope(StrEnum):
    """What a token is good for."""

    READ = "read"  # all that is stored
    STEER = "steer"  # accounts paused, channels enabled, cycles asked for, failures tried again
    ADMIN = "admin"  # settings and tokens


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is known after it was made. *channels* are our numbers of those it may read; None is all."""

    name: str
    scopes: frozenset[str]
    channels: Sequence[int] | None
    made_at: datetime
    used_at: datetime | None
    titles: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "scopes": sorted(self.scopes),
            "channels": None if self.channels is None else list(self.titles),
            "made_at": self.made_at.isoformat(),
            "used_at": None if self.used_at is None else self.used_at.isoformat(),
        }


async def add(connection: Connection, name: str, scopes: Collection[TokenScope], channels: Sequence[int] | None) -> str:
    """Make a token; what is returned is stored nowhere. It is 256 random bits, so a plain hash keeps it safe."""
    if not name.strip():
        raise BadInput("A token needs a name, so that it can be revoked by it.")
    secret = _MARK + secrets.token_urlsafe(32)
    made = await connection.fetchval(
        """
        INSERT INTO tokens (name, hash, scopes, channels) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO NOTHING RETURNING true
        """,
        name, _hash(secret), [scope.value for scope in scopes], None if channels is None else list(channels),
    )  # fmt: skip
    if not made:
        raise BadInput(f'There is a token "{name}" already; revoke it first, or choose another name.')
    await feed.record(connection, "token.added", name, {"scopes": [scope.value for scope in scopes]})
    return secret


async def listing(connection: Connection) -> list[Token]:
    """All tokens, by name."""
    return [_token(row) for row in await connection.fetch(f"{_SHOWN} ORDER BY t.name")]


async def revoke(connection: Connection, name: str) -> None:
    """From now on the token opens nothing."""
    if await connection.execute("DELETE FROM tokens WHERE name = $1", name) != "DELETE 1":
        raise NotThere(f'token "{name}"', "See them with: tidegate token list")
    await feed.record(connection, "token.revoked", name)


async def find(connection: Connection, secret: str) -> Token | None:
    """The token that somebody shows, if it is one; that it was used is noted once a minute at most."""
    row = await connection.fetchrow(f"{_SHOWN} WHERE t.hash = $1", _hash(secret))
    if row is None:
        return None
    await connection.execute(
        """
        UPDATE tokens SET used_at = clock_now()
        WHERE name = $1 AND (used_at IS NULL OR used_at < clock_now() - interval '1 minute')
        """,
        row["name"],
    )
    return _token(row)


_SHOWN = """
    SELECT t.name, t.scopes, t.channels, t.made_at, t.used_at,
        ARRAY(SELECT c.title FROM channels c WHERE c.id = ANY(t.channels) ORDER BY c.title) AS titles
    FROM tokens t
"""


def _token(row: asyncpg.Record) -> Token:
    return Token(**{**dict(row), "scopes": frozenset(row["scopes"])})


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
