"""The secrets that keep accounts signed in, encrypted at rest and bound to their row."""

from __future__ import annotations

from pathlib import Path

from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing, SecretOwner
from tidegate.core.errors import TidegateError
from tidegate.core.ids import AccountId
from tidegate.database.migrations.upgrade import others
from tidegate.database.pool import Connection, Database


class AccountVault:
    """One account's secrets (``port.Vault``)."""

    def __init__(self, database: Database, ring: KeyRing, account: AccountId) -> None:
        self._database = database
        self._ring = ring
        self._account = account

    async def read(self, name: str) -> bytes | None:
        row = await self._database.pool.fetchrow(
            "SELECT key_id, sealed FROM secrets WHERE account = $1 AND name = $2", self._account, name
        )
        return None if row is None else self._ring.open(row["key_id"], row["sealed"], _bond(self._account, name))

    async def write(self, name: str, secret: bytes) -> None:
        async with self._database.connection() as connection:
            await keep(connection, self._ring, self._account, name, secret)


async def keep(connection: Connection, ring: KeyRing, account: AccountId, name: str, secret: bytes) -> None:
    """Store a secret of *account*, perhaps in the transaction that makes the account."""
    key_id, sealed = ring.seal(secret, _bond(account, name))
    await connection.execute(
        """
        INSERT INTO secrets (account, name, key_id, sealed)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (account, name) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed
        """,
        account, name, key_id, sealed,
    )  # fmt: skip


async def forget(connection: Connection, account: AccountId, name: str) -> None:
    """Delete a secret of *account*, if there is one."""
    await connection.execute("DELETE FROM secrets WHERE account = $1 AND name = $2", account, name)


async def service_secret(database: Database, ring: KeyRing, name: str, *, first: bytes) -> bytes:
    """A secret of Tidegate itself; *first* is stored where there is none yet, by the first process that asks."""
    key_id, sealed = ring.seal(first, _own_bond(name))
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO house_secrets (name, key_id, sealed) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
            name, key_id, sealed,
        )  # fmt: skip
        row = await connection.fetchrow("SELECT key_id, sealed FROM house_secrets WHERE name = $1", name)
    assert row is not None
    return ring.open(row["key_id"], row["sealed"], _own_bond(name))


async def open_ring(database: Database, home: Path, written: str | None) -> KeyRing:
    """The key ring: as *written* in the settings, else from the key file, which is made on first use.

    It is not made where the database holds secrets already: that would hide that their key is missing.
    """
    if written is not None:
        return key_ring.parse(written, "TIDEGATE_KEY")
    path = key_ring.key_file(home)
    if (ring := key_ring.read_file(path)) is not None:
        return ring
    used = await database.pool.fetch(
        "SELECT key_id FROM secrets UNION SELECT key_id FROM house_secrets ORDER BY key_id"
    )
    if used:
        named = ", ".join(row["key_id"] for row in used)
        raise TidegateError(
            f"The key file {path} is missing, and the database holds secrets sealed with {named}. Copy secret.key from "
            "the machine or safe place that has it (or set TIDEGATE_KEY); if it is lost, "
            "remove the accounts and sign them in again."
        )
    return key_ring.make_file(path)


async def reseal(database: Database, ring: KeyRing) -> int:
    """Encrypt every secret again under the ring's first key, all or none; returns how many were under another."""
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE secrets, house_secrets IN SHARE ROW EXCLUSIVE MODE")
        rows = await connection.fetch(
            "SELECT account, name, key_id, sealed FROM secrets WHERE key_id <> $1", ring.ids[0]
        )
        anew = []
        for row in rows:
            bond = _bond(row["account"], row["name"])
            anew.append((row["account"], row["name"], *ring.seal(ring.open(row["key_id"], row["sealed"], bond), bond)))
        await _replace(connection, anew)
        return len(anew) + await _reseal_own(connection, ring)


async def _reseal_own(connection: Connection, ring: KeyRing) -> int:
    rows = await connection.fetch("SELECT name, key_id, sealed FROM house_secrets WHERE key_id <> $1", ring.ids[0])
    for row in rows:
        bond = _own_bond(row["name"])
        key_id, sealed = ring.seal(ring.open(row["key_id"], row["sealed"], bond), bond)
        await connection.execute(
            "UPDATE house_secrets SET key_id = $2, sealed = $3 WHERE name = $1", row["name"], key_id, sealed
        )
    return len(rows)


async def refuse_others(database: Database) -> None:
    """Refuse to change under running processes what they know only from their start."""
    async with database.pool.acquire() as connection:
        names = [name for name in await others(connection) if database.name not in name]
    if names:
        raise TidegateError(f"Others are using the database: {', '.join(names)}. Stop them first.")


async def _replace(connection: Connection, anew: list[tuple[AccountId, str, str, bytes]]) -> None:
    accounts, names, key_ids, sealed = ([row[column] for row in anew] for column in range(4))
    await connection.execute(
        """
        UPDATE secrets
        SET key_id = anew.key_id, sealed = anew.sealed
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) AS anew (account, name, key_id, sealed)
        WHERE secrets.account = anew.account AND secrets.name = anew.name
        """,
        accounts,
        names,
        key_ids,
        sealed,
    )


def _bond(account: AccountId, name: str) -> SecretOwner:
    return SecretOwner("secrets", account, name)


def _own_bond(name: str) -> SecretOwner:
    return SecretOwner("house_secrets", AccountId(0), name)
