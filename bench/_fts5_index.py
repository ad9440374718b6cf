"""The same messages in SQLite, with the full-text index that comes with Python, as archives in one file use it.

Rows are numbered in the order of time, so SQLite reads the newest first without sorting, the best case for it. A word
is searched from its beginning on, as Tidegate does.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.search.rules.search_plan import HitOrder

_BATCH = 20_000
_BY = {HitOrder.NEWEST: "found.rowid DESC", HitOrder.RELEVANCE: "rank"}


class Fts5Index:
    """A filled index in a file."""

    def __init__(self, path: Path) -> None:
        self._sqlite = sqlite3.connect(path, check_same_thread=False)
        self._clock = SystemClock()

    async def fill(self, database: Database) -> None:
        """Copy all messages, the oldest first."""
        self._sqlite.executescript(
            """
            PRAGMA journal_mode = WAL; PRAGMA cache_size = -200000;
            CREATE TABLE messages (id INTEGER PRIMARY KEY, channel, at, author, text);
            CREATE VIRTUAL TABLE found USING fts5(text, content = 'messages', content_rowid = 'id');
            """
        )
        async with database.transaction() as connection:
            rows = connection.cursor(
                "SELECT channel, at::text, author, text FROM messages ORDER BY at", prefetch=_BATCH
            )
            await self._add([tuple(row) async for row in rows])

    async def _add(self, rows: list[tuple[object, ...]]) -> None:
        def add() -> None:
            for start in range(0, len(rows), _BATCH):
                with self._sqlite:
                    self._sqlite.executemany(
                        "INSERT INTO messages (channel, at, author, text) VALUES (?, ?, ?, ?)",
                        rows[start : start + _BATCH],
                    )
            with self._sqlite:
                self._sqlite.execute("INSERT INTO found(found) VALUES ('rebuild')")
                self._sqlite.execute("INSERT INTO found(found) VALUES ('optimize')")

        await asyncio.to_thread(add)

    def search(self, words: str, order: HitOrder, most: int) -> tuple[int, float]:
        """How many messages it finds that have all words, at most *most*, and the seconds that took."""
        asked = " ".join(f'"{word}"*' for word in words.split())
        text = f"""
            SELECT m.channel, m.at, m.author, m.text FROM found JOIN messages m ON m.id = found.rowid
            WHERE found MATCH ? ORDER BY {_BY[order]} LIMIT ?
        """
        began = self._clock.ticks()
        rows = self._sqlite.execute(text, (asked, most)).fetchall()
        return len(rows), self._clock.ticks() - began

    def close(self) -> None:
        """Close the file."""
        self._sqlite.close()


@asynccontextmanager
async def fts5_index(database: Database) -> AsyncIterator[Fts5Index]:
    """An index of the database's messages that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tg-bench-") as folder:
        index = Fts5Index(Path(folder) / "messages.sqlite")
        try:
            await index.fill(database)
            yield index
        finally:
            index.close()
