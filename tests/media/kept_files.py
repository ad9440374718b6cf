"""Messages whose files are kept: bytes in a store, rows in the database."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tests.media.stored_media import stored
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import Sha256
from tidegate.database.pool import Connection, Database
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_files
from tidegate.media.queries.media_files import KeptBytes
from tidegate.media.rules.content_type import content_type
from tidegate.platforms.interface import File, Message


def digest(content: bytes) -> Sha256:
    return Sha256(hashlib.sha256(content).digest())


async def put(store: LocalStore, folder: Path, content: bytes) -> Sha256:
    """Bytes in the store."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "arriving"
    path.write_bytes(content)
    await store.put(path, digest(content))
    return digest(content)


async def keep(connection: Connection, channel: KnownChannel, contents: dict[int, bytes]) -> None:
    """The wanted files of these numbers have arrived."""
    assert channel.reader is not None
    for one in await media_files.take(connection, channel.reader, channel.key, most=1_000):
        if (content := contents.get(one.file)) is not None:
            kind = content_type(content[:64])
            assert await media_files.kept(connection, one, KeptBytes(digest(content), len(content), kind))


async def post(
    database: Database, home: Path, channel: KnownChannel, messages: Sequence[Message], contents: dict[int, bytes]
) -> None:
    """Messages are stored, and those of their files whose content is given are kept in the data folder *home*."""
    store = LocalStore(home / "media")
    for content in contents.values():
        await put(store, home / "arriving", content)
    async with database.transaction() as connection:
        await stored(connection, channel, *messages)
        await keep(connection, channel, contents)


def numbers(files: Sequence[File]) -> list[int]:
    return [file.id for file in files]
