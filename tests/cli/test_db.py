"""``tidegate db`` from the outside: what an operator types, reads and can script."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from tests.cli.program import TIDEGATE, at_terminal, environment, tidegate
from tests.conftest import on_database
from tests.database.data_folders import make_old_data
from tests.servers import FAST, embedded, make_home
from tidegate.access.queries import operator_password, page_sessions, sign_in_links, tokens
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.server import Server, address_in
from tidegate.database.migrations import HEAD
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Database
from tidegate.maintenance.database_opening import prepare

DAY = timedelta(days=1)
_numbers = itertools.count()
PASSWORD = "hunter2secret"


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    home = make_home(test_folder / f"c{os.getpid()}-{next(_numbers)}")
    yield home
    shutil.rmtree(home)


@pytest.fixture
async def empty(server: Address) -> AsyncIterator[Address]:
    name = f"cli_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(server.direct)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield on_database(server, name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


class TestUrl:
    def test_the_embedded_address_is_printed_and_nothing_started(self, home: Path) -> None:
        """For psql and other tools; when it answers is said on stderr."""
        done = tidegate("db", "url", home=home)
        assert (done.returncode, done.stdout) == (
            0,
            f"postgresql://tidegate@/tidegate?host={str(home / 'socket').replace('/', '%2F')}&port=5432\n",
        )
        assert done.stderr == "This is the embedded database; it answers while a Tidegate process runs.\n"
        assert not (home / "postgresql").exists()

    def test_a_password_is_masked(self, home: Path) -> None:
        """On the page and for scripts."""
        url = f"postgresql://me:{PASSWORD}@db.example:6432/tide?sslmode=require"
        done = tidegate("db", "url", "--json", home=home, DATABASE_URL=url)
        assert json.loads(done.stdout) == {
            "url": "postgresql://me:***@db.example:6432/tide?sslmode=require",
            "embedded": False,
        }
        assert PASSWORD not in done.stdout + done.stderr

    def test_a_malformed_address_is_a_sentence(self, home: Path) -> None:
        """Exit code 2, and nothing of it repeated."""
        done = tidegate("db", "url", home=home, DATABASE_URL=f"postgresql://me:{PASSWORD}#@db/tide")
        assert done.returncode == 2
        assert done.stderr.startswith("The database address is malformed: ")
        assert PASSWORD not in done.stderr


class TestUpgrade:
    def test_an_own_server_gets_its_schema(self, home: Path, empty: Address) -> None:
        """Once; the second time says that there is nothing to do. The data folder stays unused."""
        first = tidegate("db", "upgrade", home=home, DATABASE_URL=empty.url)
        again = tidegate("db", "upgrade", home=home, DATABASE_URL=empty.url)
        assert (first.returncode, first.stderr) == (0, f"The database went from schema none to {HEAD}.\n")
        assert (again.returncode, again.stderr) == (0, f"The database is at schema {HEAD} already.\n")
        assert list(home.iterdir()) == []

    def test_data_of_an_older_postgresql_is_upgraded(self, home: Path) -> None:
        """Server and schema in one command; where the old data stays is said."""
        make_old_data(home)
        refused = tidegate("calls", home=home)
        assert refused.returncode == 1
        assert "Run: tidegate db upgrade" in refused.stderr
        # Whoever crashed that server left a table of another program in our database.
        done = tidegate("db", "upgrade", home=home)
        assert "The data is now PostgreSQL 18. The 16 data stays in" in done.stderr
        assert "holds tables but no Tidegate schema" in done.stderr
        assert (home / "postgresql-16" / "PG_VERSION").exists()

    def test_data_that_was_upgraded_is_no_copy(self, home: Path) -> None:
        """It lives on a new server, and it is the operator who brought it there: tokens go on working."""
        make_old_data(home)
        asyncio.run(_fill_old_data(home))
        done = tidegate("db", "upgrade", home=home)
        assert done.returncode == 0, done.stderr
        [listed] = json.loads(tidegate("token", "list", "--json", home=home).stdout)
        assert listed["state"] == "active"


async def _fill_old_data(home: Path) -> None:
    """What a start of Tidegate and an operator leave in a database on an older PostgreSQL."""
    server = Server(DataFolder(home), FAST, version="16")
    server.ensure_running()
    address = address_in(home)
    connection = await asyncpg.connect(address)
    await connection.execute("DROP TABLE kept")
    await connection.close()
    await upgrade(address)
    await prepare(Address(address, address), embedded=False)
    database = await Database.open(Address(address, address))
    async with database.transaction() as connection:
        await tokens.add(connection, "bot", [TokenScope.READ], None)
    await database.close()
    server.stop()


class TestBackup:
    def test_a_backup_is_restored_elsewhere(self, home: Path, test_folder: Path) -> None:
        """From one data folder into another; the key is spoken of both times, and who has to be let in again."""
        assert tidegate("db", "upgrade", home=home).returncode == 0
        file = home / "a backup"
        written = tidegate("db", "backup", str(file), home=home)
        assert (written.returncode, written.stdout) == (0, "")
        assert "backing up accounts …" in written.stderr
        assert f"keep a copy of {home / 'secret.key'}, apart from the backup" in written.stderr
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        other = make_home(test_folder / f"c{os.getpid()}-{next(_numbers)}")
        restored = tidegate("db", "restore", str(file), home=other)
        assert (restored.returncode, restored.stdout) == (
            0, "Every browser has to sign in again: 0 sessions and 0 sign-in links are gone.\n"
        )  # fmt: skip
        assert f"put that into {other / 'secret.key'}" in restored.stderr
        again = tidegate("db", "restore", str(file), home=other)
        assert again.returncode == 2
        assert "is not empty" in again.stderr
        shutil.rmtree(other)

    async def test_what_a_restore_no_longer_believes_is_said(
        self, home: Path, database: Database, empty: Address
    ) -> None:
        """On standard output, for people and for scripts; and it is so."""
        async with database.transaction() as connection:
            for name in ("bot", "a reader"):
                await tokens.add(connection, name, [TokenScope.READ], None)
            await operator_password.set_password(connection, "hash")
            await page_sessions.begin_session(connection, "127.0.0.1", SessionSpan(DAY, DAY))
            await sign_in_links.make_link(connection)
        file = str(home / "backup")

        def run(*arguments: str, url: str) -> str:
            done = tidegate(*arguments, home=home, DATABASE_URL=url)
            assert done.returncode == 0, done.stderr
            return done.stdout

        await asyncio.to_thread(run, "db", "backup", file, url=database.address.url)
        said = await asyncio.to_thread(run, "db", "restore", file, "--json", url=empty.url)
        assert json.loads(said) == {
            "tokens": ["a reader", "bot"], "sessions": 1, "links": 1, "has_password": True
        }  # fmt: skip
        listed = json.loads(await asyncio.to_thread(run, "token", "list", "--json", url=empty.url))
        assert [one["state"] for one in listed] == ["unconfirmed", "unconfirmed"]
        await asyncio.to_thread(run, "token", "confirm", "--all", url=empty.url)
        said = await asyncio.to_thread(run, "db", "mark-restored", url=empty.url)
        assert said.splitlines() == [
            "Every browser has to sign in again: 0 sessions and 0 sign-in links are gone.",
            'Tokens that open nothing until you confirm them: "a reader", "bot". '
            "Run: tidegate token confirm NAME (or --all)",
            "The password of the pages is the one of the backup. If it was changed since, set a new one in Settings.",
        ]

    async def test_a_database_in_use_is_not_marked_as_restored(self, home: Path, database: Database) -> None:
        """Whoever works on it would go on with what is reset under it."""
        other = await database.direct("curious person")
        done = await asyncio.to_thread(
            lambda: tidegate("db", "mark-restored", home=home, DATABASE_URL=database.address.url)
        )
        await other.close()
        assert done.returncode == 1
        assert done.stderr.startswith("Others are using the database: ")
        assert "curious person" in done.stderr

    def test_a_full_disk_is_a_sentence(self, home: Path, address: Address) -> None:
        """Exit code 1 and the reason."""
        done = tidegate("db", "backup", "/dev/full", home=home, DATABASE_URL=address.url)
        assert done.returncode == 1
        assert done.stderr.endswith("No space left on device.\n")
        assert "Traceback" not in done.stderr

    def test_a_terminal_is_no_place_for_it(self, home: Path, address: Address) -> None:
        """A backup is not text: what strangers wrote is in it as it is."""
        done = at_terminal("db", "backup", "/dev/stdout", home=home, DATABASE_URL=address.url)
        assert (done.returncode, done.stdout.startswith("/dev/stdout is a terminal")) == (2, True)

    def test_an_existing_file_is_kept(self, home: Path, address: Address) -> None:
        """Exit code 2, and --force is named."""
        (home / "backup").write_text("older")
        done = tidegate("db", "backup", "backup", home=home, DATABASE_URL=address.url)
        assert done.returncode == 2
        assert "--force" in done.stderr
        assert (home / "backup").read_text() == "older"


class TestMove:
    def test_the_embedded_database_moves_away(self, home: Path, empty: Address) -> None:
        """The address comes from standard input, so that its password is in no list of processes."""
        assert tidegate("db", "upgrade", home=home).returncode == 0
        done = subprocess.run(
            [TIDEGATE, "db", "move", "-"], cwd=home, env=environment(home), input=empty.url + "\n",
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Set DATABASE_URL to postgresql://tidegate@/" in done.stderr
        moved = tidegate("calls", home=home)
        assert moved.returncode == 1
        assert "was moved to" in moved.stderr
        assert tidegate("calls", home=home, DATABASE_URL=empty.url).returncode == 0

    def test_another_process_in_the_way_is_said(self, home: Path, empty: Address) -> None:
        """And nothing is moved."""
        assert tidegate("db", "upgrade", home=home).returncode == 0
        seat = embedded(home)
        done = tidegate("db", "move", empty.url, home=home)
        seat.leave()
        assert done.returncode == 1
        assert "Other Tidegate processes use the database" in done.stderr
        assert tidegate("calls", home=home).returncode == 0

    def test_an_own_server_is_not_moved(self, home: Path, empty: Address) -> None:
        """Only the embedded database moves; for others there are backups."""
        done = tidegate("db", "move", empty.url, home=home, DATABASE_URL=empty.url)
        assert done.returncode == 2
        assert "DATABASE_URL is set" in done.stderr


class TestRekey:
    def test_a_key_file_gets_a_new_first_key(self, home: Path, address: Address) -> None:
        """What to do with the old one is said, and no key is shown."""
        first = tidegate("db", "rekey", home=home, DATABASE_URL=address.url)
        before = (home / "secret.key").read_text()
        again = tidegate("db", "rekey", home=home, DATABASE_URL=address.url)
        lines = (home / "secret.key").read_text().splitlines()
        assert (first.returncode, again.returncode) == (0, 0)
        assert lines[2:] == before.splitlines()[1:]
        assert "needed for older backups" in again.stderr
        for line in lines[1:]:
            assert line.partition(":")[2] not in first.stderr + again.stderr

    def test_keys_of_the_environment_are_changed_there(self, home: Path, address: Address) -> None:
        """The command seals anew under the first; with nothing to seal it says what to do."""
        key = "a:" + "A" * 43 + "="
        done = tidegate("db", "rekey", home=home, DATABASE_URL=address.url, TIDEGATE_KEY=key)
        assert done.returncode == 3
        assert "Put a new key before it" in done.stderr
        assert not (home / "secret.key").exists()
