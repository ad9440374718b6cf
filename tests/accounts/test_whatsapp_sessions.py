"""WhatsApp's corner of the database: made by itself, reached by its own role alone, and whole after a restore."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.accounts.whatsapp_corner import corner
from tests.databases import empty_database
from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions, address_for
from tidegate.database.pg_address import place
from tidegate.database.pool import Address, Database
from tidegate.maintenance.backup_restore import back_up, restore

pytestmark = pytest.mark.both_servers

DEVICE = "6281200000001:1@s.whatsapp.net"
MADE_BY_THE_LIBRARY = "CREATE TABLE whatsmeow_device (jid text PRIMARY KEY)"


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return key_ring.make_file(tmp_path / "secret.key")


@pytest.fixture
async def sessions(database: Database, ring: KeyRing) -> AsyncIterator[WhatsAppSessions]:
    async with corner(database, ring) as made:
        yield made


async def test_it_is_made_once_and_is_always_the_same(sessions: WhatsAppSessions) -> None:
    """Two workers that open accounts get one address, so neither locks the other out."""
    first = await sessions.address()
    assert await sessions.address() == first
    assert place(first).user.startswith("tidegate_whatsapp_")
    assert (place(first).password or "") not in place(first).masked_url


async def test_its_role_reaches_its_corner_and_nothing_else(sessions: WhatsAppSessions, database: Database) -> None:
    """The library makes its tables there by itself; the house's own are closed to it."""
    connection = await asyncpg.connect(await sessions.address())
    try:
        await connection.execute(MADE_BY_THE_LIBRARY)
        for forbidden in ("SELECT * FROM public.accounts", "SELECT * FROM public.secrets"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(forbidden)
    finally:
        await connection.close()
    assert await database.pool.fetchval("SELECT to_regclass('whatsapp.whatsmeow_device') IS NOT NULL")


async def test_the_password_is_in_no_table_as_it_is(sessions: WhatsAppSessions, database: Database) -> None:
    """Sealed with the house's key; the server knows only what proves it."""
    password = place(await sessions.address()).password
    assert password is not None
    sealed: bytes = await database.pool.fetchval("SELECT sealed FROM house_secrets WHERE name = 'whatsapp.role'")
    assert password.encode() not in sealed


async def test_a_device_is_there_until_it_is_forgotten(sessions: WhatsAppSessions, database: Database) -> None:
    """Also before the library ever made its tables."""
    assert not await sessions.holds(DEVICE)
    connection = await asyncpg.connect(await sessions.address())
    await connection.execute(MADE_BY_THE_LIBRARY)
    await connection.execute("INSERT INTO whatsmeow_device VALUES ($1), ('other')", DEVICE)
    await connection.close()
    assert await sessions.holds(DEVICE)
    await sessions.forget(DEVICE)
    assert not await sessions.holds(DEVICE)
    assert await sessions.holds("other")


async def test_a_restored_database_keeps_its_devices(
    sessions: WhatsAppSessions, ring: KeyRing, server: Address, address: Address, tmp_path: Path
) -> None:
    """On a server that has never heard of the role, the tables belong to whoever restored; opening puts that right."""
    connection = await asyncpg.connect(await sessions.address())
    await connection.execute(MADE_BY_THE_LIBRARY)
    await connection.execute("INSERT INTO whatsmeow_device VALUES ($1)", DEVICE)
    await connection.close()
    await back_up(address, tmp_path / "backup", force=False, tell=lambda _: None)
    async with empty_database(server) as target:
        await restore(target, tmp_path / "backup", tell=lambda _: None)
        restored = await Database.open(target)
        async with corner(restored, ring) as there:
            connection = await asyncpg.connect(await there.address())
            await connection.execute("ALTER TABLE whatsmeow_device ADD COLUMN added integer")
            await connection.close()
            assert await there.holds(DEVICE)
        await restored.close()


class TestAddresses:
    def test_what_the_driver_does_not_know_is_left_out(self) -> None:
        """It would take it for a setting of the server and be refused."""
        url = "postgresql://me:mine@db.example:5433/house?target_session_attrs=any&sslrootcert=/ca.pem&sslmode=verify-full"
        assert address_for(url, "wa", "pw", encrypted=True) == (
            "postgres://wa:pw@db.example:5433/house?sslrootcert=%2Fca.pem&sslmode=verify-full"
        )

    def test_tls_is_decided_by_what_our_own_connection_got(self) -> None:
        """The driver cannot try first with it and then without, as ours does."""
        assert address_for("postgresql://me@db/house", "wa", "pw", encrypted=True).endswith("sslmode=require")
        url = "postgresql://me@db/house?sslmode=prefer"
        assert address_for(url, "wa", "pw", encrypted=False).endswith("sslmode=disable")

    def test_a_socket_stays_one(self) -> None:
        """The embedded server listens on nothing else."""
        url = "postgresql://tidegate@/tidegate?host=/data/my%20home/socket&port=5432"
        assert place(address_for(url, "wa", "pw", encrypted=False)).hosts == "/data/my home/socket"

    @given(st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1))
    def test_any_password_comes_through(self, password: str) -> None:
        """Whatever it is made of."""
        assert place(address_for("postgresql://me@db/house", "wa", password, encrypted=False)).password == password
