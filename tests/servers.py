"""Real PostgreSQL servers for tests: the embedded one, Debian's PostgreSQL 15, and pgbouncer before them."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tidegate.database.embedded.pg_programs import system_user, wheel_programs
from tidegate.database.embedded.server import ServerLease
from tidegate.database.embedded.server_access import ADMIN, DATABASE
from tidegate.database.pool import Address

FAST = ["fsync=off", "full_page_writes=off", "max_connections=400", "shared_buffers=64MB"]
DEBIAN = Path("/usr/lib/postgresql/15/bin")
MISSING_DEBIAN = "Debian's PostgreSQL 15 is not installed here (apt-get install postgresql-15), so it was not tested."
MISSING_BOUNCER = "pgbouncer is not installed here (apt-get install pgbouncer), so poolers were not tested."


def room_in_memory() -> Path | None:
    """Where files are kept in memory, if there is room: the tests copy thousands of databases and keep none."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free >= 4 << 30 else None


def make_home(folder: Path) -> Path:
    """A data folder that the database's own user can reach when the tests run as root."""
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    return folder


def identity() -> dict[str, object]:
    """As whom PostgreSQL's programs run: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return {}
    user = system_user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def own_folder(folder: Path) -> Path:
    """A private folder that belongs to whoever runs PostgreSQL's programs."""
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, system_user().pw_uid, system_user().pw_gid)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class OwnServer:
    """A server as an operator would run one, on a socket of its own; same shape as ``ServerLease``."""

    def __init__(self, home: Path, programs: Path, *, options: Sequence[str] = ("listen_addresses=",)) -> None:
        self._home = make_home(home)
        self._programs = programs
        self._data = home / "data"
        if not self._data.exists():
            own_folder(self._data)
            where = ("-D", str(self._data), "-U", "tidegate", "--encoding=UTF8", "--locale=C")
            self._run("initdb", *where, "--auth-local=trust", "--auth-host=scram-sha-256")
        settings = [*FAST, f"unix_socket_directories={self._data}", *options]
        given = " ".join(f"-c {setting}" for setting in settings)
        if not (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "start", "-D", str(self._data), "-w", "-l", str(self._data / "log"), "-o", given)
        port = next((option.partition("=")[2] for option in options if option.startswith("port=")), "5432")
        url = f"postgresql://tidegate@/postgres?host={self._data}&port={port}"
        self.address = Address(url=url, direct=url)

    def restart(self) -> None:
        """As after a crash: every session ends in the middle of whatever it did."""
        self._run("pg_ctl", "restart", "-D", str(self._data), "-m", "immediate", "-w", "-l", str(self._data / "log"))

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "immediate", "-w")

    def leave(self) -> None:
        self.stop()
        shutil.rmtree(self._home)

    def _run(self, tool: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / tool), *arguments], check=True, cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity(),
        )  # fmt: skip


@contextmanager
def debian_for_all(home: Path) -> Iterator[Address]:
    """Debian's PostgreSQL 15, shared by all processes of a run: the first starts it, and the last stops it."""
    with home.with_suffix(".lock").open("a") as turn, home.with_suffix(".users").open("a") as users:
        fcntl.flock(turn, fcntl.LOCK_EX)
        server = OwnServer(home, DEBIAN, options=("listen_addresses=", "autovacuum=off"))
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield server.address
        fcntl.flock(turn, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_UN)
        with suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            server.stop()  # the data stay: a process may come back to it


def embedded(home: Path) -> ServerLease:
    return ServerLease(make_home(home), options=FAST)


def as_admin(home: Path, sql: str, *, database: str = DATABASE) -> str:
    """What the superuser of the embedded server in *home* is told; only the user that runs the server may be it."""
    where = ("-h", str(home / "socket"), "-U", ADMIN, "-d", database)
    command = [str(wheel_programs() / "psql"), "-XtAq", "--set=ON_ERROR_STOP=1", *where]
    done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False, cwd="/", **identity())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def embedded_for_all(home: Path) -> ServerLease:
    """An embedded server on which every test makes databases of its own, and drops them.

    No plain role may drop a database that a vacuum is just at work on.
    """
    seat = ServerLease(make_home(home), options=[*FAST, "autovacuum=off"])
    as_admin(home, "ALTER ROLE tidegate CREATEDB CREATEROLE")
    return seat


@contextmanager
def pgbouncer(server: Address, folder: Path, *, mode: str, size: int = 5, round_robin: bool = False) -> Iterator[str]:
    """A real pgbouncer before *server* in pool *mode*; gives the address it answers on, without a database's name."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING_BOUNCER)
        pytest.skip(MISSING_BOUNCER)
    own_folder(folder)
    port, behind = free_port(), parse_qs(urlsplit(server.direct).query)
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={behind['host'][0]} port={behind['port'][0]} user=tidegate\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = any\npool_mode = {mode}\ndefault_pool_size = {size}\nserver_round_robin = {int(round_robin)}\n"
    )
    (folder / "pgbouncer.ini").chmod(0o644)
    started = subprocess.Popen(
        [program, str(folder / "pgbouncer.ini")], cwd="/", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        **identity(),
    )  # fmt: skip
    assert started.stderr is not None
    try:
        said = []
        for line in started.stderr:
            said.append(line)
            if "process up" in line:
                break
        else:
            pytest.fail("pgbouncer did not start: " + "".join(said))
        yield f"postgresql://tidegate@127.0.0.1:{port}"
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
        started.stderr.close()
