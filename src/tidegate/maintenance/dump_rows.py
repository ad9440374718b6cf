"""Reads rows and sequence counters out of the text that ``pg_dump`` and ``pg_restore`` write.

The text may come from a forged file, so nothing in it is ever run as SQL. A line is either recognised as the start of a
table's rows or as a counter, or it is skipped; rows go to the server as data.
"""

from __future__ import annotations

import re
from asyncio import StreamReader
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tidegate.core.errors import TidegateError

_CHUNK = 1 << 18
_LONGEST_LINE = 1 << 20
_NAME = r'(?:[a-z_][a-z0-9_]*|"(?:[^"\n]|"")+")'
_ROWS = re.compile(
    rf"COPY (?P<schema>{_NAME})\.(?P<table>{_NAME}) \((?P<columns>{_NAME}(?:, {_NAME})*)\) FROM stdin;\n"
)
_COUNTER = re.compile(
    r"SELECT pg_catalog\.setval\('(?P<schema>[a-z0-9_]+)\.(?P<name>[a-z0-9_]+)', (?P<value>\d{1,19}), "
    r"(?P<used>true|false)\);\n"
)
_ENCODING = re.compile(r"SET client_encoding = '([A-Za-z0-9_]+)';\n")
_END = b"\\.\n"


@dataclass(frozen=True, slots=True)
class TableRows:
    """The start of a table's rows; ``DumpText.content`` has them."""

    schema: str
    table: str
    columns: list[str]


@dataclass(frozen=True, slots=True)
class SequenceCounter:
    """The counter of a sequence: *value*, which was given out already if it is *used*."""

    schema: str
    name: str
    value: int
    used: bool


class DumpText:
    """A dump's text as it comes from *reader*."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._buffer = b""
        self.encoding = "UTF8"

    async def parts(self) -> AsyncIterator[TableRows | SequenceCounter]:
        """Its rows and counters, in order; the content of rows has to be read before the next part."""
        while line := await self._line():
            if found := _ROWS.fullmatch(line):
                columns = re.findall(_NAME, found["columns"])
                yield TableRows(_plain(found["schema"]), _plain(found["table"]), [_plain(name) for name in columns])
            elif found := _COUNTER.fullmatch(line):
                yield SequenceCounter(found["schema"], found["name"], int(found["value"]), found["used"] == "true")
            elif found := _ENCODING.fullmatch(line):
                self.encoding = found[1]

    async def content(self) -> AsyncIterator[bytes]:
        """The rows that were just announced, up to the line that ends them."""
        await self._fill(len(_END))
        if self._buffer.startswith(_END):
            self._buffer = self._buffer[len(_END) :]
            return
        while (end := self._buffer.find(b"\n" + _END)) < 0:
            keep = len(_END)  # what may be the start of the end
            ready, self._buffer = self._buffer[:-keep], self._buffer[-keep:]
            if ready:
                yield ready
            if not await self._more():
                raise TidegateError("The dump ends in the middle of a table's rows.")
        ready, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 + len(_END) :]
        yield ready

    async def _line(self) -> str:
        """The next line, or the rest of one that is too long to be of use; empty at the end."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LONGEST_LINE:
                self._buffer = b" "  # skipped, and so is the rest of it
            if not await self._more():
                end = len(self._buffer) - 1
                break
        line, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 :]
        return line.decode(errors="replace")

    async def _fill(self, size: int) -> None:
        while len(self._buffer) < size and await self._more():
            pass

    async def _more(self) -> bool:
        chunk = await self._reader.read(_CHUNK)
        self._buffer += chunk
        return bool(chunk)


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
