"""One-time links that open the pages; only a hash of each secret is stored."""

from __future__ import annotations

import secrets
from datetime import timedelta

from tidegate.access.rules.secret_hash import secret_hash
from tidegate.database.pool import Connection
from tidegate.events.kinds.access import SignInLinkMade
from tidegate.events.queries import feed

LINK_FOR = timedelta(days=1)
"""How long a one-time link waits for the person it was made for."""


async def make_link(connection: Connection) -> str:
    """The secret of a new one-time link; an older unused one is no longer valid."""
    secret = secrets.token_urlsafe(32)
    await connection.execute("DELETE FROM sign_in_links")
    await connection.execute(
        "INSERT INTO sign_in_links (hash, until) VALUES ($1, clock_now() + $2)", secret_hash(secret), LINK_FOR
    )
    await feed.record(connection, "pages", SignInLinkMade())
    return secret


async def link_is_good(connection: Connection, secret: str) -> bool:
    """Whether the link would still open the pages; looking does not use it up."""
    good: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM sign_in_links WHERE hash = $1 AND until > clock_now())", secret_hash(secret)
    )
    return good


async def use_link(connection: Connection, secret: str) -> bool:
    """Use the link up; True once, for the first caller."""
    used = await connection.fetchval(
        "DELETE FROM sign_in_links WHERE hash = $1 AND until > clock_now() RETURNING true", secret_hash(secret)
    )
    return bool(used)
