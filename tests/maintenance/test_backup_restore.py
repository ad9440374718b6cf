"""Backups, restores and the move to an own server."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import asyncpg
import pytest

from tests.databases import empty_database, rows, schema
from tests.maintenance.filled_database import fill, silent
from tests.servers import OwnServer, embedded, free_port
from tests.waiting import until
from tidegate.core.errors import BadInput, TidegateError
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations import HEAD
from tidegate.database.migrations.upgrade import upgrade, version
from tidegate.database.pool import Address, Database
from tidegate.maintenance.backup_restore import back_up, restore
from tidegate.maintenance.database_move import move
from tidegate.maintenance.database_opening import prepare

pytestmark = pytest.mark.both_servers

_numbers = itertools.count()


class Killed(Exception):
    """Stands for a kill between two steps."""


# What a restore resets, told once more in the test's own words.
RESET = """
UPDATE events SET tx = '0';
UPDATE accounts SET owner = NULL, epoch = epoch + 1;
DELETE FROM workers;
DELETE FROM sessions;
DELETE FROM sign_in_links;
DELETE FROM sign_in_tries;
DELETE FROM sign_in_clients;
"""
DISTRUSTED = {"media_room", "sessions", "sign_in_clients", "sign_in_links", "sign_in_tries", "workers"}


async def test_a_restored_database_is_identical(database: Database, target: Address, tmp_path: Path) -> None:
    """Row by row and in its schema, except for what must not be believed: owners, workers, pace, order of events,
    files in flight, and who may come in.
    """
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    assert (await restore(target, tmp_path / "backup", tell=silent)).schema == HEAD
    await database.pool.execute(RESET)
    before, after = await rows(database.address), await rows(target)
    [told] = [row for row in after["events"] if "access.reset" in row]
    after["events"].remove(told)
    changed = {"pace", "chat_pace", "tokens", "house"}
    assert {table: before[table] for table in before if table not in changed} == {
        table: after[table] for table in after if table not in changed
    }
    assert {table for table in before if not before[table]} == DISTRUSTED
    assert schema(database.address) == schema(target)


async def test_marks_of_another_servers_columns_are_left_out(
    database: Database, superuser: Callable[[str], Awaitable[object]], target: Address, tmp_path: Path
) -> None:
    """A server that marks its columns and one that knows no such mark take each other's backups."""
    await superuser(
        "UPDATE pg_attribute SET attoptions = '{pg_attver=7}' WHERE attrelid = 'accounts'::regclass AND attname = 'id'"
    )
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    assert (await restore(target, tmp_path / "backup", tell=silent)).schema == HEAD


async def test_a_restored_database_starts_with_an_empty_bucket(
    database: Database, target: Address, tmp_path: Path
) -> None:
    """It does not know its last sends, so it starts as if it had just sent: rested buckets are rested no more."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    await restore(target, tmp_path / "backup", tell=silent)
    restored = await Database.open(target)
    assert await restored.pool.fetchval("SELECT count(*) FROM pace WHERE tat <= clock_now()") == 0
    await restored.close()


async def test_a_restored_database_goes_on_counting(database: Database, target: Address, tmp_path: Path) -> None:
    """New rows get numbers of their own, and new events come after the restored ones."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    await restore(target, tmp_path / "backup", tell=silent)
    restored = await Database.open(target)
    await restored.pool.execute("INSERT INTO accounts (name, platform) VALUES ('new', 'discord')")
    await restored.pool.execute("INSERT INTO events (kind, subject) VALUES ('test', 'new')")
    assert await restored.pool.fetchval("SELECT subject FROM events ORDER BY tx DESC, id DESC LIMIT 1") == "new"
    await restored.close()


async def test_a_backup_is_private_and_says_what_it_does(database: Database, tmp_path: Path) -> None:
    """Mode 0600, no partial file left, and progress for the person who waits."""
    said: list[str] = []
    await back_up(database.address, tmp_path / "backup", force=False, tell=said.append)
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    assert not (tmp_path / "backup.partial").exists()
    assert "backing up accounts" in said


async def test_an_existing_file_is_replaced_only_when_asked(database: Database, tmp_path: Path) -> None:
    """The last good backup is not lost to a slip."""
    file = tmp_path / "backup"
    file.write_text("the last good one")
    with pytest.raises(BadInput, match="exists"):
        await back_up(database.address, file, force=False, tell=silent)
    assert file.read_text() == "the last good one"
    await back_up(database.address, file, force=True, tell=silent)
    assert file.read_bytes().startswith(b"PGDMP")


async def test_a_full_disk_is_a_sentence(database: Database) -> None:
    """A device that is always full: the reason is said."""
    with pytest.raises(TidegateError, match=r"was not written: .*No space left on device"):
        await back_up(database.address, Path("/dev/full"), force=False, tell=silent)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)  # noqa: PTH116 - nothing here waits


async def test_a_backup_cut_short_leaves_no_half_file(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that takes no more: neither the file nor a piece of it stays, and an older backup is untouched."""
    await fill(database)
    file = tmp_path / "backup"
    file.write_text("the last good one")
    limited = tmp_path / "programs"
    limited.mkdir()
    (limited / "pg_dump").write_text(f'#!/bin/sh\nulimit -f 4\nexec "{wheel_programs()}/pg_dump" "$@"\n')
    (limited / "pg_dump").chmod(0o755)
    monkeypatch.setattr("tidegate.database.embedded.dump_programs.wheel_programs", lambda: limited)
    with pytest.raises(TidegateError, match="was not written"):
        await back_up(database.address, file, force=True, tell=silent)
    assert file.read_text() == "the last good one"
    assert not (tmp_path / "backup.partial").exists()


async def test_a_backup_stays_good_when_the_database_goes_away_after_it(
    database: Database, server: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the last backup cannot be stored then, and the file is complete all the same."""
    name = await database.pool.fetchval("SELECT current_database()")
    closing = f"""ALTER DATABASE "{name}" ALLOW_CONNECTIONS """
    (tmp_path / "close.py").write_text(
        "import asyncio, asyncpg\n"
        "async def close():\n"
        f"    connection = await asyncpg.connect({server.direct!r})\n"
        f"    await connection.execute({closing + 'false'!r})\n"
        "asyncio.run(close())\n"
    )
    programs = tmp_path / "programs"
    programs.mkdir()
    real, close = wheel_programs() / "pg_dump", tmp_path / "close.py"
    (programs / "pg_dump").write_text(f'#!/bin/sh\n"{real}" "$@" && "{sys.executable}" "{close}"\n')
    (programs / "pg_dump").chmod(0o755)
    monkeypatch.setattr("tidegate.database.embedded.dump_programs.wheel_programs", lambda: programs)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    assert (tmp_path / "backup").read_bytes().startswith(b"PGDMP")
    with pytest.raises(asyncpg.PostgresError, match="not currently accepting connections"):
        await asyncpg.connect(database.address.direct)
    connection = await asyncpg.connect(server.direct)
    await connection.execute(closing + "true")
    await connection.close()


async def test_a_folder_that_does_not_exist_is_a_sentence(database: Database, tmp_path: Path) -> None:
    """Where the file should go is named."""
    with pytest.raises(TidegateError, match="cannot be written: No such file or directory"):
        await back_up(database.address, tmp_path / "nowhere" / "backup", force=False, tell=silent)


async def test_an_empty_database_is_not_backed_up(target: Address, tmp_path: Path) -> None:
    """A backup of nothing would be found out too late."""
    with pytest.raises(TidegateError, match="nothing to back up"):
        await back_up(target, tmp_path / "backup", force=False, tell=silent)


async def test_nothing_is_restored_over_anything(database: Database, tmp_path: Path) -> None:
    """Only into an empty database; this one is left as it was."""
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    before = await rows(database.address)
    with pytest.raises(BadInput, match="is not empty"):
        await restore(database.address, tmp_path / "backup", tell=silent)
    assert await rows(database.address) == before


async def test_what_is_no_backup_of_ours_is_refused(target: Address, server: Address, tmp_path: Path) -> None:
    """A missing file, any file, somebody else's backup: a sentence each, and the database stays empty."""
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        await restore(target, tmp_path / "missing", tell=silent)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(BadInput, match="is no backup"):
        await restore(target, tmp_path / "text", tell=silent)
    async with empty_database(server) as foreign:
        command = (str(wheel_programs() / "pg_dump"), "-Fc", "-f", str(tmp_path / "foreign"), "-d", foreign.direct)
        assert await (await asyncio.create_subprocess_exec(*command)).wait() == 0
    with pytest.raises(BadInput, match="backup of something else"):
        await restore(target, tmp_path / "foreign", tell=silent)
    assert await rows(target) == {}


async def test_half_a_backup_restores_nothing(database: Database, target: Address, tmp_path: Path) -> None:
    """A file cut short in its data fails whole: the database is as empty as before."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    whole = (tmp_path / "backup").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) - 500])
    with pytest.raises(TidegateError):
        await restore(target, tmp_path / "half", tell=silent)
    assert await rows(target) == {}


async def test_a_backup_of_a_newer_tidegate_is_refused(database: Database, target: Address, tmp_path: Path) -> None:
    """Before anything is written."""
    await database.pool.execute("UPDATE alembic_version SET version_num = '9999'")
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    with pytest.raises(TidegateError, match="has schema 9999, newer than this Tidegate"):
        await restore(target, tmp_path / "backup", tell=silent)
    assert await rows(target) == {}


@pytest.mark.parametrize("moment", ["restoring accounts", "restoring workers"])
async def test_a_restore_cut_short_leaves_an_empty_database(
    database: Database, target: Address, tmp_path: Path, moment: str
) -> None:
    """Killed at any point: nothing is there, so it can be tried again."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)

    def kill(said: str) -> None:
        if said == moment:
            raise Killed

    with pytest.raises(Killed):
        await restore(target, tmp_path / "backup", tell=kill)
    assert await rows(target) == {}
    await restore(target, tmp_path / "backup", tell=silent)


async def test_a_database_that_is_filled_meanwhile_is_left_alone(
    database: Database, target: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command was quicker after the first look: nothing of its work is overwritten."""
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)

    async def looked_too_early(dsn: str) -> None:
        await upgrade(dsn)

    monkeypatch.setattr("tidegate.maintenance.backup_restore.require_empty", looked_too_early)
    with pytest.raises(BadInput, match="is not empty"):
        await restore(target, tmp_path / "backup", tell=silent)
    assert len((await rows(target))["house"]) == 1


PASSWORD = "a:b\\c d'%@/é"


@pytest.fixture
async def with_password(test_folder: Path) -> AsyncIterator[Address]:
    """A database on a server that listens on 127.0.0.1 and asks for PASSWORD."""
    port = free_port()
    home = test_folder / f"password-{port}"
    server = OwnServer(home, wheel_programs(), options=("listen_addresses=127.0.0.1", f"port={port}"))
    await execute(server.address, f"ALTER ROLE tidegate PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'")
    url = f"postgresql://tidegate:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
    await upgrade(url)
    yield Address(url, url)
    server.leave()


async def test_a_password_is_shown_to_nobody(with_password: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others can read a program's arguments, and the same user its environment; whatever the password is made of."""
    for name, value in {"PGPASSWORD": "of another server", "TIDEGATE_KEY": "k1:s3cret", "PGSSLMODE": "prefer"}.items():
        monkeypatch.setenv(name, value)
    connection = await asyncpg.connect(with_password.direct)
    async with connection.transaction():
        await connection.execute("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")  # holds pg_dump where it is
        backup = asyncio.create_task(back_up(with_password, Path("/dev/null"), force=False, tell=silent))

        def dumping() -> list[bytes]:
            assert not backup.done(), backup.result()
            return _shown_by("pg_dump")

        arguments, variables = await until(dumping)
    await connection.close()
    await backup
    assert PASSWORD.encode() not in arguments + variables
    assert quote(PASSWORD, safe="").encode() not in arguments + variables
    assert b"of another server" not in variables
    assert b"s3cret" not in variables
    assert b"PGSSLMODE=prefer" in variables


async def test_a_password_of_the_environment_is_used(with_password: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address may leave it to libpq's own variables, for Tidegate itself and for its tools."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    url = with_password.direct.replace(f":{quote(PASSWORD, safe='')}@", "@")
    await back_up(Address(url, url), Path("/dev/null"), force=False, tell=silent)


def _shown_by(name: str) -> list[bytes]:
    """Arguments and environment of the child of that name, once there is one."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes()
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if name.encode() in arguments.partition(b"\0")[0] and parent == str(os.getpid()):
                return [arguments, (entry / "environ").read_bytes()]
        except OSError:
            continue
    return []


ACCESS = ("tokens", "passwords", "sessions", "sign_in_links", "sign_in_tries", "sign_in_clients")


@pytest.fixture
def home(test_folder: Path, data_folder: Path) -> Iterator[Path]:
    """A data folder of the test's own, with the schema."""
    folder = test_folder / f"m{os.getpid()}-{next(_numbers)}"
    subprocess.run(["cp", "-a", data_folder, folder], check=True)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def seated(home: Path) -> Iterator[ServerLease]:
    seat = embedded(home)
    try:
        yield seat
    finally:
        seat.leave()


async def test_an_embedded_database_moves_to_an_own_server(home: Path, target: Address) -> None:
    """Older server or not: every row arrives, and who may come in may do so there.

    The embedded copy is not opened again by mistake, and on purpose only as a copy.
    """
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        database = await Database.open(seat.address)
        await fill(database)
        await database.close()
        before = await rows(seat.address)
        said: list[str] = []
        marker = await move(seat, target.direct, tell=said.append)
        assert {**await rows(seat.address), "house": before["house"]} == before
        after = await rows(target)
    assert {table: len(found) for table, found in after.items()} == {
        table: 0 if table in ("workers", "chat_pace", "media_room") else len(found) for table, found in before.items()
    }
    assert after["secrets"] == before["secrets"]
    assert after["calls"] == before["calls"]
    assert {table: after[table] for table in ACCESS} == {table: before[table] for table in ACCESS}
    assert "moving accounts" in said
    with pytest.raises(TidegateError, match=f"was moved to .* \\(see {marker}\\). Set DATABASE_URL"):
        embedded(home)
    marker.unlink()
    with seated(home) as seat:
        assert {**await rows(seat.address), "house": before["house"]} == before
        await prepare(seat.address, embedded=True)
        assert (await rows(seat.address))["sessions"] == []


async def test_what_a_move_leaves_out_is_told(home: Path, target: Address) -> None:
    """A view of the operator's own stays behind; with rows of their own the move is refused, and nothing is changed."""
    said: list[str] = []
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        await execute(seat.address, "CREATE VIEW my_view AS SELECT 1; CREATE TABLE my_notes AS SELECT 1 AS i")
        with pytest.raises(TidegateError, match=r"table public.my_notes has 1 rows here and none there"):
            await move(seat, target.direct, tell=silent)
        assert await rows(target) == {}
        await execute(seat.address, "DROP TABLE my_notes")
        await move(seat, target.direct, tell=said.append)
    assert said[-1] == "left out what is not Tidegate's: my_view"


async def execute(address: Address, sql: str) -> None:
    connection = await asyncpg.connect(address.direct)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def test_a_database_in_use_is_not_moved(home: Path, target: Address) -> None:
    """Whoever is connected is named, and nothing is written there."""
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        other = await asyncpg.connect(seat.address.direct, server_settings={"application_name": "curious person"})
        with pytest.raises(TidegateError, match="Others are using the database: curious person"):
            await move(seat, target.direct, tell=silent)
        await other.close()
        with seated(home), pytest.raises(TidegateError, match="Other Tidegate processes use the database"):
            await move(seat, target.direct, tell=silent)
        assert await rows(target) == {}


async def test_a_database_moves_only_into_an_empty_one(home: Path, address: Address) -> None:
    """The target is left as it was, and the source stays in use."""
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        with pytest.raises(BadInput, match="is not empty"):
            await move(seat, address.direct, tell=silent)
    with seated(home):
        pass


async def test_a_move_whose_target_dies_changes_nothing(home: Path, target: Address, server: Address) -> None:
    """The target's sessions are ended in mid-move: a sentence, and the source can be used and moved again."""
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        database = await Database.open(seat.address)
        await fill(database)
        await database.close()
        before = await rows(seat.address)
        name = target.direct.partition("?")[0].rpartition("/")[2]
        sql = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'"
        command = [str(wheel_programs() / "psql"), "-tAc", sql, "--dbname", server.direct]

        def end_target(table: str) -> None:
            while table == "moving accounts" and subprocess.check_output(command).strip() == b"0":
                pass  # the other side is not there yet

        with pytest.raises(TidegateError, match="did not take the rows, and is as empty as it was: "):
            await move(seat, target.direct, tell=end_target)
        assert await rows(seat.address) == before
        assert await rows(target) == {}
        await move(seat, target.direct, tell=silent)


async def test_a_killed_move_leaves_the_source_usable(home: Path, target: Address) -> None:
    """kill -9 of the whole command: the lock at the door ends with it."""
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
    ready, tell_ready = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(_move_and_wait(home, target.direct, tell_ready))
        finally:
            os._exit(1)
    os.close(tell_ready)
    assert await asyncio.to_thread(os.read, ready, 1) == b"x"
    os.kill(child, signal.SIGKILL)
    await asyncio.to_thread(os.waitpid, child, 0)
    os.close(ready)
    with seated(home) as seat:
        connection = await asyncpg.connect(seat.address.direct)
        assert await version(connection) == HEAD
        await connection.close()


async def _move_and_wait(home: Path, url: str, tell_ready: int) -> None:
    def pause(_: str) -> None:
        os.write(tell_ready, b"x")
        signal.pause()

    await move(embedded(home), url, tell=pause)
