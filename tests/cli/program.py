"""The ``tidegate`` program as an operator starts it, with nothing of the developer's own set-up."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.code_base.contract import missing_fields
from tests.waiting import PATIENCE

TIDEGATE = Path(sys.executable).parent / "tidegate"
_READY = multiprocessing.get_context("forkserver")
_NEXT_LINE = "\n=== the next command line ===\n"
_QUICK_READS = {"TIDEGATE_TELEGRAM_READS_PER_SECOND": "100", "TIDEGATE_WHATSAPP_READS_PER_SECOND": "25"}
"""Loopback platforms mind no number of reads, and at the usual pace a command would mostly wait."""


def environment(home: Path, **variables: str) -> dict[str, str]:
    """What a program needs to find its parts, a quick pace of reads, and the given variables."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("COVERAGE_", "PATH", "LC_", "LANG"))}
    return {**kept, "HOME": str(home), "TIDEGATE_HOME": str(home), "COLUMNS": "200", **_QUICK_READS, **variables}


def program(
    *arguments: str, home: Path, within: float = PATIENCE, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the installed program itself to its end in *home*."""
    return subprocess.run(
        [TIDEGATE, *arguments],
        cwd=home,
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )


def tidegate(*arguments: str, home: Path, say: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Do as the program does, in a process of its own that reads *say* from its standard input.

    A document that it prints has all fields that the contract promises.
    """
    done = _in_pipes([arguments], home, say, variables)
    if "--json" in arguments and done.returncode == 0:
        assert missing_fields(arguments, done.stdout) == []
    return done


def _in_pipes(
    lines: Sequence[Sequence[str]], home: Path, say: str, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile() as put, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        put.write(say.encode())
        put.seek(0)
        process = _fork(lines, home, variables, (put.fileno(), out.fileno(), err.fileno()))
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["tidegate", *lines[-1]], PATIENCE)
        out.seek(0)
        err.seek(0)
        told = out.read().decode(), err.read().decode()
        return subprocess.CompletedProcess(["tidegate", *lines[-1]], process.exitcode, *told)


def at_terminal(*arguments: str, home: Path, say: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Do the same at a terminal of 200 columns, where *say* is typed; all that it shows is the standard output."""
    return _in_terminal([arguments], home, say, variables)


def each_in_turn(lines: Sequence[Sequence[str]], *, home: Path, terminal: bool) -> list[str]:
    """What each of many command lines shows when one process does them all: a process a line takes far longer."""
    done = (_in_terminal if terminal else _in_pipes)(lines, home, "", {})
    return (done.stdout if terminal else done.stderr).split(_NEXT_LINE)


def _in_terminal(
    lines: Sequence[Sequence[str]], home: Path, say: str, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    ours, theirs = os.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST  # the terminal adds nothing to what the program writes
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    os.write(ours, say.encode())
    process = _fork(lines, home, {"TERM": "xterm-256color", **variables}, (theirs, theirs, theirs))
    os.close(theirs)
    with ThreadPoolExecutor(1) as reader:
        shown = reader.submit(_read_until_closed, ours)
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        told = shown.result()
    return subprocess.CompletedProcess(["tidegate", *lines[-1]], process.exitcode, told.decode(), "")


def _read_until_closed(end: int) -> bytes:
    told = b""
    with (
        suppress(OSError),
        os.fdopen(end, "rb", buffering=0) as shown,
    ):  # a terminal nobody has open is an error to read
        while piece := shown.read(1 << 16):
            told += piece
    return told


class Started:
    """A program beside the test and the test's ends of its pipes; much like asyncio's ``Process``."""

    def __init__(self, process: ForkServerProcess, stdin: int) -> None:
        self._process = process
        self._stdin = os.fdopen(stdin, "wb", buffering=0)
        self.stdout, self.stderr = asyncio.StreamReader(), asyncio.StreamReader()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def write(self, text: str) -> None:
        """Give it something to read."""
        self._stdin.write(text.encode())

    def send_signal(self, number: signal.Signals) -> None:
        if self._process.is_alive():
            os.kill(self._process.pid, number)

    async def communicate(self) -> tuple[bytes, bytes]:
        """Whatever it still says, now that it gets nothing more to read, until it ends."""
        self._stdin.close()
        async with asyncio.timeout(PATIENCE):
            out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
            await asyncio.to_thread(self._process.join)
        return out, err


@asynccontextmanager
async def running(*arguments: str, home: Path, **variables: str) -> AsyncIterator[Started]:
    """A program for the time of the block, ended by SIGTERM."""
    (put, stdin), (stdout, out), (stderr, err) = os.pipe(), os.pipe(), os.pipe()
    started = Started(_fork([arguments], home, variables, (put, out, err)), stdin)
    for end in (put, out, err):
        os.close(end)
    for reader, end in ((started.stdout, stdout), (started.stderr, stderr)):
        protocol = asyncio.StreamReaderProtocol(reader)
        await asyncio.get_running_loop().connect_read_pipe(lambda protocol=protocol: protocol, os.fdopen(end, "rb"))
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            await started.communicate()
        finally:
            started.send_signal(signal.SIGKILL)


def _fork(
    lines: Sequence[Sequence[str]], home: Path, variables: dict[str, str], ends: Sequence[int]
) -> ForkServerProcess:
    """Start a process from one that has loaded all modules: to load them takes longer than what most commands do."""
    given = [Connection(os.dup(end)) for end in ends]
    process = _READY.Process(target=_run, args=(lines, home, environment(home, **variables), given))
    process.start()
    for end in given:
        end.close()
    return process


def _run(lines: Sequence[Sequence[str]], home: Path, variables: dict[str, str], ends: Sequence[Connection]) -> None:
    """What a program finds when it starts: its arguments, its folder, its environment, and what it reads and writes.

    Of many command lines, the exit status of the last is the process's.
    """
    from tidegate.cli import main

    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = os.fdopen(0, closefd=False)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(home)
    *others, last = lines
    try:
        for arguments in others:
            sys.argv = ["tidegate", *arguments]
            with suppress(SystemExit):
                main()
            sys.stdout.flush()
            print(_NEXT_LINE, end="", file=sys.stderr, flush=True)
        sys.argv = ["tidegate", *last]
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
