"""How many password tries are allowed, and how long a browser waits that tried too often."""

from __future__ import annotations

from datetime import timedelta

from tidegate.access.rules.secret_hash import secret_hash
from tidegate.core.rules.trusted_proxies import client_group
from tidegate.database.pool import Connection

TRIES_IN = timedelta(minutes=10)
TRIES_OF_ONE = 5
TRIES_OF_ALL = 50
"""Wrong passwords allowed within ten minutes: from one address, and from all addresses together."""

KNOWN_FOR = timedelta(days=90)
"""How long an address with a successful sign-in is exempt from the limit on all addresses together."""

_TRIES_LOCK = 0x7467_7369  # "tgsi": tries are counted one at a time
_SIGNED_IN = "session "  # before the hash of a session; no address begins so


def tries_from(address: str) -> str:
    """Under which name the tries of a browser are counted that is not signed in."""
    return client_group(address)


def tries_within(secret: str) -> str:
    """The name under which the tries of a session are counted; no other tries make it wait."""
    return f"{_SIGNED_IN}{secret_hash(secret).hex()}"


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
