"""An embedded server of the benchmark's own, as an operator's is: fsync on. It leaves nothing behind."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tidegate.database.embedded.server import ServerLease
from tidegate.database.embedded.server_sizes import kept_in_memory, memory_here
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Database

LARGE = 1 << 40
"""Bytes of data. A server takes memory by the size of its data when it starts, so this one starts as if it had much."""


@asynccontextmanager
async def own_database(*, connections: int) -> AsyncIterator[Database]:
    """A database with the schema on a server that nobody else uses."""
    home = _folder()
    try:
        options = [
            f"max_connections={connections + 20}",
            f"shared_buffers={kept_in_memory(memory_here(), LARGE) >> 10}kB",
        ]
        seat = await asyncio.to_thread(ServerLease, home, options=options)
        try:
            await upgrade(seat.address.direct)
            database = await Database.open(seat.address, connections=connections)
            try:
                yield database
            finally:
                await database.close()
        finally:
            await asyncio.to_thread(seat.leave)
    finally:
        shutil.rmtree(home)


def _folder() -> Path:
    """A folder that the server's own user can reach when the benchmark runs as root."""
    home = Path(tempfile.mkdtemp(prefix="tg-bench-"))
    home.chmod(0o711)
    return home
