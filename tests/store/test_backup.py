"""Backups, restores and the move to an own server."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import on_database
from tests.servers import embedded
from tests.waiting import until
from tidegate.errors import BadInput, TidegateError
from tidegate.store.backup import back_up, restore
from tidegate.store.database import Address, Database
from tidegate.store.embedded import Seat
from tidegate.store.moving import move
from tidegate.store.programs import wheel_programs
from tidegate.store.schema import HEAD
from tidegate.store.upgrade import prepare, upgrade, version

_numbers = itertools.count()
FILLED = """
UPDATE house SET world = 'real';
INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
VALUES (5, 'w', 's', 'h', 'p', '1', 10, '15 s');
INSERT INTO accounts (name, platform, owner, epoch, cycle)
SELECT 'account ' || n, 'telegram', CASE WHEN n % 2 = 0 THEN 5 END, n, 100 + n FROM generate_series(1, 20) n;
INSERT INTO secrets (account, name, key_id, sealed) SELECT id, 'session', 'k', decode('00ff10', 'hex') FROM accounts;
INSERT INTO house_secrets (name, key_id, sealed) VALUES ('whatsapp.role', 'k', decode('00ff10', 'hex'));
INSERT INTO pace (account, tat, rate, ceiling) SELECT id, clock_now() - interval '1 day', 4, 12 FROM accounts;
INSERT INTO chat_pace (account, chat, tat) SELECT id, 'chat', clock_now() - interval '1 day' FROM accounts;
INSERT INTO waits (account, kind, until) SELECT id, 'account', clock_now() + interval '1 hour' FROM accounts;
INSERT INTO calls (account, kind, method, outcome, at, took, charged)
SELECT n % 20, 'work', E'strange\\t\\n"name"', 'ok', clock_now(), '20 ms', true FROM generate_series(1, 500) n;
INSERT INTO commands (account, kind, args) SELECT id, 'pause', '{"é": [1, null]}' FROM accounts;
INSERT INTO channels (platform, number, title, enabled)
SELECT 'telegram', n, E'a\ttitle', true FROM generate_series(1, 3) n;
INSERT INTO sights (account, channel) SELECT a.id, c.id FROM accounts a, channels c;
INSERT INTO places (channel, topic, watermark) SELECT id, 7, 9 FROM channels;
INSERT INTO messages (channel, id, at, author, text) SELECT id, 1, clock_now(), 'é', E'two\nlines' FROM channels;
INSERT INTO attachments (channel, message, number, file, name, size, mime, kind)
SELECT id, 1, 1, 2, 'a.zip', 10, '', 'document' FROM channels;
UPDATE messages SET text = 'edited', words = '''edited'':1', extra = '{"é": 1}', files = '{2}';
INSERT INTO tokens (name, hash, scopes, channels) VALUES ('bot', 'h', '{read}', '{1}');
INSERT INTO passwords (hash) VALUES ('$argon2id$');
INSERT INTO sign_in_links (hash, until) VALUES ('h', clock_now());
INSERT INTO sessions (hash, until) VALUES ('h', clock_now());
INSERT INTO sign_in_tries (client) VALUES ('127.0.0.1');
INSERT INTO early_deletions (channel, message) SELECT id, 2 FROM channels;
INSERT INTO coverage (channel, kind, spans) SELECT id, 'documents', '{[0,5),[7,9)}' FROM channels;
INSERT INTO archives (channel, topic, kind, base, name, lost) SELECT id, 1, 'zip', 'a', 'a.zip', '{2,3}' FROM channels;
INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender)
SELECT id, channel, 1, 2, 0, 'a.zip', 10, clock_now(), clock_now(), '' FROM archives;
INSERT INTO archive_contents (archive, number, path, size) SELECT id, 1, 'tower/gate.stl', 5 FROM archives;
INSERT INTO pictures (hash, mime, content) VALUES (decode('01', 'hex'), 'image/png', decode('89504e', 'hex'));
INSERT INTO previews (archive, message, picture) SELECT id, 1, decode('01', 'hex') FROM archives;
INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at)
SELECT id, channel, 1, 1, 'download', 1, clock_now() FROM archives;
INSERT INTO deliveries (archive, destination, number, source_message, source_file, name, first_byte, size, way, saved)
SELECT id, channel, 1, 1, 2, 'a.zip', 0, 10, 'upload', '{[0,1)}' FROM archives;
INSERT INTO media (sha256, size, mime) VALUES (decode('02', 'hex'), 3, 'image/png');
INSERT INTO media_pieces (sha256, number, content) VALUES (decode('02', 'hex'), 0, decode('89504e', 'hex'));
INSERT INTO uploads (account, sha256, kind, reference)
SELECT id, decode('02', 'hex'), 'picture', decode('00', 'hex') FROM accounts;
INSERT INTO target_lists (name) VALUES ('all shops');
INSERT INTO target_list_members (list, channel) SELECT l.id, c.id FROM target_lists l, channels c;
INSERT INTO reminders (name, account, written, timezone, list)
SELECT 'reminder ' || a.id, a.id, '{"name": "é"}', 'UTC', l.id FROM accounts a, target_lists l;
INSERT INTO reminder_targets (reminder, number, named, channel)
SELECT r.id, c.id, 'é', c.id FROM reminders r, channels c;
INSERT INTO reminder_media (reminder, name, sha256) SELECT id, 'é.png', decode('02', 'hex') FROM reminders;
INSERT INTO runs (reminder, name, account, start_hour, end_hour, timezone, when_window_closes, when_unknown,
                  begun_target, state, paused_by, opens_at, closes_at)
SELECT id, name, account, 6, 18, 'UTC', 'stop', 'hold', 'finish', 'paused', 'person', clock_now(), clock_now()
FROM reminders;
INSERT INTO run_targets (run, number, channel, title)
SELECT r.id, 1, c.id, c.title FROM runs r, channels c WHERE c.number = 1;
INSERT INTO run_parts (run, target, number, kind, text, media, file_name)
SELECT id, 1, 1, 'picture', E'two\nlines', decode('02', 'hex'), 'é.png' FROM runs;
INSERT INTO cycles (account, number, whole, began_at, report) SELECT id, 1, true, clock_now(), '{}' FROM accounts;
"""


async def fill(database: Database) -> None:
    await database.pool.execute(FILLED)
    for number in range(3):  # each in a transaction of its own
        await database.pool.execute("INSERT INTO events (kind, subject) VALUES ('test', $1)", str(number))


async def rows(address: Address) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    connection = await asyncpg.connect(address.direct)
    try:
        tables = [
            row["tablename"]
            for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ]
        return {
            table: [row[0] for row in await connection.fetch(f"SELECT t::text FROM {table} t ORDER BY 1")]
            for table in tables
        }
    finally:
        await connection.close()


MARK = "pg_attver="
"""What servers since the releases of November 2026 write into the options of every column."""


def schema(address: Address) -> list[str]:
    """The whole schema as SQL, without remarks, the random mark of each dump, and those of a server's columns."""
    said = subprocess.run(
        [wheel_programs() / "pg_dump", "--schema-only", "--no-owner", "--dbname", address.direct],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [line for line in said.splitlines() if line and not line.startswith(("--", "\\")) and MARK not in line]


@asynccontextmanager
async def empty_database(server: Address) -> AsyncIterator[Address]:
    name = f"r_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(server.direct)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield on_database(server, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


@pytest.fixture
async def target(server: Address) -> AsyncIterator[Address]:
    async with empty_database(server) as made:
        yield made


class Killed(Exception):
    """Stands for a kill between two steps."""


def silent(line: str) -> None:
    """Takes progress and shows none."""


# What a restore resets, told once more in the test's own words.
RESET = """
UPDATE events SET tx = '0';
UPDATE accounts SET owner = NULL, epoch = epoch + 1;
DELETE FROM workers;
"""


async def test_a_restored_database_is_identical(database: Database, target: Address, tmp_path: Path) -> None:
    """Row by row and in its schema, except for what must not be believed: owners, workers, pace, order of events."""
    await fill(database)
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    assert await restore(target, tmp_path / "backup", tell=silent) == HEAD
    await database.pool.execute(RESET)
    before, after = await rows(database.address), await rows(target)
    paced = {"pace", "chat_pace"}
    assert {table: before[table] for table in before if table not in paced} == {
        table: after[table] for table in after if table not in paced
    }
    assert all(before[table] for table in before if table != "workers")
    assert schema(database.address) == schema(target)


async def test_marks_of_another_servers_columns_are_left_out(
    database: Database, target: Address, tmp_path: Path
) -> None:
    """A server that marks its columns and one that knows no such mark take each other's backups."""
    await database.pool.execute(
        "UPDATE pg_attribute SET attoptions = '{pg_attver=7}' WHERE attrelid = 'accounts'::regclass AND attname = 'id'"
    )
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)
    assert await restore(target, tmp_path / "backup", tell=silent) == HEAD


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
    monkeypatch.setattr("tidegate.store.tools.wheel_programs", lambda: limited)
    with pytest.raises(TidegateError, match="was not written"):
        await back_up(database.address, file, force=True, tell=silent)
    assert file.read_text() == "the last good one"
    assert not (tmp_path / "backup.partial").exists()


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


async def test_a_restore_cut_short_is_not_taken_for_a_database(
    database: Database, target: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the rows and before the resets: Tidegate refuses to work on it and to upgrade it."""
    await back_up(database.address, tmp_path / "backup", force=False, tell=silent)

    async def killed(dsn: str, at: str) -> None:
        raise Killed

    monkeypatch.setattr("tidegate.store.backup.finish_restore", killed)
    with pytest.raises(Killed):
        await restore(target, tmp_path / "backup", tell=silent)
    with pytest.raises(TidegateError, match="no Tidegate schema"):
        await prepare(target, embedded=False)
    with pytest.raises(TidegateError, match="was a restore into it cut short"):
        await upgrade(target.direct)


async def test_the_password_is_never_an_argument(database: Database) -> None:
    """Anybody on the machine can read the arguments of a running program."""
    url = database.address.direct.replace("tidegate@", "tidegate:hunter2secret@")
    async with database.transaction() as connection:
        await connection.execute("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")  # holds pg_dump where it is
        backup = asyncio.create_task(back_up(Address(url, url), Path("/dev/null"), force=False, tell=silent))

        def dumping() -> list[str]:
            assert not backup.done(), backup.result()
            return _children("pg_dump")

        found = await until(dumping)
    await backup
    assert all("hunter2secret" not in arguments for arguments in found)


def _children(name: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if name in arguments.partition("\0")[0] and parent == str(os.getpid()):
            found.append(arguments)
    return found


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    folder = test_folder / f"m{os.getpid()}-{next(_numbers)}"
    yield folder
    shutil.rmtree(folder)


@contextmanager
def seated(home: Path) -> Iterator[Seat]:
    seat = embedded(home)
    try:
        yield seat
    finally:
        seat.leave()


async def test_an_embedded_database_moves_to_an_own_server(home: Path, target: Address) -> None:
    """Older server or not: every row arrives, and the embedded copy is not opened again by mistake."""
    with seated(home) as seat:
        await prepare(seat.address, embedded=True)
        database = await Database.open(seat.address)
        await fill(database)
        await database.close()
        before = await rows(seat.address)
        said: list[str] = []
        marker = await move(seat, target.direct, tell=said.append)
        assert await rows(seat.address) == before
        after = await rows(target)
    assert {table: len(found) for table, found in after.items()} == {
        table: 0 if table in ("workers", "chat_pace") else len(found) for table, found in before.items()
    }
    assert after["secrets"] == before["secrets"]
    assert after["calls"] == before["calls"]
    assert "moving accounts" in said
    with pytest.raises(TidegateError, match=f"was moved to .* \\(see {marker}\\). Set DATABASE_URL"):
        embedded(home)
    marker.unlink()
    with seated(home) as seat:
        assert await rows(seat.address) == before


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

        with pytest.raises(TidegateError, match="psql failed: "):
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
