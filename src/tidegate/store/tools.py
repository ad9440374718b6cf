"""``pg_dump``, ``pg_restore`` and ``psql`` from the wheel: run, watched, and their failures put into a sentence."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from tidegate.errors import TidegateError
from tidegate.store.programs import wheel_programs
from tidegate.store.reaching import Place

Tell = Callable[[str], None]
"""Takes a short line about what is going on, for the person who waits."""

_TABLE = re.compile(rb'(?:dumping contents of|processing data for) table "(?:public\.)?([^"]+)"')
_NOT_FOR_EVERY_SERVER = re.compile(
    rb"SET transaction_timeout = 0;\n"  # only PostgreSQL 17+ takes it
    rb"|ALTER TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_attver=\d+\);\n"  # a mark that some servers give by themselves
)
_COMPLAINT = re.compile(rb"\b(error|detail|hint|fatal): +(.*)", re.IGNORECASE)


async def work(tool: str, where: Place, *arguments: str, tell: Tell) -> None:
    """Run *tool* on the database at *where*, telling which table it is at."""
    async with _running(tool, *_on(where), *arguments, password=where.password, stderr=PIPE) as process:
        complaints = await _watch(process, tell)
        _refuse_failure(tool, await process.wait(), complaints)


async def pour(tool: str, *arguments: str, source: Place | None, into: Place, tell: Tell) -> None:
    """Run the SQL that *tool* writes on the database *into*, in one transaction: whoever dies, all or nothing."""
    reading = ("--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--dbname", into.bare_url)
    writing = ("--verbose", *arguments) if source is None else (*_on(source), *arguments)
    async with (
        _running("psql", *reading, password=into.password, stdin=PIPE, stderr=PIPE) as reader,
        _running(tool, *writing, password=source.password if source else None, stdout=PIPE, stderr=PIPE) as writer,
    ):
        words = asyncio.gather(_watch(reader, lambda _: None), _watch(writer, tell))
        with suppress(ConnectionError):  # the reader is gone, and its own words say why
            await _hand_over(writer, reader)
        if reader_failed := await reader.wait():
            _kill(writer)
        reader_said, writer_said = await words
        _refuse_failure("psql", reader_failed, reader_said)
        _refuse_failure(tool, await writer.wait(), writer_said)


async def _hand_over(writer: Process, reader: Process) -> None:
    assert writer.stdout is not None
    assert reader.stdin is not None
    reader.stdin.write(b"BEGIN;\n")
    async for line in writer.stdout:
        if not _NOT_FOR_EVERY_SERVER.fullmatch(line):
            reader.stdin.write(line)
        if line.startswith(b"COPY "):  # all tables are made by now, and what follows is long
            break
    while chunk := await writer.stdout.read(1 << 16):
        reader.stdin.write(chunk)
        await reader.stdin.drain()
    if await writer.wait() == 0:
        reader.stdin.write(b"COMMIT;\n")  # without it the end of input takes everything back
    reader.stdin.close()
    await reader.stdin.wait_closed()


async def _watch(process: Process, tell: Tell) -> list[str]:
    """Tell every table the tool comes to, and collect its complaints."""
    complaints: list[str] = []
    told = b""
    assert process.stderr is not None
    async for line in process.stderr:
        if table := _TABLE.search(line):
            if table[1] != told:  # some tools say twice that they come to a table
                told = table[1]
                tell(told.decode(errors="replace"))
        elif complaint := _COMPLAINT.search(line):
            complaints.append(complaint[2].decode(errors="replace").strip())
    return complaints


async def answer(tool: str, *arguments: str) -> str:
    """What *tool* prints, without any database."""
    async with _running(tool, *arguments, password=None, stdout=PIPE, stderr=PIPE) as process:
        printed, complaints = await process.communicate()
        _refuse_failure(tool, await process.wait(), complaints.decode(errors="replace").splitlines())
        return printed.decode(errors="replace")


@asynccontextmanager
async def _running(
    tool: str, *arguments: str, password: str | None, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int
) -> AsyncIterator[Process]:
    """The tool as a child that never outlives the block; a password travels in its environment alone."""
    environment = {**os.environ, "LC_ALL": "C", **({} if password is None else {"PGPASSWORD": password})}
    process = await asyncio.create_subprocess_exec(
        str(wheel_programs() / tool), *arguments, env=environment, stdin=stdin, stdout=stdout, stderr=stderr,
        limit=1 << 24,  # a line may hold a whole statement
    )  # fmt: skip
    try:
        yield process
    finally:
        _kill(process)
        await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _on(where: Place) -> tuple[str, ...]:
    return ("--verbose", "--no-password", "--dbname", where.bare_url)


def _refuse_failure(tool: str, code: int, complaints: list[str]) -> None:
    if code == 0:
        return
    reason = "; ".join(complaints[:3]) or (f"ended by signal {-code}" if code < 0 else f"exit code {code}")
    raise TidegateError(f"{tool} failed: {reason}.")
