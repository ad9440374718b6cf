"""Who may connect to the embedded server as whom, and data folders of releases that trusted everybody."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.database.data_folders import ask, make_old_data, postmaster
from tests.servers import FAST, as_admin, embedded, make_home
from tests.upgrades.release import SCHEMAS, Release, make_old_data_folder
from tests.users import NOBODY, as_plain_user, as_root
from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions
from tidegate.core.errors import TidegateError
from tidegate.database.embedded import data_folder as folders
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.data_upgrade import upgrade_data
from tidegate.database.embedded.pg_programs import ProgramRunner, system_user, wheel_programs
from tidegate.database.embedded.server import Server, ServerLease
from tidegate.database.pool import Database
from tidegate.maintenance.backup_restore import back_up
from tidegate.maintenance.database_opening import prepare

_numbers = itertools.count()
ROLES = """
SELECT string_agg(rolname || rolsuper || rolcreatedb || rolcreaterole || rolcanlogin, ' ' ORDER BY rolname)
FROM pg_roles WHERE (oid = 10 OR oid >= 16384) AND rolname !~ 'whatsapp'
"""
PLAIN = "tidegatefalsefalsefalsetrue tidegate_admintruetruetruetrue"
OF_THE_OPERATOR = """
CREATE TABLE kept AS SELECT 42 AS answer;
CREATE TYPE mood AS ENUM ('calm');
CREATE STATISTICS kept_numbers ON (answer + 1), (answer + 2) FROM kept;
CREATE SCHEMA mine;
CREATE VIEW mine.answers AS SELECT answer FROM kept;
CREATE SCHEMA IF NOT EXISTS whatsapp;
CREATE TABLE IF NOT EXISTS whatsapp.whatsmeow_device (jid text PRIMARY KEY);
DO $$
DECLARE role text := (SELECT 'tidegate_whatsapp_' || oid FROM pg_database WHERE datname = current_database());
BEGIN
    EXECUTE format('CREATE ROLE %I LOGIN', role);
    EXECUTE format('GRANT %I TO CURRENT_USER', role);
    EXECUTE format('ALTER TABLE whatsapp.whatsmeow_device OWNER TO %I', role);
END $$
"""
LEFT_WITH_THE_SUPERUSER = """
SELECT coalesce(string_agg(what, ' '), 'nothing') FROM (
    SELECT relname FROM pg_class WHERE relowner = 10 AND oid >= 16384
    UNION ALL SELECT proname FROM pg_proc WHERE proowner = 10 AND oid >= 16384
    UNION ALL SELECT typname FROM pg_type WHERE typowner = 10 AND oid >= 16384
    UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = 10 AND oid >= 16384
    UNION ALL SELECT stxname FROM pg_statistic_ext WHERE stxowner = 10
    UNION ALL SELECT datname FROM pg_database WHERE datdba = 10 AND datname = current_database()
) AS things (what)
"""


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    """A data folder of the test's own; whatever still runs in it at the end is stopped."""
    home = test_folder / f"a{os.getpid()}-{next(_numbers)}"
    yield home
    if (home / "postgresql" / "postmaster.pid").exists():
        os.kill(postmaster(home), signal.SIGQUIT)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def old(test_folder: Path) -> Path:
    """A data folder of an earlier release, stopped in order, with a linked device and things of the operator's own."""
    home = test_folder / f"old-{os.getpid()}"
    make_old_home(home)
    return home


def make_old_home(home: Path) -> None:
    asyncio.run(make_old_data_folder(home, Release.load(SCHEMAS[-1])))
    server = Server(DataFolder(home), FAST)
    server.start()
    assert ask(home, OF_THE_OPERATOR) != "away"
    server.stop()


@pytest.fixture
def old_home(old: Path, home: Path) -> Path:
    """A copy of it for the test alone, with the owners of its files."""
    subprocess.run(["cp", "-a", old, home], check=True)
    return home


def start_old_server(home: Path) -> None:
    """As the earlier release did; nobody of it is left."""
    Server(DataFolder(home), FAST).start()


def assert_converted(home: Path) -> None:
    """Everything is there, belongs to the plain role, and the plain role is nothing more."""
    assert as_admin(home, ROLES) == PLAIN
    assert as_admin(home, LEFT_WITH_THE_SUPERUSER) == "nothing"
    assert ask(home, "SELECT answer FROM mine.answers") == "42"
    assert int(ask(home, "SELECT count(*) FROM whatsapp.whatsmeow_device")) >= 0
    assert int(ask(home, "SELECT count(*) FROM accounts")) > 1
    assert (
        ask(home, "DROP STATISTICS kept_numbers; DROP VIEW mine.answers; DROP TABLE kept, accounts CASCADE") != "away"
    )
    assert ask(home, "DROP FUNCTION claim_send, pieces_of CASCADE; DROP TYPE mood; DROP SCHEMA mine") != "away"


@pytest.fixture(scope="session")
def running(test_folder: Path) -> Iterator[Path]:
    """A data folder whose server runs."""
    home = test_folder / f"running-{os.getpid()}"
    seat = embedded(home)
    yield home
    seat.leave()


class TestRoles:
    @pytest.mark.parametrize(
        "sql",
        [
            "COPY (SELECT 1) TO PROGRAM 'true'", "SELECT pg_read_file('/etc/passwd')", "ALTER SYSTEM SET fsync = off",
            "CREATE ROLE another", "CREATE DATABASE another", "SET ROLE tidegate_admin",
            "ALTER ROLE tidegate SUPERUSER", "UPDATE pg_class SET relname = 'x'", "SELECT lo_import('/etc/passwd')",
            "CREATE EVENT TRIGGER t ON ddl_command_start EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc.so.6', 'getpid'",
        ],
    )  # fmt: skip
    def test_the_role_for_work_is_a_plain_one(self, running: Path, sql: str) -> None:
        """Whoever gets SQL past us reads no file and runs no program."""
        assert ask(running) == "1"
        assert ask(running, sql) == "away"

    def test_new_data_has_the_same_roles(self, running: Path) -> None:
        """A superuser for the data, a plain role for the work, and one of its own for WhatsApp's library."""
        assert as_admin(running, ROLES) == PLAIN
        assert as_admin(running, LEFT_WITH_THE_SUPERUSER) == "nothing"

    @as_root
    def test_only_the_servers_user_is_the_superuser(self, running: Path) -> None:
        """Tidegate itself runs as root here, and signs in as the plain role."""
        refused = psql(running, "tidegate_admin")
        assert 'Peer authentication failed for user "tidegate_admin"' in refused.stderr
        assert psql(running, "tidegate").returncode == 0

    @as_root
    @pytest.mark.parametrize("role", ["tidegate", "tidegate_admin", "tidegate_whatsapp_1"])
    def test_another_user_is_no_role_even_at_the_socket(self, running: Path, role: str) -> None:
        """Folder and socket are closed to them; were they open, the server itself still asks who is there."""
        folder, socket = running / "socket", running / "socket" / ".s.PGSQL.5432"
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, socket)] == [0o700, 0o700]
        folder.chmod(0o755)
        socket.chmod(0o777)
        refused = psql(running, role, user=NOBODY, group=NOBODY, extra_groups=[])
        assert f'Peer authentication failed for user "{role}"' in refused.stderr
        folder.chmod(0o700)
        socket.chmod(0o700)

    async def test_whatsapps_library_signs_in_as_its_own_role(self, home: Path, tmp_path: Path) -> None:
        """The role is there before the first account is added, since the plain role makes none."""
        ring = key_ring.make_file(tmp_path / "secret.key")

        async def opened() -> KeyRing:
            return ring

        seat = await asyncio.to_thread(embedded, home)
        await prepare(seat.address, embedded=True)
        database = await Database.open(seat.address)
        address = await WhatsAppSessions(database, opened).address()
        connection = await asyncpg.connect(address)
        await connection.execute("CREATE TABLE whatsmeow_device (jid text PRIMARY KEY)")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("SELECT FROM public.accounts")
        await connection.close()
        await back_up(seat.address, tmp_path / "backup", force=False, tell=lambda _: None)
        await database.close()
        await asyncio.to_thread(seat.leave)


def psql(home: Path, role: str, **how: object) -> subprocess.CompletedProcess[str]:
    command = [wheel_programs() / "psql", "-XtAc", "SELECT 1", "-h", home / "socket", "-U", role, "-d", "tidegate"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **how)


class TestConversion:
    @pytest.mark.parametrize("running", [True, False])
    def test_data_that_trusted_everybody_is_converted_on_start(self, old_home: Path, running: bool) -> None:
        """Also when all its users were killed and its server runs on; once, and not again."""
        if running:
            start_old_server(old_home)
        seat = embedded(old_home)
        rules = old_home / "postgresql" / "pg_hba.conf"
        assert "trust" not in rules.read_text()
        written = rules.stat().st_mtime_ns
        seat.leave()
        seat = embedded(old_home)
        assert rules.stat().st_mtime_ns == written
        assert_converted(old_home)
        seat.leave()

    def test_data_in_use_is_not_converted(self, old_home: Path) -> None:
        """Another process, perhaps of the earlier release, works on it: a sentence, and its server runs on."""
        start_old_server(old_home)
        pid = postmaster(old_home)
        with (old_home / "postgresql.users").open("a") as other:
            fcntl.flock(other, fcntl.LOCK_SH)
            with pytest.raises(TidegateError, match=r"made by an earlier release .* Other Tidegate processes use"):
                embedded(old_home)
        assert ask(old_home, "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'") == "COPY 1"
        assert postmaster(old_home) == pid
        seat = embedded(old_home)
        assert_converted(old_home)
        seat.leave()

    @pytest.mark.parametrize("programs_before", range(4, 15))
    def test_a_conversion_can_be_killed_at_any_point(self, old_home: Path, programs_before: int) -> None:
        """Before each program that it runs, with kill -9; the next start finishes it."""
        child = os.fork()
        if child == 0:
            _die_before_program(programs_before)
            ServerLease(old_home, options=FAST)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        seat = embedded(old_home)
        assert_converted(old_home)
        seat.leave()

    def test_older_data_is_converted_before_it_is_upgraded(self, home: Path) -> None:
        """The command that brings it to a newer PostgreSQL brings the roles along."""
        make_old_data(home)
        assert upgrade_data(home, tell=lambda _: None) is not None
        seat = embedded(home)
        assert as_admin(home, ROLES) == PLAIN
        assert as_admin(home, LEFT_WITH_THE_SUPERUSER) == "nothing"
        assert ask(home, "DROP TABLE kept") != "away"
        seat.leave()

    def test_a_user_of_another_name_is_let_in(self, home: Path) -> None:
        """The folder came from another machine, or the user was renamed: the map is written anew."""
        embedded(home).leave()
        (home / "postgresql" / "pg_ident.conf").write_text("server harry all\ntidegate harry all\n")
        seat = embedded(home)
        assert ask(home) == "1"
        seat.leave()


def _die_before_program(count: int) -> None:
    """Have this process kill itself before it runs the program of that number."""
    numbers = itertools.count(1)
    for name in ("ask", "code"):
        original = getattr(ProgramRunner, name)

        def run(self: ProgramRunner, *command: str | Path, original: object = original, **how: object) -> object:
            if next(numbers) > count:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(self, *command, **how)

        setattr(ProgramRunner, name, run)


class TestPlainUsers:
    @pytest.fixture
    def reachable(self, test_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """PostgreSQL's programs where a user without rights can run them, wherever these tests are installed."""
        programs, copy = wheel_programs(), test_folder / f"programs-{os.getpid()}"
        if os.geteuid() == 0 and not copy.exists():
            folders._copy_for_everybody(programs, copy)
        if os.geteuid() == 0:
            monkeypatch.setattr(folders, "wheel_programs", lambda _: copy / "package" / programs.parent.name / "bin")

    @pytest.fixture
    def their_home(self, home: Path) -> Path:
        make_home(home)
        if os.geteuid() == 0:
            os.chown(home, system_user().pw_uid, system_user().pw_gid)
            home.chmod(0o700)
        return home

    @pytest.mark.usefixtures("reachable")
    def test_a_plain_user_runs_it_alone(self, their_home: Path) -> None:
        """One user runs the server and Tidegate, and works as the plain role all the same."""

        def start_and_look() -> str:
            seat = embedded(their_home)
            told = ask(their_home, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            seat.leave()
            return told

        assert as_plain_user(start_and_look) == "f"

    @pytest.mark.usefixtures("reachable")
    def test_a_plain_users_old_data_is_converted(self, their_home: Path) -> None:
        """As for root."""

        def convert() -> str:
            make_old_home(their_home)
            seat = embedded(their_home)
            assert_converted(their_home)
            seat.leave()
            return "converted"

        assert as_plain_user(convert) == "converted"

    @as_root
    def test_a_user_without_a_name_is_told(self, their_home: Path) -> None:
        """The server looks names up, so it could let nobody in."""
        nameless = 4_000_000
        os.chown(their_home, nameless, nameless)
        said = as_plain_user(lambda: ServerLease(their_home), user=nameless)
        assert str(said).startswith("The user number 4000000 has no name on this machine")
