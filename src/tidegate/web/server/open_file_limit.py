"""The limit of open files of this process, and how many are open; a connection is a file too."""

from __future__ import annotations

import errno
import os
import resource

MOST = 65_536
"""Files that Tidegate asks for at most: beyond it only more memory of the kernel would be used."""

_UNKNOWN = 128  # assumed number where a system does not list open files


def raise_open_file_limit() -> int:
    """Raise the limit of open files as far as the system allows, up to ``MOST``; returns the new limit.

    Systems start programs with 1,024, because of programs that use ``select``, and allow more on request.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(MOST, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return open_file_limit()


def open_file_limit() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else soft


def open_files() -> int:
    """How many files this process has open now."""
    try:
        with os.scandir("/dev/fd") as entries:
            return sum(1 for _ in entries)
    except OSError as problem:
        return open_file_limit() if problem.errno == errno.EMFILE else _UNKNOWN
