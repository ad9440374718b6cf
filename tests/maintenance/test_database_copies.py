"""A database that is a copy: recognised when it is opened, and nobody who may have been shut out since comes in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import on_database
from tests.databases import rows
from tests.maintenance.filled_database import fill, silent
from tests.servers import DEBIAN
from tidegate.access.queries import sign_in_links, tokens
from tidegate.access.queries.tokens import TokenScope, TokenState
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.pool import Address, Database
from tidegate.maintenance import database_copies
from tidegate.maintenance.backup_restore import back_up, restore
from tidegate.maintenance.database_copies import DistrustedAccess
from tidegate.maintenance.database_opening import prepare

pytestmark = pytest.mark.both_servers

Copy = Callable[[Database, Address, Path], Awaitable[None]]


async def run(program: Path, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(program, *arguments)
    assert await process.wait() == 0


async def own_programs(database: Database) -> Path:
    """Those of the server's own release."""
    number = int(await database.pool.fetchval("SHOW server_version_num"))
    return DEBIAN if number // 10_000 == 15 else wheel_programs()


async def by_command(database: Database, target: Address, file: Path) -> None:
    await back_up(database.address, file, force=False, tell=silent)
    await restore(target, file, tell=silent)


async def by_hand(database: Database, target: Address, file: Path) -> None:
    """As people do who know PostgreSQL and not Tidegate."""
    programs = await own_programs(database)
    await run(programs / "pg_dump", "-Fc", "-f", str(file), "-d", database.address.direct)
    await run(programs / "pg_restore", "--no-owner", "-d", target.direct, str(file))
    await prepare(target, embedded=False)


async def by_template(database: Database, target: Address, file: Path) -> None:
    """Within one server, where the server is the same and the database is not."""
    copied, made = (address.direct.partition("?")[0].rpartition("/")[2] for address in (database.address, target))
    await database.close()
    connection = await asyncpg.connect(on_database(target, "template1").direct)
    try:
        await connection.execute(f"DROP DATABASE {made}")
        await connection.execute(f"CREATE DATABASE {made} TEMPLATE {copied}")
    finally:
        await connection.close()
    await prepare(target, embedded=False)


@asynccontextmanager
async def opened(address: Address) -> AsyncIterator[Database]:
    database = await Database.open(address)
    try:
        yield database
    finally:
        await database.close()


@pytest.mark.parametrize("copy", [by_command, by_hand, by_template])
async def test_a_copy_lets_nobody_in_until_the_operator_says_so(
    database: Database, target: Address, tmp_path: Path, copy: Copy
) -> None:
    """Whichever way it was made: sessions, links and tries are gone, tokens wait, and an event tells of it."""
    await prepare(database.address, embedded=False)  # as its last start did
    await fill(database)
    async with database.transaction() as connection:
        secret = await tokens.add(connection, "reader", [TokenScope.READ], None)
    await copy(database, target, tmp_path / "backup")
    async with opened(target) as restored:
        kept = await rows(target)
        assert {table: kept[table] for table in ("sessions", "sign_in_links", "sign_in_tries", "sign_in_clients")} == {
            "sessions": [], "sign_in_links": [], "sign_in_tries": [], "sign_in_clients": []
        }  # fmt: skip
        assert len(kept["passwords"]) == 1
        async with restored.connection() as connection:
            assert [one.state for one in await tokens.listing(connection)] == [TokenState.UNCONFIRMED] * 2
            found = await tokens.find(connection, secret)
            assert found is not None
            assert found.state is TokenState.UNCONFIRMED
            assert found.used_at is None
            event = await connection.fetchval("SELECT data FROM events WHERE kind = 'access.reset'")
        assert event == {"tokens": ["bot", "reader"], "sessions": 1, "links": 1, "has_password": True}
        assert await restored.pool.fetchval("SELECT count(*) FROM accounts WHERE owner IS NOT NULL") == 0


async def test_a_backup_over_the_original_is_a_copy_too(database: Database, tmp_path: Path) -> None:
    """In the same database of the same server: what was revoked after the backup is there again, and opens nothing."""
    await prepare(database.address, embedded=False)
    async with database.transaction() as connection:
        secret = await tokens.add(connection, "reader", [TokenScope.READ], None)
    programs, file = await own_programs(database), str(tmp_path / "backup")
    await run(programs / "pg_dump", "-Fc", "-f", file, "-d", database.address.direct)
    async with database.transaction() as connection:
        await tokens.revoke(connection, "reader")
    await run(programs / "pg_restore", "--clean", "--if-exists", "--no-owner", "-d", database.address.direct, file)
    async with opened(database.address) as restored:
        await prepare(database.address, embedded=False)
        async with restored.connection() as connection:
            found = await tokens.find(connection, secret)
    assert found is not None
    assert found.state is TokenState.UNCONFIRMED


async def test_only_the_first_start_on_a_copy_resets_it(database: Database, target: Address, tmp_path: Path) -> None:
    """What the operator confirmed stays confirmed over every later start, and of many at once one resets."""
    await prepare(database.address, embedded=False)
    await fill(database)
    await by_hand(database, target, tmp_path / "backup")
    async with opened(target) as restored:
        async with restored.transaction() as connection:
            assert await tokens.confirm(connection, "bot") == ["bot"]
            await sign_in_links.make_link(connection)
        await asyncio.gather(*(prepare(target, embedded=False) for _ in range(3)))
        assert await restored.pool.fetchval("SELECT count(*) FROM sign_in_links") == 1
        assert await restored.pool.fetchval("SELECT count(*) FROM events WHERE kind = 'access.reset'") == 1
        assert await restored.pool.fetchval("SELECT count(*) FROM tokens WHERE unconfirmed_since IS NULL") == 1


async def test_a_database_that_stays_where_it_is_is_no_copy(database: Database) -> None:
    """The first start of this release, and every start after it, leaves everybody signed in."""
    await fill(database)
    before = await rows(database.address)
    for _ in range(2):
        await prepare(database.address, embedded=False)
    after = await rows(database.address)
    assert after["house"] != before["house"]
    assert {**after, "house": before["house"]} == before


async def test_a_server_that_tells_no_number_is_no_copy_of_itself(
    database: Database, superuser: Callable[[str], Awaitable[object]]
) -> None:
    """Where the role may not ask which server it is, every start works and nothing is reset."""
    await fill(database)
    await superuser("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public")
    async with plain_role(database) as address:
        await prepare(address, embedded=False)
        assert await database.pool.fetchval("SELECT count(*) FROM sessions") == 1


@asynccontextmanager
async def plain_role(database: Database) -> AsyncIterator[Address]:
    """The database's address for a role that is no superuser: our own, or one that is made for the block."""
    if database.address.is_embedded:
        yield database.address
        return
    role = f"plain_{os.getpid()}"
    await database.pool.execute(f"CREATE ROLE {role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    try:
        url = database.address.direct.replace("//tidegate@", f"//{role}@")
        yield Address(url, url)
    finally:
        await database.pool.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_kill_before_the_end_leaves_nothing_that_opens(
    database: Database, target: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a restored database holds is there together with the resets, or not at all."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)

    async def cut_short(connection: asyncpg.Connection, *, because: str) -> DistrustedAccess:
        await database_copies.reset_work(connection)
        raise asyncio.CancelledError

    monkeypatch.setattr("tidegate.maintenance.database_copies.distrust", cut_short)
    with pytest.raises(asyncio.CancelledError):
        await restore(target, tmp_path / "backup", tell=silent)
    assert await rows(target) == {}
