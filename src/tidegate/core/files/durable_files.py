"""Files that outlast a power cut, and errors of the file system as sentences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def flush(path: Path) -> None:
    """Make what was written to a file, or renamed inside a folder, outlast a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def os_errors(as_error: Callable[[str], Exception]) -> Iterator[None]:
    """Raise an error of the file system as the error that *as_error* makes of its reason."""
    try:
        yield
    except OSError as problem:
        raise as_error(problem.strerror or str(problem)) from problem
