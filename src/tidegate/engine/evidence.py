"""Whether a process on this very machine is gone, by the machine's own word."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def this_host() -> str:
    """This machine since its last boot, and the process numbers valid in here; empty where that cannot be told."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def this_process() -> str:
    return f"{os.getpid()} {_started(os.getpid())}"


def process_gone(host: str, process: str) -> bool:
    """Whether *process* ran here and runs no more; False whenever that cannot be told.

    A process number is used again, so the start time has to match as well.
    """
    if not host or host != this_host():
        return False
    number, _, started = process.partition(" ")
    return _started(int(number)) != started


def _started(pid: int) -> str:
    """The kernel's tick at which *pid* started; "gone" when there is no such process, or only its unburied rest."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "hidden"
    return "gone" if after_name[0] in "ZX" else after_name[19]
