"""The ``tidegate`` program as an operator starts it, with nothing of the developer's own set-up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TIDEGATE = Path(sys.executable).parent / "tidegate"


def environment(home: Path, **variables: str) -> dict[str, str]:
    """What a program needs to find its parts, and the given variables."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("COVERAGE_", "PATH", "LC_", "LANG"))}
    return {**kept, "HOME": str(home), "TIDEGATE_HOME": str(home), "COLUMNS": "200", **variables}


def tidegate(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in *home*."""
    return subprocess.run(
        [TIDEGATE, *arguments],
        cwd=home,
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
