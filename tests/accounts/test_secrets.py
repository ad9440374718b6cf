"""Secrets at rest: sealed, bound to their row, and resealed under a new key."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.secrets import AccountVault, open_ring, refuse_others, reseal, service_secret
from tidegate.core.errors import TidegateError
from tidegate.core.ids import AccountId
from tidegate.database.pool import Address, Database
from tidegate.platforms.interface import Vault

pytestmark = pytest.mark.both_servers


async def account(database: Database, name: str) -> AccountId:
    number: int = await database.pool.fetchval(
        "INSERT INTO accounts (name, platform) VALUES ($1, 'telegram') RETURNING id", name
    )
    return AccountId(number)


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return key_ring.make_file(tmp_path / "secret.key")


async def test_a_vault_gives_back_what_it_was_given(database: Database, ring: KeyRing) -> None:
    """By name, and the last word counts."""
    vault: Vault = AccountVault(database, ring, await account(database, "one"))
    assert await vault.read("session") is None
    await vault.write("session", b"old")
    await vault.write("session", b"new")
    await vault.write("token", b"")
    assert await vault.read("session") == b"new"
    assert await vault.read("token") == b""


async def test_no_secret_is_in_the_database_as_it_is(database: Database, ring: KeyRing) -> None:
    """What a stolen backup shows is sealed."""
    vault = AccountVault(database, ring, await account(database, "one"))
    await vault.write("session", b"very secret indeed")
    sealed: bytes = await database.pool.fetchval("SELECT sealed FROM secrets")
    assert b"secret" not in sealed


async def test_a_secret_moved_to_another_account_does_not_open(database: Database, ring: KeyRing) -> None:
    """Who can write to the table still cannot sign one account in as another."""
    one, two = await account(database, "one"), await account(database, "two")
    await AccountVault(database, ring, one).write("session", b"token")
    await database.pool.execute("UPDATE secrets SET account = $1", two)
    with pytest.raises(TidegateError, match=f"account number {two} does not open"):
        await AccountVault(database, ring, two).read("session")


async def test_a_secret_under_another_name_does_not_open(database: Database, ring: KeyRing) -> None:
    """A token is not taken for a session."""
    one = await account(database, "one")
    await AccountVault(database, ring, one).write("session", b"token")
    await database.pool.execute("UPDATE secrets SET name = 'token'")
    with pytest.raises(TidegateError, match="does not open"):
        await AccountVault(database, ring, one).read("token")


async def test_resealing_changes_the_key_of_every_secret(database: Database, ring: KeyRing, tmp_path: Path) -> None:
    """Afterwards the new key alone opens everything."""
    accounts = [await account(database, f"account {number}") for number in range(5)]
    for number in accounts:
        await AccountVault(database, ring, number).write("session", f"token {number}".encode())
    newer = key_ring.add_key(tmp_path / "secret.key")
    assert await reseal(database, newer) == 5
    alone = key_ring.parse((tmp_path / "secret.key").read_text().splitlines()[1], "the new key alone")
    for number in accounts:
        assert await AccountVault(database, alone, number).read("session") == f"token {number}".encode()
    assert await reseal(database, newer) == 0


async def test_resealing_is_all_or_nothing(database: Database, ring: KeyRing, tmp_path: Path) -> None:
    """One secret that does not open, and all stay as they were."""
    one, two = await account(database, "one"), await account(database, "two")
    await AccountVault(database, ring, one).write("session", b"token")
    await AccountVault(database, ring, two).write("session", b"token")
    await database.pool.execute("UPDATE secrets SET key_id = 'lost' WHERE account = $1", two)
    with pytest.raises(TidegateError, match='The key "lost" is missing'):
        await reseal(database, key_ring.add_key(tmp_path / "secret.key"))
    assert await AccountVault(database, ring, one).read("session") == b"token"


async def test_the_key_file_is_made_on_first_use(database: Database, tmp_path: Path) -> None:
    """Nothing to set up; and the next start reads the same key."""
    first = await open_ring(database, tmp_path / "home", None)
    again = await open_ring(database, tmp_path / "home", None)
    assert first.ids == again.ids


async def test_a_lost_key_file_is_not_replaced(database: Database, tmp_path: Path) -> None:
    """A new key would hide that the old one is gone: the sentence names it and nothing is written."""
    ring = await open_ring(database, tmp_path, None)
    await AccountVault(database, ring, await account(database, "one")).write("session", b"token")
    (tmp_path / "secret.key").unlink()
    with pytest.raises(TidegateError, match=f"is missing, and the database holds secrets sealed with {ring.ids[0]}"):
        await open_ring(database, tmp_path, None)
    assert not (tmp_path / "secret.key").exists()


async def test_a_key_in_the_settings_needs_no_file(database: Database, tmp_path: Path) -> None:
    """A container has its key in the environment and nothing on disk."""
    key_ring.make_file(tmp_path / "other.key")
    ring = await open_ring(database, tmp_path / "home", (tmp_path / "other.key").read_text())
    assert ring.source == "TIDEGATE_KEY"
    assert not (tmp_path / "home").exists()


async def test_a_key_is_not_changed_under_running_workers(database: Database, address: Address) -> None:
    """They know only the keys they started with; the sentence names them."""
    await refuse_others(database)
    worker = await Database.open(address)
    with pytest.raises(TidegateError, match=f"Others are using the database: {worker.name}"):
        await refuse_others(database)
    await worker.close()


async def test_a_secret_of_the_house_is_made_once(database: Database, ring: KeyRing) -> None:
    """Whoever comes first makes it, and everybody gets that one; it is sealed, and resealed with the others."""
    assert await service_secret(database, ring, "role", first=b"first") == b"first"
    assert await service_secret(database, ring, "role", first=b"second") == b"first"
    assert b"first" not in await database.pool.fetchval("SELECT sealed FROM house_secrets")
    both = key_ring.parse(f"new:{b64encode(bytes(32)).decode()}\n{Path(ring.source).read_text()}", "both")
    assert await reseal(database, both) == 1
    assert await database.pool.fetchval("SELECT key_id FROM house_secrets") == "new"
    assert await service_secret(database, both, "role", first=b"third") == b"first"
