"""A wire between a worker and the database that can be cut without either end being told."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tidegate.database.pool import Address


class Wire:
    """Forwards one socket to the database's, until it is cut; then both ends stay open and nothing passes."""

    def __init__(self, database: Address, folder: Path) -> None:
        where = urlsplit(database.direct)
        self._to = f"{parse_qs(where.query)['host'][0]}/.s.PGSQL.5432"
        self._folder = folder / f"wire-{os.getpid()}"
        self.address = f"postgresql://tidegate@{where.path}?host={self._folder}"
        self._whole = asyncio.Event()
        self._whole.set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Wire:
        self._folder.mkdir()
        self._server = await asyncio.start_unix_server(self._connect, self._folder / ".s.PGSQL.5432")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def cut(self) -> None:
        self._whole.clear()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_unix_connection(self._to)
            for one, other in ((reader, far_writer), (far_reader, writer)):
                pump = asyncio.create_task(self._pump(one, other))
                self._pumps.add(pump)
                pump.add_done_callback(self._pumps.discard)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._whole.wait()
                writer.write(data)
        finally:
            writer.close()
