"""Real PostgreSQL servers for tests: the embedded one, Debian's PostgreSQL 15, and pgbouncer before them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tidegate.store.database import Address
from tidegate.store.embedded import Seat
from tidegate.store.programs import system_user

FAST = ["fsync=off", "max_connections=400", "shared_buffers=64MB"]
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
    """A server as an operator would run one, on a socket of its own; same shape as ``Seat``."""

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
        self._run("pg_ctl", "start", "-D", str(self._data), "-w", "-l", str(self._data / "log"), "-o", given)
        port = next((option.partition("=")[2] for option in options if option.startswith("port=")), "5432")
        url = f"postgresql://tidegate@/postgres?host={self._data}&port={port}"
        self.address = Address(url=url, direct=url)

    def restart(self) -> None:
        """As after a crash: every session ends in the middle of whatever it did."""
        self._run("pg_ctl", "restart", "-D", str(self._data), "-m", "immediate", "-w", "-l", str(self._data / "log"))

    def leave(self) -> None:
        self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "immediate", "-w")
        shutil.rmtree(self._home)

    def _run(self, tool: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / tool), *arguments], check=True, cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity(),
        )  # fmt: skip


class DebianServer(OwnServer):
    """Debian's PostgreSQL 15."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, DEBIAN)


def embedded(home: Path) -> Seat:
    return Seat(make_home(home), options=FAST)


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
