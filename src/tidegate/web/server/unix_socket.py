"""Listening on a Unix socket: only this user and its group reach it. Every local user reaches a port of 127.0.0.1."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.core.errors import BadInput

_LONGEST = 107  # bytes that an address of a socket has room for
_SHUT_TO_OTHERS = 0o117
_BACKLOG = 2048
_SET = "Set TIDEGATE_WEB_SOCKET to"


@contextmanager
def unix_listener(path: Path) -> Iterator[socket.socket]:
    """Listen at *path*, mode 0660, until the block ends; what a killed process left there is removed."""
    if len(os.fsencode(path)) > _LONGEST:
        raise BadInput(f"The path of the socket {path} is longer than {_LONGEST} bytes. {_SET} a shorter one.")
    _refuse_open_folder(path)
    with _reserved(path), socket.socket(socket.AF_UNIX) as listener:
        _remove_stale(path)
        _bind(listener, path)
        listener.listen(_BACKLOG)
        made = path.stat(follow_symlinks=False).st_ino
        try:
            yield listener
        finally:
            if path.is_socket() and path.stat(follow_symlinks=False).st_ino == made:
                path.unlink()


def _bind(listener: socket.socket, path: Path) -> None:
    mask = os.umask(_SHUT_TO_OTHERS)  # not by chmod afterwards: it would be open to all for a moment
    try:
        listener.bind(str(path))
    except OSError as problem:
        raise BadInput(f"The socket {path} cannot be made: {problem.strerror}. {_SET} another path.") from problem
    finally:
        os.umask(mask)


def _refuse_open_folder(path: Path) -> None:
    """A user who can write to a folder of the path could put a socket there and receive passwords."""
    try:
        folder = path.parent.resolve(strict=True)
        found = [(one, one.stat()) for one in (folder, *folder.parents)]
    except OSError as problem:
        raise BadInput(
            f"The folder {path.parent} of the socket cannot be used: {problem.strerror}. Make it first, or set "
            "TIDEGATE_WEB_SOCKET to a path in another one."
        ) from problem
    for number, (one, status) in enumerate(found):
        writable = status.st_mode & 0o022 and not (number and status.st_mode & stat.S_ISVTX)
        if status.st_uid not in (0, os.geteuid()) or writable or not stat.S_ISDIR(status.st_mode):
            raise BadInput(
                f"The socket {path} is not safe: the folder {one} belongs to user {status.st_uid} with mode "
                f"{stat.S_IMODE(status.st_mode):04o}. It must belong to this user or root, and nobody else may write "
                f"to it. Run: chmod go-w {one}; or set TIDEGATE_WEB_SOCKET to a path in another folder."
            )


@contextmanager
def _reserved(path: Path) -> Iterator[None]:
    """Only one process listens at *path*; its lock ends with the process, however it ends."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise BadInput(f"The file {lock} cannot be made: {problem.strerror}. {_SET} another path.") from problem
    with os.fdopen(handle, "r+b"):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(path) from None
        yield


def _remove_stale(path: Path) -> None:
    """Remove a stale socket of ours; refuse anything else."""
    try:
        found = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        what = "belongs to another user" if stat.S_ISSOCK(found.st_mode) else "is no socket"
        raise BadInput(f"{path} exists and {what}, so it is left alone. {_SET} another path, or remove it yourself.")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:
            pass  # it is so busy that it cannot even be asked
    raise _in_use(path)


def _in_use(path: Path) -> BadInput:
    return BadInput(f"Another program listens at {path}. End it, or set TIDEGATE_WEB_SOCKET to another path.")
