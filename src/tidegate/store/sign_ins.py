"""Who may see the pages: the operator's password, one-time links, sessions, and how often somebody may try.

Links and sessions are secrets of 256 random bits of which only a hash is kept. A password is hashed by whoever calls,
because that takes long and belongs into a thread.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.store import feed
from tidegate.store.database import Connection

LINK_FOR = timedelta(days=1)
"""How long a one-time link waits for the person it was made for."""

TRIES_IN = timedelta(minutes=10)
TRIES_OF_ONE = 5
TRIES_OF_ALL = 50
"""Wrong passwords within ten minutes: so many from one address, and so many from all of them together."""

_TRIES_LOCK = 0x7467_7369  # "tgsi": tries are counted one at a time
_RENEW_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that is signed in."""

    began_at: datetime
    until: datetime


# Links


async def make_link(connection: Connection) -> str:
    """The secret of a new one-time link; an older one that nobody used is good for nothing from now on."""
    secret = secrets.token_urlsafe(32)
    await connection.execute("DELETE FROM sign_in_links")
    await connection.execute(
        "INSERT INTO sign_in_links (hash, until) VALUES ($1, clock_now() + $2)", _hash(secret), LINK_FOR
    )
    await feed.record(connection, "sign_in.link_made", "pages")
    return secret


async def link_is_good(connection: Connection, secret: str) -> bool:
    """Whether the link would still open the pages; looking does not use it up."""
    good: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM sign_in_links WHERE hash = $1 AND until > clock_now())", _hash(secret)
    )
    return good


async def use_link(connection: Connection, secret: str) -> bool:
    """Use the link up; True once, for whoever comes first."""
    used = await connection.fetchval(
        "DELETE FROM sign_in_links WHERE hash = $1 AND until > clock_now() RETURNING true", _hash(secret)
    )
    return bool(used)


# The password


async def password_hash(connection: Connection) -> str | None:
    """What argon2 made of the password, if there is one."""
    kept: str | None = await connection.fetchval("SELECT hash FROM passwords")
    return kept


async def set_password(connection: Connection, hashed: str) -> None:
    """A new password; every browser that is signed in has to sign in again."""
    await connection.execute(
        "INSERT INTO passwords (hash) VALUES ($1) ON CONFLICT (single) DO UPDATE SET hash = $1, set_at = clock_now()",
        hashed,
    )
    await connection.execute("DELETE FROM sessions")
    await feed.record(connection, "sign_in.password_set", "pages")


async def charge_try(connection: Connection, client: str) -> timedelta | None:
    """Write down that *client* tries a password; returns how long it has to wait instead when it tried too often.

    Tries are counted before the password is looked at, one after another, so that many at once gain nothing.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _TRIES_LOCK)
    wait: timedelta | None = await connection.fetchval(
        """
        WITH recent AS (SELECT client, at FROM sign_in_tries WHERE at > clock_now() - $2::interval)
        SELECT greatest(
            (SELECT at FROM recent WHERE client = $1 ORDER BY at DESC OFFSET $3 - 1 LIMIT 1),
            (SELECT at FROM recent ORDER BY at DESC OFFSET $4 - 1 LIMIT 1)
        ) + $2::interval - clock_now()
        """,
        client, TRIES_IN, TRIES_OF_ONE, TRIES_OF_ALL,
    )  # fmt: skip
    if wait is None:
        await connection.execute("INSERT INTO sign_in_tries (client) VALUES ($1)", client)
    return wait


async def forgive(connection: Connection, client: str) -> None:
    """Forget the tries of a client that knew the password."""
    await connection.execute("DELETE FROM sign_in_tries WHERE client = $1", client)


# Sessions


async def begin_session(connection: Connection, client: str, lasts: timedelta) -> str:
    """Sign a browser in; the secret goes into its cookie."""
    secret = secrets.token_urlsafe(32)
    await connection.execute("INSERT INTO sessions (hash, until) VALUES ($1, clock_now() + $2)", _hash(secret), lasts)
    await feed.record(connection, "sign_in.begun", "pages", {"client": client})
    return secret


async def find_session(connection: Connection, secret: str, lasts: timedelta) -> Session | None:
    """The session of that secret, if it is one; used, it lasts on, which is noted once an hour at most."""
    row = await connection.fetchrow(
        "SELECT began_at, until, clock_now() AS now FROM sessions WHERE hash = $1 AND until > clock_now()",
        _hash(secret),
    )
    if row is None:
        return None
    if row["until"] < row["now"] + lasts - _RENEW_AFTER:
        await connection.execute("UPDATE sessions SET until = clock_now() + $2 WHERE hash = $1", _hash(secret), lasts)
    return Session(row["began_at"], row["until"])


async def still_good(connection: Connection, secrets_: Collection[str]) -> set[str]:
    """Those of these secrets whose session has not ended."""
    hashes = {_hash(secret): secret for secret in secrets_}
    rows = await connection.fetch(
        "SELECT hash FROM sessions WHERE hash = ANY($1) AND until > clock_now()", list(hashes)
    )
    return {hashes[row["hash"]] for row in rows}


async def end_session(connection: Connection, secret: str) -> None:
    """Sign that browser out."""
    await connection.execute("DELETE FROM sessions WHERE hash = $1", _hash(secret))


# The end of all this (law 14)


async def prune_sessions(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* sessions that ended before that instant."""
    done = await connection.execute(
        "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE until < $1 ORDER BY until LIMIT $2)",
        before, limit,
    )  # fmt: skip
    return int(done.removeprefix("DELETE "))


async def prune_tries(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* tries older than that instant."""
    done = await connection.execute(
        "DELETE FROM sign_in_tries WHERE id IN (SELECT id FROM sign_in_tries WHERE at < $1 ORDER BY at LIMIT $2)",
        before, limit,
    )  # fmt: skip
    return int(done.removeprefix("DELETE "))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
