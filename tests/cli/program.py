"""The ``tidegate`` program as an operator starts it, with nothing of the developer's own set-up."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TIDEGATE = Path(sys.executable).parent / "tidegate"
_READY = multiprocessing.get_context("forkserver")
_PARTS = ["tidegate.cli", "tidegate.app", "tidegate.mirroring", "tidegate.web", "tidegate.loopback.fleet"]
PATIENCE = 120


def environment(home: Path, **variables: str) -> dict[str, str]:
    """What a program needs to find its parts, and the given variables."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("COVERAGE_", "PATH", "LC_", "LANG"))}
    return {**kept, "HOME": str(home), "TIDEGATE_HOME": str(home), "COLUMNS": "200", **variables}


def program(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program itself to its end in *home*."""
    return subprocess.run(
        [TIDEGATE, *arguments],
        cwd=home,
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def tidegate(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Do as the program does, in a process of its own.

    It is forked from one that has loaded all modules, because to load them takes longer than what most commands do.
    """
    _READY.set_forkserver_preload(_PARTS)  # until the first process is forked
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        process = _READY.Process(target=_run, args=(arguments, home, environment(home, **variables), out, err))
        process.start()
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["tidegate", *arguments], PATIENCE)
        code = process.exitcode
        process.close()
        return subprocess.CompletedProcess(["tidegate", *arguments], code, out.read_text(), err.read_text())


def _run(arguments: tuple[str, ...], home: Path, variables: dict[str, str], out: Path, err: Path) -> None:
    """What a program finds when it starts: its arguments, its folder, its environment, and where it may write."""
    from tidegate.cli import main

    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(home)
    sys.argv = ["tidegate", *arguments]
    try:
        main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        _keep_coverage()


def _keep_coverage() -> None:
    """Such a process ends without the farewell at which its coverage would be kept."""
    if "coverage" in sys.modules:
        from coverage import Coverage

        if (measuring := Coverage.current()) is not None:
            measuring.stop()
            measuring.save()
