"""Archives in all states, stored without a platform."""

from __future__ import annotations

import pytest

from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Connection, Database
from tidegate.search.rules.tokenizer import vector

PNG = b"\x89PNG\r\n\x1a\n"


async def add_archive(connection: Connection, kept: KnownChannel, name: str, *inside: str, state: str = "filed") -> int:
    """An archive of one part, with files inside; one that failed has its failure."""
    archive: int = await connection.fetchval(
        "INSERT INTO archives (channel, topic, kind, base, name, state) VALUES ($1, 0, 'tar', $2, $2, $3) RETURNING id",
        kept.key, name, state,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender) "
        "VALUES ($1, $2, $1, 1, 1, $3, 1000, now(), now(), 'Ada')",
        archive, kept.key, name,
    )  # fmt: skip
    await connection.executemany(
        "INSERT INTO archive_contents (archive, number, path, size, encrypted, words) "
        "VALUES ($1, $2, $3, 10, false, $4::text::tsvector)",
        [(archive, number, path, vector([path])) for number, path in enumerate(inside, start=1)],
    )
    if state in ("failed", "given_up"):
        await connection.execute(
            "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at, detail) "
            "VALUES ($1, $2, 0, $1, 'download', 3, now(), 'The line broke.')",
            archive, kept.key,
        )  # fmt: skip
    return archive


@pytest.fixture
async def three(database: Database, kept: KnownChannel) -> list[int]:
    """A filed archive with two files, a failed one and one given up."""
    async with database.transaction() as connection:
        return [
            await add_archive(connection, kept, "Dragons.zip", "scales/red.stl", "scales/blue.stl"),
            await add_archive(connection, kept, "Towers.zip", state="failed"),
            await add_archive(connection, kept, "Bridges.zip", state="given_up"),
        ]
