"""Which files and folders are trusted: those that only this user and root can change, as with ssh's StrictModes.

A path is followed one step at a time, each step inside the folder that was opened and checked before it. So what was
checked is what is opened, even if it is renamed meanwhile.
"""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tidegate.core.errors import BadInput

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_MOST_LINKS = 40  # as Linux itself has it
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


class NotTrusted(BadInput):
    """Another user can change a file or folder that should be trusted."""


class NotReached(BadInput):
    """A folder of the path is closed to this user, so its contents are unknown."""


@dataclass(frozen=True, slots=True)
class TrustedFile:
    """The content of a file that no other user can change, and whether others may read it."""

    content: bytes
    open_to_others: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a path led: the name, its opened folder, and its status."""

    name: str
    folder: int
    path: Path
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class _Subject:
    """What should be trusted, as error sentences name it."""

    path: Path
    kind: str
    is_file: bool
    is_private: bool = False  # others must not be able to read it either

    def __str__(self) -> str:
        return f"The {self.kind} {self.path}"

    def refuse_changeable(self, path: Path, status: os.stat_result) -> None:
        """Refuse it if another user can change *path*, which is the file or a folder above it."""
        self.refuse_foreign(path, status)
        if self.is_private and stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
            raise NotTrusted(f"{self} is open to other users. Run: chmod 600 {shlex.quote(str(path))}")
        if status.st_mode & 0o022:
            chmod = f"Run: chmod go-w {shlex.quote(str(path))}"
            mend = "Move it to a folder of your own." if _is_sticky(status) else chmod
            raise NotTrusted(f"{self} is not trusted: others may write to {self._named(path, status)}. {mend}")

    def refuse_foreign(self, path: Path, status: os.stat_result) -> None:
        """Refuse it if *path*, which is the file or something above it, belongs to another user."""
        if status.st_uid not in (0, os.geteuid()):
            us = _user(os.geteuid())
            raise NotTrusted(
                f"{self} is not trusted: another user owns {self._named(path, status)}, and Tidegate runs as {us}. "
                f"If it is yours, run: chown {us} {shlex.quote(str(path))}. If not, remove it or work elsewhere."
            )

    def _named(self, path: Path, status: os.stat_result) -> str:
        where = "it" if path == self.path else f"the folder {path}" if stat.S_ISDIR(status.st_mode) else str(path)
        return f"{where} (owner {_user(status.st_uid)}, mode {stat.S_IMODE(status.st_mode):04o})"


def read_trusted(path: Path, kind: str, *, private: bool = False) -> TrustedFile | None:
    """The content of *path*, a *kind* of file as a sentence names it; None when there is none.

    Only a regular file is read: a named pipe would hold the reader up, and reading a device may do anything.
    """
    subject = _Subject(path, kind, is_file=True, is_private=private)
    with ExitStack() as opened:
        found = _follow(subject, opened)
        if found is None:
            return None
        subject.refuse_changeable(found.path, found.status)
        if not stat.S_ISREG(found.status.st_mode):
            what = _KINDS.get(stat.S_IFMT(found.status.st_mode), "a device")
            raise BadInput(f"{subject} cannot be read: it is {what}, not a file.")
        try:
            descriptor = os.open(found.name, _READ, dir_fd=found.folder)
        except OSError as problem:
            raise BadInput(f"{subject} cannot be read: {problem.strerror}.") from problem
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            subject.refuse_changeable(found.path, status)
            return TrustedFile(file.read(), open_to_others=bool(status.st_mode & 0o077))


def require_trusted_folder(path: Path, kind: str) -> None:
    """Refuse the folder *path* if others can change its contents; a missing one is accepted."""
    subject = _Subject(path, kind, is_file=False)
    with ExitStack() as opened:
        if found := _follow(subject, opened):
            subject.refuse_changeable(found.path, found.status)


def make_folder(path: Path, mode: int) -> bool:
    """Make one folder with exactly this mode, whatever the umask; returns whether it was missing."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    path.chmod(mode)
    return True


def _follow(subject: _Subject, opened: ExitStack) -> _Found | None:
    """Where a path leads, links followed and every folder on the way checked; None when it leads to nothing."""
    here, folder = Path("/"), _open("/", opened)
    names = _names(subject.path.absolute())
    links, is_link = 0, False
    while True:
        name = names.pop() if names else "."
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            if is_link:
                raise BadInput(f"{subject} is a link that leads to nothing. Remove it, or mend it.") from None
            return None
        except OSError as problem:
            raise NotReached(f"{subject} cannot be reached through {here}: {problem.strerror}.") from problem
        _refuse_open_folder(subject, here, folder, name, status, is_last=not names)
        if stat.S_ISLNK(status.st_mode):
            links, is_link = links + 1, is_link or not names
            if links > _MOST_LINKS:
                raise BadInput(f"{subject} is a link that leads to itself. Remove it, or mend it.")
            target = Path(os.readlink(name, dir_fd=folder))
            names += _names(target)
            if target.is_absolute():
                here, folder = Path("/"), _open("/", opened)
        elif not names:
            return _Found(name, folder, Path(os.path.normpath(here / name)), status)
        elif stat.S_ISDIR(status.st_mode):
            here, folder = Path(os.path.normpath(here / name)), _open(name, opened, inside=folder)
        else:
            return None


def _refuse_open_folder(
    subject: _Subject, here: Path, folder: int, name: str, entry: os.stat_result, *, is_last: bool
) -> None:
    """Refuse a folder in which another user could put another *entry* under *name*."""
    status = os.fstat(folder)
    if _is_sticky(status) and not (is_last and subject.is_file):
        subject.refuse_foreign(here, status)
        subject.refuse_foreign(here / name, entry)  # the sticky bit keeps others from what is ours
    else:
        subject.refuse_changeable(here, status)


def _open(name: str, opened: ExitStack, *, inside: int | None = None) -> int:
    descriptor = os.open(name, _FOLDER, dir_fd=inside)
    opened.callback(os.close, descriptor)
    return descriptor


def _names(path: Path) -> list[str]:
    """The steps of a path, the last one first."""
    return [part for part in reversed(path.parts) if part != "/"]


def _is_sticky(status: os.stat_result) -> bool:
    """Whether only their owners may rename or remove the entries of a folder."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user number {number}"
