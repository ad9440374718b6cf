"""How many files the process may open: raised at the start, and said when there are none left."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tidegate.web.server.open_file_limit import MOST

RAISING = "from tidegate.web.server.open_file_limit import *; print(raise_open_file_limit(), open_files())"


@pytest.mark.parametrize(("soft", "hard"), [(256, 2_048), (512, 512)])
def test_a_process_may_open_what_the_system_lets_it(soft: int, hard: int) -> None:
    """The soft limit goes up to the hard one; where they are the same nothing changes."""
    done = subprocess.run(
        [sys.executable, "-c", RAISING],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )
    limit, opened = map(int, done.stdout.split())
    assert limit == min(hard, MOST)
    assert 3 <= opened < 50
