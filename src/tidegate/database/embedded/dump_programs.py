"""``pg_dump`` and ``pg_restore`` from the wheel: run and watched; a failure becomes a sentence."""

from __future__ import annotations

import re
import tempfile
from asyncio import StreamReader, create_task
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import IO

from tidegate.core import child_process
from tidegate.core.child_process import kill_child
from tidegate.core.errors import TidegateError
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.pg_address import place
from tidegate.database.pool import Address

Tell = Callable[[str], None]
"""Takes a short line about the progress, for the person who waits."""

_TABLE = re.compile(rb'dumping contents of table "(?:public\.)?([^"]+)"')
_COMPLAINT = re.compile(rb"\b(error|detail|hint|fatal): +(.*)", re.IGNORECASE)


async def dump(source: Address, *arguments: str, tell: Tell) -> None:
    """Run ``pg_dump`` on the database at *source*, reporting each table."""
    async with _running("pg_dump", "--verbose", *arguments, source=source, stderr=PIPE) as process:
        complaints = await _watch(process, tell)
        _refuse_failure("pg_dump", await process.wait(), complaints)


async def answer(tool: str, *arguments: str, source: Address | None = None) -> str:
    """What *tool* prints, of the database at *source* or without any."""
    async with _running(tool, *arguments, source=source, stdout=PIPE, stderr=PIPE) as process:
        printed, complaints = await process.communicate()
        _refuse_failure(tool, await process.wait(), complaints.decode(errors="replace").splitlines())
        return printed.decode(errors="replace")


@asynccontextmanager
async def output(tool: str, *arguments: str, source: Address | None = None) -> AsyncIterator[StreamReader]:
    """What *tool* prints, as it comes; at the end of the block it has to have ended well."""
    async with _running(tool, *arguments, source=source, stdout=PIPE, stderr=PIPE) as process:
        words = create_task(_watch(process, lambda _: None))
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            kill_child(process)
            await words
            raise
        _refuse_failure(tool, await process.wait(), await words)


async def _watch(process: Process, tell: Tell) -> list[str]:
    """Report every table the tool reaches, and collect its errors."""
    complaints: list[str] = []
    assert process.stderr is not None
    async for line in process.stderr:
        if table := _TABLE.search(line):
            tell(table[1].decode(errors="replace"))
        elif complaint := _COMPLAINT.search(line):
            complaints.append(complaint[2].decode(errors="replace").strip())
    return complaints


@asynccontextmanager
async def _running(
    tool: str, *arguments: str, source: Address | None, stdout: int = DEVNULL, stderr: int
) -> AsyncIterator[Process]:
    """The tool as a child that never outlives the block."""
    where = () if source is None else ("--no-password", "--dbname", place(source.direct).bare_url)
    with _password_file(source) as file:
        given = {} if file is None else {"PGPASSFILE": f"/dev/fd/{file.fileno()}"}
        process = await child_process.start(
            str(wheel_programs() / tool), *where, *arguments,
            env=child_process.environment(*child_process.SYSTEM, *_variables(source), LC_ALL="C", **given),
            stdin=DEVNULL, stdout=stdout, stderr=stderr, pass_fds=[] if file is None else [file.fileno()],
            limit=1 << 24,  # a line may hold a complete statement
        )  # fmt: skip
    try:
        yield process
    finally:
        kill_child(process)
        await process.wait()


@contextmanager
def _password_file(source: Address | None) -> Iterator[IO[bytes] | None]:
    """The password of the address, in a file without a name that ends with its last reader.

    Other users can read a process's arguments, and the same user its environment.
    """
    password = None if source is None else place(source.direct).password
    if password is None:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write(b"*:*:*:*:" + re.sub(rb"([:\\])", rb"\\\1", password.encode()) + b"\n")
        file.flush()
        yield file


def _variables(source: Address | None) -> tuple[str, ...]:
    """The environment variables of libpq that are passed on; none for the embedded server."""
    if source is None or source.is_embedded:
        return ()
    if place(source.direct).password is None:
        return child_process.LIBPQ
    return tuple(name for name in child_process.LIBPQ if not name.startswith("PGPASS"))


def _refuse_failure(tool: str, code: int, complaints: list[str]) -> None:
    if code == 0:
        return
    reason = "; ".join(complaints[:3]) or (f"ended by signal {-code}" if code < 0 else f"exit code {code}")
    raise TidegateError(f"{tool} failed: {reason}.")
