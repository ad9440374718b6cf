"""The limits of a child process that reads what strangers made, set by the child itself before each job."""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Mapping
from typing import Any

from tidegate.core.child_protocol import pack


def bind(memory: int, seconds: int) -> None:
    """Limit this process: bytes of memory as long as it lives, *seconds* of processor time from now on, and no files.

    What it needs from a file has to be loaded before.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def tell_parent(head: Mapping[str, Any], body: bytes = b"") -> None:
    """Write a message to the parent."""
    sys.stdout.buffer.write(pack(head, body))
    sys.stdout.buffer.flush()
