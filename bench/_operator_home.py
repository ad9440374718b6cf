"""Tidegate as an operator runs it: a home folder with its embedded database, commands, and ``tidegate serve``."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tidegate.database.embedded.server import ServerLease
from tidegate.database.pool import Address, Database
from tidegate.maintenance.database_opening import prepare


@asynccontextmanager
async def operator_home(home: Path) -> AsyncIterator[Address]:
    """Where the database in a home folder is, with its schema; the server runs until the block ends."""
    lease = await asyncio.to_thread(ServerLease, home)
    try:
        await prepare(lease.address, embedded=True)
        yield lease.address
    finally:
        await asyncio.to_thread(lease.leave)


@asynccontextmanager
async def opened(address: Address, *, connections: int) -> AsyncIterator[Database]:
    database = await Database.open(address, connections=connections)
    try:
        yield database
    finally:
        await database.close()


async def tidegate(home: Path, *arguments: str) -> None:
    """Run one command, which has to succeed."""
    process = await _start(home, *arguments)
    assert await process.wait() == 0, f"tidegate {' '.join(arguments)} failed:\n{(home / 'bench.log').read_text()}"


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The service, with its defaults."""
    process = await _start(home, "serve")
    try:
        yield process
    finally:
        process.terminate()
        await process.wait()


async def _start(home: Path, *arguments: str) -> asyncio.subprocess.Process:
    with (home / "bench.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from tidegate.cli import main; main()",
            *arguments,
            env={"PATH": os.environ["PATH"], "TIDEGATE_HOME": str(home), "TIDEGATE_WEB_PORT": "0"},
            stdout=log,
            stderr=log,
        )
