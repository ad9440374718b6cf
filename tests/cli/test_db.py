"""``tidegate db`` from the outside: what an operator types, reads and can script."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.cli.program import TIDEGATE, environment, tidegate
from tests.conftest import on_database
from tests.servers import embedded, make_home
from tests.store.test_embedded import make_old_data
from tidegate.store.database import Address
from tidegate.store.schema import HEAD

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


class TestBackup:
    def test_a_backup_is_restored_elsewhere(self, home: Path, test_folder: Path) -> None:
        """From one data folder into another; the key is spoken of both times, stdout stays clean."""
        assert tidegate("db", "upgrade", home=home).returncode == 0
        file = home / "a backup"
        written = tidegate("db", "backup", str(file), home=home)
        assert (written.returncode, written.stdout) == (0, "")
        assert "backing up accounts …" in written.stderr
        assert f"keep a copy of {home / 'secret.key'}, apart from the backup" in written.stderr
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        other = make_home(test_folder / f"c{os.getpid()}-{next(_numbers)}")
        restored = tidegate("db", "restore", str(file), home=other)
        assert (restored.returncode, restored.stdout) == (0, "")
        assert f"put that into {other / 'secret.key'}" in restored.stderr
        again = tidegate("db", "restore", str(file), home=other)
        assert again.returncode == 2
        assert "is not empty" in again.stderr
        shutil.rmtree(other)

    def test_a_full_disk_is_a_sentence(self, home: Path, address: Address) -> None:
        """Exit code 1 and the reason."""
        done = tidegate("db", "backup", "/dev/full", home=home, DATABASE_URL=address.url)
        assert done.returncode == 1
        assert done.stderr.endswith("No space left on device.\n")
        assert "Traceback" not in done.stderr

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
        assert "needed for backups made before now" in again.stderr
        for line in lines[1:]:
            assert line.partition(":")[2] not in first.stderr + again.stderr

    def test_keys_of_the_environment_are_changed_there(self, home: Path, address: Address) -> None:
        """The command seals anew under the first; with nothing to seal it says what to do."""
        key = "a:" + "A" * 43 + "="
        done = tidegate("db", "rekey", home=home, DATABASE_URL=address.url, TIDEGATE_KEY=key)
        assert done.returncode == 3
        assert "Put a new key before it" in done.stderr
        assert not (home / "secret.key").exists()
