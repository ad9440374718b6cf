"""Real PostgreSQL servers for tests: the embedded one, and Debian's PostgreSQL 15 where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tidegate.store.database import Address
from tidegate.store.embedded import Seat
from tidegate.store.programs import system_user

FAST = ["fsync=off", "max_connections=400", "shared_buffers=64MB"]
DEBIAN = Path("/usr/lib/postgresql/15/bin")
MISSING_DEBIAN = "Debian's PostgreSQL 15 is not installed here (apt-get install postgresql-15), so it was not tested."


def make_home(folder: Path) -> Path:
    """A data folder that the database's own user can reach when the tests run as root."""
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    return folder


class DebianServer:
    """Debian's PostgreSQL 15 on a socket of its own; same shape as ``Seat``."""

    def __init__(self, home: Path) -> None:
        self._home = make_home(home)
        self._user = system_user() if os.geteuid() == 0 else None
        self._data = home / "data"
        if not self._data.exists():
            self._data.mkdir(mode=0o700)
            if self._user:
                os.chown(self._data, self._user.pw_uid, self._user.pw_gid)
            self._run(
                "initdb", "-D", str(self._data), "-U", "tidegate", "--auth=trust", "--encoding=UTF8", "--locale=C"
            )
        options = " ".join(
            f"-c {option}" for option in [*FAST, "listen_addresses=", f"unix_socket_directories={self._data}"]
        )
        self._run("pg_ctl", "start", "-D", str(self._data), "-w", "-l", str(self._data / "log"), "-o", options)
        url = f"postgresql://tidegate@/postgres?host={self._data}"
        self.address = Address(url=url, direct=url)

    def leave(self) -> None:
        self._run("pg_ctl", "stop", "-D", str(self._data), "-m", "immediate", "-w")
        shutil.rmtree(self._home)

    def _run(self, tool: str, *arguments: str) -> None:
        identity = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        subprocess.run(
            [str(DEBIAN / tool), *arguments], check=True, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **identity,
        )  # fmt: skip


def embedded(home: Path) -> Seat:
    return Seat(make_home(home), options=FAST)
