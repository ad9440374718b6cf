"""Other users of the machine: what they own, and what happens when one of them runs something."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.database.embedded.pg_programs import system_user

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
NOBODY = 65534


def give(path: Path, user: int = NOBODY) -> Path:
    """Make *path* somebody else's."""
    os.chown(path, user, -1, follow_symlinks=False)
    return path


def as_plain_user(work: Callable[[], object], *, user: int | None = None) -> object:
    """What *work* returns, or the error it raises, when a user without rights runs it; ourselves if we are that."""
    listen, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(user or system_user().pw_gid)
                os.setuid(user or system_user().pw_uid)
            answer: object = work()
        except BaseException as problem:  # noqa: BLE001 - the parent judges it
            answer = problem
        with os.fdopen(tell, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(tell)
    with os.fdopen(listen, "rb") as pipe:
        answer = pickle.load(pipe)
    os.waitpid(child, 0)
    return answer
