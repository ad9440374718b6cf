"""Sessions of browsers that are signed in to the pages.

Links and sessions are secrets of 256 random bits, of which only a hash is stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.access.queries.password_tries import tries_from
from tidegate.access.rules.secret_hash import secret_hash
from tidegate.database.pool import Connection, rows_deleted
from tidegate.events.kinds.access import SignInBegun, SignInEndedEverywhere
from tidegate.events.queries import feed

_RENEW_AFTER = timedelta(hours=1)


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


async def begin_session(connection: Connection, address: str, span: SessionSpan) -> str:
    """Sign a browser in that asks from *address*; the secret goes into its cookie."""
    secret = secrets.token_urlsafe(32)
    lasts = min(span.idle_for, span.at_most)
    await connection.execute(
        "INSERT INTO sessions (hash, until) VALUES ($1, clock_now() + $2)", secret_hash(secret), lasts
    )
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
        secret_hash(secret), span.idle_for, span.at_most,
    )  # fmt: skip
    if row is None:
        return None
    if not row["renewed"] - _RENEW_AFTER <= row["until"] <= row["renewed"]:
        await connection.execute("UPDATE sessions SET until = $2 WHERE hash = $1", secret_hash(secret), row["renewed"])
    return Session(row["began_at"], row["until"])


async def still_good(connection: Connection, secrets_: Collection[str]) -> set[str]:
    """Those of these secrets that belong to a session which has not ended."""
    hashes = {secret_hash(secret): secret for secret in secrets_}
    rows = await connection.fetch(
        "SELECT hash FROM sessions WHERE hash = ANY($1) AND until > clock_now()", list(hashes)
    )
    return {hashes[row["hash"]] for row in rows}


async def count_sessions(connection: Connection) -> int:
    """How many browsers are signed in."""
    number: int = await connection.fetchval("SELECT count(*) FROM sessions WHERE until > clock_now()")
    return number


async def end_session(connection: Connection, secret: str) -> None:
    """Sign that browser out."""
    await connection.execute("DELETE FROM sessions WHERE hash = $1", secret_hash(secret))


async def end_all_sessions(connection: Connection) -> int:
    """Sign every browser out, and let no link open the pages that was made before; how many browsers there were."""
    sessions, _ = await shut_everybody_out(connection)
    await feed.record(connection, "pages", SignInEndedEverywhere(sessions=sessions))
    return sessions


async def forget_everybody(connection: Connection) -> tuple[int, int]:
    """The same, with tries and known addresses forgotten too; returns how many sessions and links there were."""
    await connection.execute("DELETE FROM sign_in_tries")
    await connection.execute("DELETE FROM sign_in_clients")
    return await shut_everybody_out(connection)


async def shut_everybody_out(connection: Connection) -> tuple[int, int]:
    """End every session and link; returns how many there were of each."""
    sessions = await connection.execute("DELETE FROM sessions")
    links = await connection.execute("DELETE FROM sign_in_links")
    return rows_deleted(sessions), rows_deleted(links)
