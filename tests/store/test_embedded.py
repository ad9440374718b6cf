"""The embedded server: shared, killed, repaired, and nothing opened that was closed."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers import FAST, embedded, identity, make_home
from tidegate.errors import BadInput, TidegateError
from tidegate.store import folder as folders
from tidegate.store.data_upgrade import upgrade_data
from tidegate.store.embedded import Seat, Server
from tidegate.store.folder import Folder, only_serve_in
from tidegate.store.programs import CURRENT, SYSTEM_USER, system_user, wheel_programs

_numbers = itertools.count()
SITS = """
import sys
from pathlib import Path
from tidegate.store.embedded import Seat, Server
seat = Seat(Path(sys.argv[1]), options=sys.argv[2:])
print("sits", flush=True)
sys.stdin.read()
seat.leave()
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    """A data folder of the test's own; whatever still runs in it at the end is stopped."""
    home = test_folder / f"e{os.getpid()}-{next(_numbers)}"
    yield home
    if (home / "postgresql" / "postmaster.pid").exists():
        Seat(home).leave()
    shutil.rmtree(home, ignore_errors=True)


class Sitter:
    """Another process with a seat."""

    def __init__(self, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SITS, home, *FAST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "sits\n"

    def leave(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def ask(home: Path, sql: str = "SELECT 1") -> str:
    command = [wheel_programs() / "psql", "-XtAc", sql, "-h", home / "socket", "-U", "tidegate", "-d", "tidegate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "away"


def postmaster(home: Path) -> int:
    return int((home / "postgresql" / "postmaster.pid").read_text().split()[0])


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "waited for a minute"


def test_processes_share_one_server_and_the_last_stops_it(home: Path) -> None:
    """Whoever comes later attaches; whoever leaves earlier leaves the others theirs."""
    first, second, seat = Sitter(home), Sitter(home), embedded(home)
    pid = postmaster(home)
    first.leave()
    assert ask(home) == "1"
    second.leave()
    assert ask(home) == "1"
    assert postmaster(home) == pid
    seat.leave()
    seat.leave()  # harmless
    assert ask(home) == "away"
    assert not (home / "postgresql" / "postmaster.pid").exists()


def test_a_killed_process_leaves_the_others_their_server(home: Path) -> None:
    """kill -9 of one, even of the one that started it."""
    starter, other = Sitter(home), Sitter(home)
    starter.kill()
    assert ask(home) == "1"
    other.leave()
    assert ask(home) == "away"


def test_a_server_all_users_of_which_were_killed_is_found_again(home: Path) -> None:
    """It runs on; the next to come attaches to it, and stops it on leaving."""
    for sitter in (Sitter(home), Sitter(home)):
        sitter.kill()
    assert ask(home) == "1"
    pid = postmaster(home)
    seat = embedded(home)
    assert postmaster(home) == pid
    seat.leave()
    assert ask(home) == "away"


def test_a_killed_server_is_repaired(home: Path) -> None:
    """kill -9 of the server itself: what was committed is there after the next start, whatever it left behind."""
    seat = embedded(home)
    ask(home, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(postmaster(home), signal.SIGKILL)
    assert (home / "postgresql" / "postmaster.pid").exists()
    again = embedded(home)
    assert ask(home, "SELECT answer FROM kept") == "42"
    seat.leave()
    again.leave()


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks into /proc")
def test_a_pid_file_that_names_another_program_is_no_hindrance(home: Path) -> None:
    """After a restart of the machine the server's old number may be anybody's, even the same user's."""
    embedded(home).leave()
    stranger = subprocess.Popen(["/bin/sh", "-c", "echo up; read line"], stdin=-1, stdout=-1, cwd="/", **identity())
    assert stranger.stdout is not None
    stranger.stdout.readline()
    mark = home / "postgresql" / "postmaster.pid"
    mark.write_text(f"{stranger.pid}\n{home / 'postgresql'}\n1700000000\n5432\n\n\n       1         1\n")
    seat = embedded(home)
    assert ask(home) == "1"
    seat.leave()
    stranger.communicate()


@pytest.mark.parametrize("moment", ["", "/PG_VERSION", "/global/pg_control", "/postmaster.pid"])
def test_a_kill_while_the_data_is_made_leaves_nothing_half_made(home: Path, moment: str) -> None:
    """Whatever the killed start's initdb still does: the next start works, and a later one has swept up."""
    first = subprocess.Popen(
        [sys.executable, "-c", SITS, home, *FAST], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    wait_until(lambda: any(home.glob(f"postgresql.unfinished-*{moment}")) or (home / "postgresql").exists())
    first.kill()
    first.communicate()

    def swept() -> bool:
        seat = embedded(home)
        assert ask(home) == "1"
        seat.leave()
        return not any(home.glob("postgresql.unfinished-*"))

    wait_until(swept)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_nothing_is_opened_that_was_closed(test_folder: Path, umask: int) -> None:
    """Folders it did not make keep their modes; of those it made, only the data folder lets others through, as root."""
    parent = make_home(test_folder / f"p{os.getpid()}-{next(_numbers)}")
    parent.chmod(0o711)
    chain = [parent, *parent.parents, *wheel_programs().parents]
    before = [(path, path.stat().st_mode) for path in chain]
    old = os.umask(umask)
    try:
        home = parent / "home"
        embedded_with_own_home(home).leave()
    finally:
        os.umask(old)
    assert [(path, path.stat().st_mode) for path in chain] == before
    assert stat.S_IMODE(home.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)
    assert stat.S_IMODE((home / "socket").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "postgresql").stat().st_mode) == 0o700
    shutil.rmtree(parent)


def embedded_with_own_home(home: Path) -> Seat:
    return Seat(home, options=FAST)


def test_a_folder_that_exists_keeps_its_mode(home: Path) -> None:
    """Even one that is more open than we would make it."""
    home.mkdir()
    home.chmod(0o755)
    embedded_with_own_home(home).leave()
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


def test_an_open_socket_folder_is_refused(home: Path) -> None:
    """Who can enter it is signed in without a password."""
    make_home(home)
    (home / "socket").mkdir()
    (home / "socket").chmod(0o777)
    with pytest.raises(BadInput, match=r"is open to other users. Run: chmod 700"):
        embedded(home)
    (home / "socket").rmdir()


def test_too_long_a_path_is_refused(test_folder: Path) -> None:
    """A socket's path has a limit; the sentence names it, and nothing is made."""
    home = test_folder / ("x" * 100)
    with pytest.raises(BadInput, match="set TIDEGATE_HOME to one of at most 86"):
        Seat(home)
    assert not home.exists()


def test_a_file_in_place_of_the_folder_is_refused(test_folder: Path) -> None:
    """A sentence that names the folder and the setting."""
    home = test_folder / f"file{os.getpid()}"
    home.write_text("")
    with pytest.raises(BadInput, match=f"The data folder {home} cannot be used: Not a directory. Set TIDEGATE_HOME"):
        Seat(home)
    with pytest.raises(BadInput, match="cannot be used: Not a directory"):
        Seat(home / "inside")
    home.unlink()


@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_a_folder_without_rights_is_refused(home: Path, mode: int) -> None:
    """For a user who is not root: unreadable or unwritable gives a sentence and no traceback."""
    home.mkdir()
    home.chmod(mode)
    listen, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(system_user().pw_gid)
                os.setuid(system_user().pw_uid)
            Seat(home)
        except BaseException as problem:  # noqa: BLE001 - the parent judges it
            os.write(tell, f"{type(problem).__name__}: {problem}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(tell)
    said = os.read(listen, 10_000).decode()
    os.close(listen)
    assert said.startswith(f"BadInput: The data folder {home} cannot be used: Permission denied. Set TIDEGATE_HOME")
    home.chmod(0o700)


@as_root
def test_a_parent_closed_to_the_databases_user_is_refused(home: Path) -> None:
    """Root's own home, for one: it is not opened, the sentence says where to go instead."""
    home.mkdir()
    home.chmod(0o700)
    with pytest.raises(BadInput, match=f"cannot be reached by the system user {SYSTEM_USER}"):
        Seat(home / "inside")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@as_root
def test_programs_out_of_reach_are_copied(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A venv inside a closed folder stays closed; the copy is made once."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    installed = wheel_programs().parent
    for part in (installed.parent, installed.parent.with_name(f"{installed.parent.name}.libs")):
        (closed / part.name).symlink_to(part)
    monkeypatch.setattr(folders, "wheel_programs", lambda _: closed / installed.parent.name / installed.name / "bin")
    seat = embedded(home)
    assert ask(home) == "1"
    seat.leave()
    [copy] = home.glob("postgresql-programs-*")
    made = copy.stat().st_mtime_ns
    embedded(home).leave()
    assert copy.stat().st_mtime_ns == made
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@as_root
def test_data_of_another_user_is_not_taken_over(home: Path) -> None:
    """PostgreSQL would refuse it in worse words."""
    embedded(home).leave()
    os.chown(home / "postgresql", 0, 0)
    with pytest.raises(BadInput, match="belongs to user number 0"):
        embedded(home)


def test_strange_characters_in_the_path_work(test_folder: Path) -> None:
    """Spaces, quotes, dollars, percents, letters of all kinds."""
    home = test_folder / """a b'c"d$HOME`e`%41;&é\\"""
    seat = embedded(home)
    assert ask(home) == "1"
    seat.leave()
    again = embedded(home)
    assert ask(home) == "1"
    again.leave()
    shutil.rmtree(home)


def test_variables_of_the_environment_lead_nowhere_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's PGPORT or PGDATA is about another server."""
    for name, value in {"PGPORT": "9999", "PGDATA": "/nowhere", "PGHOST": "nowhere", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    seat = embedded(home)
    monkeypatch.undo()
    assert ask(home) == "1"
    seat.leave()


def test_one_serve_a_data_folder(home: Path) -> None:
    """The second gets a sentence, and may start once the first has ended."""
    with only_serve_in(home), pytest.raises(TidegateError, match="Another tidegate serve runs"), only_serve_in(home):
        pass
    with only_serve_in(home):
        pass


def make_old_data(home: Path) -> None:
    """A data folder as an earlier Tidegate, on PostgreSQL 16, would have left it after a crash."""
    make_home(home)
    folder = Folder(home)
    old, programs, ask_as = folder.fresh(), wheel_programs("16"), folder.runner.ask
    ask_as(programs / "initdb", "-D", old.name, "-U", "tidegate", "--auth=trust", "--encoding=UTF8", "--locale=C")
    old.rename(folder.data)
    Server(folder, FAST, version="16").ensure_running()
    ask_as(programs / "createdb", "-h", folder.socket, "-U", "tidegate", "tidegate")
    ask(home, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(postmaster(home), signal.SIGKILL)


def test_data_of_an_older_postgresql_is_upgraded_by_command(home: Path) -> None:
    """A start says what to run; afterwards every row is there, and so is the old data."""
    make_old_data(home)
    with pytest.raises(TidegateError, match=r"holds PostgreSQL 16 data .* Run: tidegate db upgrade"):
        embedded(home)
    done = upgrade_data(home, tell=lambda _: None)
    assert done is not None
    assert (done.old, done.new) == ("16", CURRENT)
    assert (done.kept / "PG_VERSION").read_text() == "16\n"
    seat = embedded(home)
    assert ask(home, "SELECT answer FROM kept") == "42"
    assert ask(home, "SHOW server_version_num").startswith(CURRENT)
    seat.leave()
    assert upgrade_data(home, tell=lambda _: None) is None


def test_an_upgrade_of_the_data_cut_short_loses_nothing(home: Path) -> None:
    """Killed between putting the old data aside and the new in place: the next start finishes it."""
    make_old_data(home)
    upgrade_data(home, tell=lambda _: None)
    (home / "postgresql").rename(home / "postgresql.upgraded")
    seat = embedded(home)
    assert ask(home, "SELECT answer FROM kept") == "42"
    seat.leave()


def test_a_failed_upgrade_of_the_data_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_upgrade says no: the old data is where it was, and the sentence repeats its words."""
    make_old_data(home)
    monkeypatch.setattr("tidegate.store.data_upgrade.ROLE", "somebody_else")
    with pytest.raises(TidegateError, match="pg_upgrade failed"):
        upgrade_data(home, tell=lambda _: None)
    assert (home / "postgresql" / "PG_VERSION").read_text() == "16\n"
    monkeypatch.undo()
    assert upgrade_data(home, tell=lambda _: None) is not None
