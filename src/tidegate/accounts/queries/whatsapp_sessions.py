"""WhatsApp's schema in the database, with a role of its own, where its library stores the keys of linked devices.

The library reads and writes its keys itself, so they are the only secrets that are not sealed. Its role can reach that
schema and nothing else.
"""

from __future__ import annotations

import hmac
import secrets as dice
from base64 import b64encode
from collections.abc import Awaitable, Callable
from hashlib import pbkdf2_hmac, sha256
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import asyncpg

from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries import secrets
from tidegate.core.errors import TidegateError
from tidegate.database.pg_address import place
from tidegate.database.pool import Connection, Database

SCHEMA = "whatsapp"

_PASSWORD = "whatsapp.role"  # noqa: S105 - the name it is kept under
_LOCK = 0x7769_7461  # one process at a time makes the schema
_UNDERSTOOD = ("host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey")
_UNDECIDED = ("", "prefer", "allow")
_ROUNDS = 4096


class WhatsAppSessions:
    """Where linked devices are stored (``whatsapp.Sessions``)."""

    def __init__(self, database: Database, ring: Callable[[], Awaitable[KeyRing]]) -> None:
        self._database = database
        self._ring = ring

    async def address(self) -> str:
        """What the library signs in with; schema and role are made when they are missing, as after a restore."""
        fresh = dice.token_urlsafe(32).encode()
        password = (await secrets.service_secret(self._database, await self._ring(), _PASSWORD, first=fresh)).decode()
        async with self._database.transaction() as connection:
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            role = await _make_corner(connection, password)
            encrypted = await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        return address_for(self._database.address.direct, role, password, encrypted=bool(encrypted))

    async def holds(self, device: str) -> bool:
        """Whether the keys of a linked device are there; WhatsApp's library removes them when it is unlinked."""
        async with self._database.connection() as connection:
            if not await connection.fetchval(f"SELECT to_regclass('{SCHEMA}.whatsmeow_device')"):
                return False
            found: bool = await connection.fetchval(
                f"SELECT EXISTS (SELECT 1 FROM {SCHEMA}.whatsmeow_device WHERE jid = $1)", device
            )
            return found

    async def names_under(self, secret: bytes) -> list[str]:
        """The messages that the library recorded under a secret; it does so before a message leaves."""
        async with self._database.connection() as connection:
            if not await connection.fetchval(f"SELECT to_regclass('{SCHEMA}.whatsmeow_message_secrets')"):
                return []
            rows = await connection.fetch(
                f"SELECT message_id FROM {SCHEMA}.whatsmeow_message_secrets WHERE key = $1", secret
            )
        return [row["message_id"] for row in rows]

    async def forget(self, device: str) -> None:
        """Delete the keys of a device whose account is removed without being unlinked."""
        if await self.holds(device):
            await self._database.pool.execute(f"DELETE FROM {SCHEMA}.whatsmeow_device WHERE jid = $1", device)


def address_for(url: str, role: str, password: str, *, encrypted: bool) -> str:
    """The database's address for the library: with its role, and with a decision about TLS where ours leaves it open.

    The library's driver takes an unknown option for a setting of the server, so only known ones are passed on.
    """
    where, parts = place(url), urlsplit(url)
    options = {name: value for name, value in parse_qsl(parts.query) if name in _UNDERSTOOD}
    if options.get("sslmode", "") in _UNDECIDED:
        options["sslmode"] = "require" if encrypted else "disable"
    hosts = parts.netloc.rpartition("@")[2]
    user = f"{quote(role, safe='')}:{quote(password, safe='')}"
    return f"postgres://{user}@{hosts}/{quote(where.database, safe='')}?{urlencode(options)}"


async def _make_corner(connection: Connection, password: str) -> str:
    """Schema and role, with everything in the schema belonging to the role; the role's name."""
    number = await connection.fetchval("SELECT oid FROM pg_database WHERE datname = current_database()")
    role = f"tidegate_whatsapp_{number}"  # roles are shared by all databases of a server
    try:
        if not await _is_made_for_us(connection, role):
            await _make_role(connection, role, password)
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        await connection.execute(f"GRANT USAGE, CREATE ON SCHEMA {SCHEMA} TO {role}")
        await _give_tables(connection, role)
    except asyncpg.InsufficientPrivilegeError as problem:
        raise TidegateError(
            "WhatsApp's library keeps its keys under a role of its own, and Tidegate's database user may not make one "
            f"({problem}). Let an administrator run: ALTER ROLE {await connection.fetchval('SELECT current_user')} "
            "CREATEROLE"
        ) from problem
    return role


async def _is_made_for_us(connection: Connection, role: str) -> bool:
    """Whether the role was made for us by a user that may make roles, as on the embedded server, and we may not."""
    made: bool = await connection.fetchval(
        """
        SELECT NOT (me.rolsuper OR me.rolcreaterole) AND EXISTS (
            SELECT FROM pg_roles r WHERE r.rolname = $1 AND pg_has_role(me.oid, r.oid, 'MEMBER'))
        FROM pg_roles me
        WHERE me.rolname = current_user
        """,
        role,
    )
    return made


async def _make_role(connection: Connection, role: str, password: str) -> None:
    known = await connection.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", role)
    verb = "ALTER" if known else "CREATE"
    await connection.execute(f"{verb} ROLE {role} LOGIN PASSWORD '{_verifier(password)}'")
    await connection.execute(f"GRANT {role} TO CURRENT_USER")  # so that backups read what it owns
    await connection.execute(f"ALTER ROLE {role} SET search_path = {SCHEMA}")


async def _give_tables(connection: Connection, role: str) -> None:
    """Give the library its tables, which it alters; after a restore they belong to the user that restored them."""
    foreign = await connection.fetch(
        """
        SELECT format('%I.%I', schemaname, tablename) AS name
        FROM pg_tables
        WHERE schemaname = $1 AND tableowner <> $2
        """,
        SCHEMA,
        role,
    )
    for table in foreign:
        await connection.execute(f"ALTER TABLE {table['name']} OWNER TO {role}")


def _verifier(password: str) -> str:
    """What PostgreSQL stores of a password, made here so that the password itself is in no statement and no log."""
    salt = dice.token_bytes(16)
    salted = pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    stored = sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${_ROUNDS}:{_text(salt)}${_text(stored)}:{_text(server)}"


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
