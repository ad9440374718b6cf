"""Whether a process on this machine has ended, according to the operating system."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def this_host() -> str:
    """An id of this machine since its last boot, and of its process namespace; empty where that is unknown."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def this_process() -> str:
    return f"{os.getpid()} {_started(os.getpid())}"


def process_gone(host: str, process: str) -> bool:
    """Whether *process* ran here and has ended; False whenever that is unknown.

    Process numbers are reused, so the start time has to match as well.
    """
    if not host or host != this_host():
        return False
    number, _, started = process.partition(" ")
    return _started(int(number)) != started


def _started(pid: int) -> str:
    """The kernel's tick at which *pid* started; "gone" when there is no such process, or only a zombie."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "hidden"
    return "gone" if after_name[0] in "ZX" else after_name[19]
