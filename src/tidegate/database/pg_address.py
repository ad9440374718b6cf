"""Addresses of PostgreSQL servers, connections to them, and a sentence for every way in which that fails."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import asyncpg

from tidegate.core.errors import BadInput, TidegateError

PATIENCE = 10.0
"""Seconds a server may take to accept a connection."""

_SHAPE = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters in the password percent-encoded"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:@\[\]]*)(:\d{1,5})?")


_TAILS: tuple[tuple[type[Exception], str, str], ...] = (
    (TimeoutError, "", f"gave no answer within {PATIENCE:.0f} s. Check the address, the network and the server."),
    (asyncpg.InvalidPasswordError, "", "refused the user name or password. Check DATABASE_URL."),
    (asyncpg.InvalidCatalogNameError, "", "does not exist. Create it, or correct DATABASE_URL."),
    (asyncpg.CannotConnectNowError, "", "is starting or stopping. Try again in a moment."),
    (asyncpg.TooManyConnectionsError, "", "has no connection left. Raise its max_connections or end other programs."),
    (asyncpg.PostgresError, "startup parameter", "is behind a pooler, it seems; name the server itself as "
     "TIDEGATE_DATABASE_DIRECT_URL beside it."),
    (ssl.SSLError, "", "does not agree on TLS: {reason}. Check sslmode and sslrootcert in DATABASE_URL."),
    (ConnectionError, "SSL", "does not speak TLS, which sslmode in DATABASE_URL asks for."),
    (socket.gaierror, "", "cannot be found: no such host name. Check DATABASE_URL."),
    (ConnectionRefusedError, "", "does not answer: nothing listens there. Start the server, or correct DATABASE_URL."),
    (FileNotFoundError, "", "does not answer: nothing listens there. Start the server, or correct DATABASE_URL."),
    (OSError, "", "cannot be reached: {reason}."),
    # A client-side complaint about the address may quote it, password and all: it is not repeated.
    (asyncpg.InterfaceError, "", f"has an address that is not understood. It has the form {_SHAPE}."),
    (ValueError, "", f"has an address that is not understood. It has the form {_SHAPE}."),
    (Exception, "", "refused the connection: {reason}."),
)  # fmt: skip
"""What to say by the class of an error and a word in it; the first match counts."""


class Unreachable(TidegateError, ConnectionError):
    """The database refused the connection. A ``ConnectionError``, so that callers that lost a session try again."""


@dataclass(frozen=True, slots=True)
class PgAddress:
    """A parsed address; ``str`` is for people and never has the password."""

    hosts: str
    database: str
    user: str
    password: str | None
    bare_url: str
    masked_url: str

    def __str__(self) -> str:
        where = f"the socket in {self.hosts}" if self.hosts.startswith("/") else self.hosts or "this machine"
        return f'the database "{self.database}" on {where}'

    @property
    def sentence_start(self) -> str:
        return f"T{str(self)[1:]}"


def place(url: str) -> PgAddress:
    """Parse an address. An error about a malformed one does not quote it: it holds a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _malformed("its host is not one") from None
    if parts.scheme not in ("postgresql", "postgres"):
        raise _malformed("it does not begin with postgresql://")
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1:
        raise _malformed("a special character in it is not percent-encoded")
    sign_in, _, hosts = parts.netloc.rpartition("@")
    if not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        raise _malformed("its host or port is not one")
    user, colon, password = sign_in.partition(":")
    more = parse_qsl(parts.query, keep_blank_values=True)
    said = dict(more)
    open_query = urlencode([(name, value) for name, value in more if name != "password"], quote_via=quote)
    bare = parts._replace(netloc=f"{user}@{hosts}" if user else hosts, query=open_query)
    secret = unquote(password) if colon else said.get("password")
    masked = bare if secret is None else bare._replace(netloc=f"{user}:***@{hosts}")
    user = unquote(user) or said.get("user", "")
    database = unquote(parts.path.lstrip("/")) or said.get("database", said.get("dbname", "")) or user
    named = [host if ":" in host.rpartition("]")[2] else f"{host}:5432" for host in hosts.split(",") if host]
    return PgAddress(
        hosts=",".join(named) or said.get("host", ""),
        database=database,
        user=user,
        password=secret,
        bare_url=_written(bare),
        masked_url=_written(masked),
    )


async def connect(url: str, *, name: str, **how: Any) -> asyncpg.Connection:
    """A session outside the pool, named *name* in ``pg_stat_activity``; ``Unreachable`` says why there is none."""
    with explained(url):
        return await asyncpg.connect(url, timeout=PATIENCE, server_settings={"application_name": name}, **how)


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn errors on the way to the server at *url* into a sentence that names the server."""
    where = place(url)
    try:
        yield
    except TidegateError:
        raise
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as problem:
        raise Unreachable(_sentence(where, problem)) from problem


def _sentence(where: PgAddress, problem: Exception) -> str:
    tail = next(tail for kind, word, tail in _TAILS if isinstance(problem, kind) and word in str(problem))
    reason = getattr(problem, "strerror", None) or " ".join(str(problem).split()) or type(problem).__name__
    return f"{where.sentence_start} {tail.format(reason=reason)}"


def _malformed(why: str) -> BadInput:
    return BadInput(f"The database address is malformed: {why}. It has the form {_SHAPE}.")


def _written(parts: Any) -> str:
    # urlunsplit drops the slashes of an address without a host.
    return f"{parts.scheme}://{parts.netloc}{urlunsplit(('', '', parts.path, parts.query, ''))}"
