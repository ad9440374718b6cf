"""Access to the pages: the operator's password, one-time links, sessions, and how many tries are allowed.

Links and sessions are secrets of 256 random bits, of which only a hash is stored. The caller hashes the password,
because that takes long and belongs in a thread.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.rules.trusted_proxies import client_group
from tidegate.database.pool import Connection, rows_deleted
from tidegate.events.kinds.access import SignInBegun, SignInEndedEverywhere, SignInLinkMade, SignInPasswordSet
from tidegate.events.queries import feed

LINK_FOR = timedelta(days=1)
"""How long a one-time link waits for the person it was made for."""

TRIES_IN = timedelta(minutes=10)
TRIES_OF_ONE = 5
TRIES_OF_ALL = 50
"""Wrong passwords allowed within ten minutes: from one address, and from all addresses together."""

KNOWN_FOR = timedelta(days=90)
"""How long an address with a successful sign-in is exempt from the limit on all addresses together."""

_TRIES_LOCK = 0x7467_7369  # "tgsi": tries are counted one at a time
_RENEW_AFTER = timedelta(hours=1)
_SIGNED_IN = "session "  # before the hash of a session; no address begins so


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that is signed in."""

    began_at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class SessionSpan:
    """How long a session lasts: until it was not used for *idle_for*, and *at_most* that long in any case."""

    idle_for: timedelta
    at_most: timedelta


# Links


async def make_link(connection: Connection) -> str:
    """The secret of a new one-time link; an older unused one is no longer valid."""
    secret = secrets.token_urlsafe(32)
    await connection.execute("DELETE FROM sign_in_links")
    await connection.execute(
        "INSERT INTO sign_in_links (hash, until) VALUES ($1, clock_now() + $2)", _hash(secret), LINK_FOR
    )
    await feed.record(connection, "pages", SignInLinkMade())
    return secret


async def link_is_good(connection: Connection, secret: str) -> bool:
    """Whether the link would still open the pages; looking does not use it up."""
    good: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM sign_in_links WHERE hash = $1 AND until > clock_now())", _hash(secret)
    )
    return good


async def use_link(connection: Connection, secret: str) -> bool:
    """Use the link up; True once, for the first caller."""
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
    """A new password; every browser that is signed in has to sign in again, and no link made before is good."""
    await connection.execute(
        "INSERT INTO passwords (hash) VALUES ($1) ON CONFLICT (single) DO UPDATE SET hash = $1, set_at = clock_now()",
        hashed,
    )
    await _shut_everybody_out(connection)
    await feed.record(connection, "pages", SignInPasswordSet())


def tries_from(address: str) -> str:
    """Under which name the tries of a browser are counted that is not signed in."""
    return client_group(address)


def tries_within(secret: str) -> str:
    """The name under which the tries of a session are counted; no other tries make it wait."""
    return f"{_SIGNED_IN}{_hash(secret).hex()}"


async def charge_try(connection: Connection, client: str) -> timedelta | None:
    """Count a password try of *client*; returns how long it must wait instead when it tried too often.

    Tries are counted before the password is checked, one after another, so parallel tries gain nothing. Many
    unknown addresses make other unknown addresses wait, but neither sessions nor addresses with a successful
    sign-in.
    """
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _TRIES_LOCK)
    wait: timedelta | None = await connection.fetchval(
        """
        WITH recent AS (SELECT client, at FROM sign_in_tries WHERE at > (SELECT clock_now()) - $2::interval)
        SELECT greatest(
            (SELECT at FROM recent WHERE client = $1 ORDER BY at DESC OFFSET $3 - 1 LIMIT 1),
            (SELECT at FROM recent
             WHERE NOT starts_with(client, $5) AND NOT starts_with($1, $5)
               AND NOT EXISTS (SELECT FROM sign_in_clients WHERE client = $1 AND signed_at > clock_now() - $6::interval)
             ORDER BY at DESC OFFSET $4 - 1 LIMIT 1)
        ) + $2::interval - clock_now()
        """,
        client, TRIES_IN, TRIES_OF_ONE, TRIES_OF_ALL, _SIGNED_IN, KNOWN_FOR,
    )  # fmt: skip
    if wait is None:
        await connection.execute("INSERT INTO sign_in_tries (client) VALUES ($1)", client)
    return wait


async def forgive(connection: Connection, client: str) -> None:
    """Forget the tries of a client that knew the password."""
    await connection.execute("DELETE FROM sign_in_tries WHERE client = $1", client)


# Sessions


async def begin_session(connection: Connection, address: str, span: SessionSpan) -> str:
    """Sign a browser in that asks from *address*; the secret goes into its cookie."""
    secret = secrets.token_urlsafe(32)
    lasts = min(span.idle_for, span.at_most)
    await connection.execute("INSERT INTO sessions (hash, until) VALUES ($1, clock_now() + $2)", _hash(secret), lasts)
    await connection.execute(
        "INSERT INTO sign_in_clients (client) VALUES ($1) ON CONFLICT (client) DO UPDATE SET signed_at = clock_now()",
        tries_from(address),
    )
    await feed.record(connection, "pages", SignInBegun(client=address))
    return secret


async def find_session(connection: Connection, secret: str, span: SessionSpan) -> Session | None:
    """The session of that secret, if it is one; used, it lasts on, which is noted once an hour at most."""
    row = await connection.fetchrow(
        """
        SELECT began_at, until, least(clock_now() + $2::interval, began_at + $3::interval) AS renewed
        FROM sessions WHERE hash = $1 AND until > clock_now() AND began_at > clock_now() - $3::interval
        """,
        _hash(secret), span.idle_for, span.at_most,
    )  # fmt: skip
    if row is None:
        return None
    if not row["renewed"] - _RENEW_AFTER <= row["until"] <= row["renewed"]:
        await connection.execute("UPDATE sessions SET until = $2 WHERE hash = $1", _hash(secret), row["renewed"])
    return Session(row["began_at"], row["until"])


async def still_good(connection: Connection, secrets_: Collection[str]) -> set[str]:
    """Those of these secrets that belong to a session which has not ended."""
    hashes = {_hash(secret): secret for secret in secrets_}
    rows = await connection.fetch(
        "SELECT hash FROM sessions WHERE hash = ANY($1) AND until > clock_now()", list(hashes)
    )
    return {hashes[row["hash"]] for row in rows}


async def end_session(connection: Connection, secret: str) -> None:
    """Sign that browser out."""
    await connection.execute("DELETE FROM sessions WHERE hash = $1", _hash(secret))


async def end_all_sessions(connection: Connection) -> int:
    """Sign every browser out, and let no link open the pages that was made before; how many browsers there were."""
    sessions, _ = await _shut_everybody_out(connection)
    await feed.record(connection, "pages", SignInEndedEverywhere(sessions=sessions))
    return sessions


async def forget_everybody(connection: Connection) -> tuple[int, int]:
    """The same, with tries and known addresses forgotten too; returns how many sessions and links there were."""
    await connection.execute("DELETE FROM sign_in_tries")
    await connection.execute("DELETE FROM sign_in_clients")
    return await _shut_everybody_out(connection)


async def _shut_everybody_out(connection: Connection) -> tuple[int, int]:
    sessions = await connection.execute("DELETE FROM sessions")
    links = await connection.execute("DELETE FROM sign_in_links")
    return rows_deleted(sessions), rows_deleted(links)


# Retention (everything-kept-ends)


async def prune_sessions(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* sessions that ended before that instant."""
    return await _delete_oldest(connection, "sessions", "hash", "until", before=before, limit=limit)


async def prune_tries(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* tries older than that instant."""
    return await _delete_oldest(connection, "sign_in_tries", "id", "at", before=before, limit=limit)


async def prune_clients(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* addresses without a sign-in since that instant."""
    return await _delete_oldest(connection, "sign_in_clients", "client", "signed_at", before=before, limit=limit)


async def _delete_oldest(connection: Connection, table: str, key: str, at: str, *, before: datetime, limit: int) -> int:
    done = await connection.execute(
        f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {at} < $1 ORDER BY {at} LIMIT $2)",
        before, limit,
    )  # fmt: skip
    return rows_deleted(done)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
