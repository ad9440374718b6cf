"""Messages, files and their revisions."""

from __future__ import annotations

from datetime import timedelta

from tests.held import NOON
from tests.scans.stored_channels import add_account, add_channel
from tidegate.core.ids import FileId, MessageId
from tidegate.database.pool import Connection
from tidegate.platforms.interface import File, FileHandle, FileKind

LATER = NOON + timedelta(minutes=5)
LATEST = NOON + timedelta(minutes=9)
ONE = MessageId(1)


def file(number: int, name: str) -> File:
    return File(FileId(number), name, 10 * number, "application/zip", FileKind.DOCUMENT, FileHandle("h"))


async def channel(connection: Connection) -> int:
    return (await add_channel(connection, await add_account(connection, "reader"))).key


async def texts(connection: Connection) -> list[str]:
    """The earlier texts of the first message and then the one it has now."""
    rows = await connection.fetch("SELECT text FROM message_revisions WHERE message = 1 ORDER BY number")
    return [*(row["text"] for row in rows), await connection.fetchval("SELECT text FROM messages WHERE id = 1")]
