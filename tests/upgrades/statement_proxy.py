"""A proxy before PostgreSQL that sees each statement, and can stop its client at any of them."""

from __future__ import annotations

import asyncio
import itertools
import os
import struct
from collections.abc import Awaitable, Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tidegate.database.pool import Address

_numbers = itertools.count()


class Moment(StrEnum):
    """When a statement's client is stopped."""

    BEFORE = "before the server has it"
    DURING = "while the server works on it"
    AFTER = "after the server did it, before the client knows"


@dataclass(frozen=True)
class Stop:
    """Do *then* at each statement of these numbers, counted from 0; it says whether the client goes on.

    A client that does not go on is cut off: nothing more of it reaches the server, as if its process had ended there.
    """

    statements: Container[int]
    moment: Moment
    then: Callable[[], Awaitable[bool]]


@dataclass
class StatementProxy:
    """Forwards clients to *database*, and keeps the text of each statement they run.

    A statement is a simple query or the execution of a prepared one.
    """

    database: Address
    folder: Path
    stop: Stop | None = None
    statements: list[str] = field(default_factory=list)

    async def __aenter__(self) -> StatementProxy:
        where = urlsplit(self.database.direct)
        options = parse_qs(where.query)
        self._to = f"{options['host'][0]}/.s.PGSQL.{options['port'][0]}"
        socket = self.folder / f"p{os.getpid()}-{next(_numbers)}"
        socket.mkdir()
        self.url = f"postgresql://tidegate@{where.path}?host={socket}&port=5432"
        self._clients: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_unix_server(self._connect, socket / ".s.PGSQL.5432")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        far_reader, far_writer = await asyncio.open_unix_connection(self._to)
        try:
            await self._forward(reader, writer, far_reader, far_writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # one of them left
        finally:
            writer.close()
            far_writer.close()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
    ) -> None:
        answers = asyncio.create_task(_copy(far_reader, writer))
        prepared: dict[bytes, str] = {}
        portals: dict[bytes, str] = {}
        try:
            far_writer.write(await _untyped(reader))
            while True:
                kind, body = await _message(reader)
                message = kind + struct.pack("!i", len(body) + 4) + body
                statement = _statement(kind, body, prepared, portals)
                if statement is not None:
                    self.statements.append(statement)
                    if self.stop is not None and len(self.statements) - 1 in self.stop.statements:
                        if self.stop.moment is not Moment.BEFORE:
                            await _end(answers)
                            await _hand_over(self.stop.moment, message, far_reader, far_writer)
                        if not await self.stop.then():
                            return
                far_writer.write(message)
        finally:
            await _end(answers)


async def _hand_over(
    moment: Moment, message: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Give the server the last statement of a client, and see it done where that is wanted."""
    writer.write(message)
    if not message.startswith(b"Q"):
        writer.write(b"S\x00\x00\x00\x04")  # an execution is answered once it is synchronised
    await writer.drain()
    while moment is Moment.AFTER and (await _message(reader))[0] != b"Z":
        pass  # until the server says that it waits for the next statement


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, ConnectionError):
        await task


def _statement(kind: bytes, body: bytes, prepared: dict[bytes, str], portals: dict[bytes, str]) -> str | None:
    """The text of the statement that a client's message runs; None for a message that runs none."""
    if kind == b"Q":
        return body[:-1].decode()
    if kind == b"P":
        name, text = body.split(b"\0", 2)[:2]
        prepared[name] = text.decode()
    elif kind == b"B":
        portal, name = body.split(b"\0", 2)[:2]
        portals[portal] = prepared[name]
    elif kind == b"E":
        return portals[body.split(b"\0", 1)[0]]
    return None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


async def _untyped(reader: asyncio.StreamReader) -> bytes:
    length = await reader.readexactly(4)
    return length + await reader.readexactly(struct.unpack("!i", length)[0] - 4)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return kind, await reader.readexactly(length - 4)
