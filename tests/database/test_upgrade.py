"""Bringing a database to this schema: by itself, by command, and never at the wrong moment."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from tests.database.bare_database import bare
from tidegate.core.errors import TidegateError
from tidegate.database.migrations import HEAD
from tidegate.database.migrations.upgrade import is_empty, others, require_current, upgrade, version
from tidegate.database.pool import Address
from tidegate.maintenance.database_opening import prepare

__all__ = ["bare"]  # a fixture


pytestmark = pytest.mark.both_servers


async def at(address: Address) -> str | None:
    connection = await asyncpg.connect(address.direct)
    try:
        return await version(connection)
    finally:
        await connection.close()


async def test_the_embedded_database_upgrades_by_itself(bare: Address) -> None:
    """Zero set-up: the first start makes the schema, the second finds it."""
    await prepare(bare, embedded=True)
    assert await at(bare) == HEAD
    await prepare(bare, embedded=True)


async def test_the_embedded_database_is_not_upgraded_under_somebody(bare: Address) -> None:
    """Whoever is connected is named, and the schema stays."""
    other = await asyncpg.connect(bare.direct, server_settings={"application_name": "an old worker"})
    with pytest.raises(TidegateError, match=r"others are using it: an old worker .process .*Stop them"):
        await prepare(bare, embedded=True)
    assert await at(bare) is None
    await other.close()


async def test_somebody_connected_is_no_hindrance_when_nothing_is_to_be_done(address: Address) -> None:
    """The second process of an up-to-date database just starts."""
    other = await asyncpg.connect(address.direct)
    await prepare(address, embedded=True)
    await other.close()


async def test_an_own_server_is_upgraded_only_by_command(bare: Address) -> None:
    """Its operator knows which workers to stop first."""
    with pytest.raises(TidegateError, match=r"holds no Tidegate schema yet. Run: tidegate db upgrade"):
        await prepare(bare, embedded=False)
    assert await at(bare) is None
    assert await upgrade(bare.direct) is None
    await prepare(bare, embedded=False)


@pytest.mark.parametrize("embedded", [True, False])
async def test_a_newer_database_is_refused(address: Address, embedded: bool) -> None:
    """Nothing is changed in it, by start or by command."""
    connection = await asyncpg.connect(address.direct)
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()
    with pytest.raises(TidegateError, match="schema 9999, newer than this Tidegate"):
        await prepare(address, embedded=embedded)
    with pytest.raises(TidegateError, match="newer than this Tidegate"):
        await upgrade(address.direct)
    assert await at(address) == "9999"


def test_an_older_database_is_refused_with_what_to_do() -> None:
    """The sentence workers end with when somebody else's release comes before theirs."""
    with pytest.raises(TidegateError, match=r"is at schema 0000; .*tidegate db upgrade"):
        require_current("0000")
    require_current(HEAD)


async def test_upgrades_at_the_same_time_wait_for_each_other(bare: Address) -> None:
    """Five at once: one does it, the others find it done."""
    started = await asyncio.gather(*(upgrade(bare.direct) for _ in range(5)))
    assert sorted(started, key=str) == [HEAD, HEAD, HEAD, HEAD, None]


async def test_processes_that_start_together_all_get_in(bare: Address) -> None:
    """The first upgrades; the others are not taken for workers in its way."""
    await asyncio.gather(*(prepare(bare, embedded=True) for _ in range(5)))
    assert await at(bare) == HEAD


async def test_an_upgrade_that_fails_leaves_nothing(bare: Address) -> None:
    """All steps and what belongs to them are one transaction."""

    async def fail(connection: asyncpg.Connection) -> None:
        await connection.execute("SELECT 1 / 0")

    with pytest.raises(asyncpg.DivisionByZeroError):
        await upgrade(bare.direct, then=fail)
    connection = await asyncpg.connect(bare.direct)
    assert await is_empty(connection)
    await connection.close()


async def test_somebody_elses_database_is_not_touched(bare: Address) -> None:
    """A slip in DATABASE_URL does not mix our tables with others."""
    connection = await asyncpg.connect(bare.direct)
    await connection.execute("CREATE TABLE invoices (id integer)")
    with pytest.raises(TidegateError, match="holds tables but no Tidegate schema"):
        await upgrade(bare.direct)
    assert await at(bare) is None
    await connection.close()


@pytest.mark.parametrize(
    "thing", ["TABLE t (i integer)", "SEQUENCE s", "FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'"]
)
async def test_anything_of_anybody_makes_a_database_not_empty(bare: Address, thing: str) -> None:
    """In any schema."""
    connection = await asyncpg.connect(bare.direct)
    assert await is_empty(connection)
    await connection.execute("CREATE SCHEMA elsewhere; SET search_path = elsewhere")
    await connection.execute(f"CREATE {thing}")
    assert not await is_empty(connection)
    await connection.close()


async def test_others_are_named(address: Address) -> None:
    """By the name they gave, or as nameless; not ourselves."""
    connection = await asyncpg.connect(address.direct)
    assert await others(connection) == []
    one = await asyncpg.connect(address.direct, server_settings={"application_name": "worker 7"})
    two = await asyncpg.connect(address.direct)
    names = await others(connection)
    assert sorted(name.partition(" (process")[0] for name in names) == ["a nameless program", "worker 7"]
    for session in (one, two, connection):
        await session.close()
