"""``pg_dump`` and ``pg_restore`` from the wheel: run, watched, and their failures put into a sentence."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tidegate.errors import TidegateError
from tidegate.store.programs import wheel_programs
from tidegate.store.reaching import Place

Tell = Callable[[str], None]
"""Takes a short line about what is going on, for the person who waits."""

_TABLE = re.compile(rb'(?:dumping contents of|processing data for) table "(?:public\.)?([^"]+)"')
_COMPLAINT = re.compile(rb"\b(error|detail|hint|fatal): +(.*)", re.IGNORECASE)


async def work(
    tool: str, where: Place, *arguments: str, tell: Tell, reads: int = DEVNULL, writes: int = DEVNULL
) -> None:
    """Run *tool* on the database at *where*, telling which table it is at."""
    command = (tool, "--verbose", "--no-password", "--dbname", where.bare_url, *arguments)
    async with _running(*command, where=where, stdin=reads, stdout=writes, stderr=PIPE) as process:
        complaints: list[str] = []
        assert process.stderr is not None
        async for line in process.stderr:
            if table := _TABLE.search(line):
                tell(table[1].decode(errors="replace"))
            elif complaint := _COMPLAINT.search(line):
                complaints.append(complaint[2].decode(errors="replace").strip())
        _refuse_failure(tool, await process.wait(), complaints)


async def answer(tool: str, *arguments: str) -> str:
    """What *tool* prints, without any database."""
    async with _running(tool, *arguments, where=None, stdin=DEVNULL, stdout=PIPE, stderr=PIPE) as process:
        printed, complaints = await process.communicate()
        _refuse_failure(tool, await process.wait(), complaints.decode(errors="replace").splitlines())
        return printed.decode(errors="replace")


@asynccontextmanager
async def _running(tool: str, *arguments: str, where: Place | None, **pipes: Any) -> AsyncIterator[Process]:
    """The tool as a child that never outlives the block; a password travels in its environment alone."""
    environment = {**os.environ, "LC_ALL": "C"}
    if where is not None and where.password is not None:
        environment["PGPASSWORD"] = where.password
    program = str(wheel_programs() / tool)
    # One line of a failing tool may hold a whole statement.
    process = await asyncio.create_subprocess_exec(program, *arguments, env=environment, limit=1 << 24, **pipes)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _refuse_failure(tool: str, code: int, complaints: list[str]) -> None:
    if code == 0:
        return
    reason = "; ".join(complaints[:3]) or (f"ended by signal {-code}" if code < 0 else f"exit code {code}")
    raise TidegateError(f"{tool} failed: {reason}.")
