"""Channels with files, as tests of media find them stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.scans.stored_channels import add_account, add_channel, message
from tidegate.channels.queries.channels import KnownChannel, MirrorOptions
from tidegate.core.ids import FileId
from tidegate.database.pool import Connection
from tidegate.history.queries import messages
from tidegate.media.file_decisions import note_files
from tidegate.platforms.interface import File, FileForm, FileHandle, FileKind, FileRole, Message


def picture(number: int, size: int = 1_000, role: FileRole = FileRole.OWN) -> File:
    handle = FileHandle(f"handle {number}")
    return File(
        FileId(number), f"{number}.jpg", size, "image/jpeg", FileKind.PHOTO, handle, form=FileForm.IMAGE, role=role
    )


def with_files(number: int, *files: File, further: Sequence[File] = ()) -> Message:
    return replace(message(number), files=files, further_files=further)


async def full_channel(connection: Connection, number: int = 7, name: str = "reader") -> KnownChannel:
    """A channel that is mirrored in full by an account of its own."""
    return await add_channel(
        connection, await add_account(connection, name), number, wishes=MirrorOptions(in_full=True)
    )


async def stored(connection: Connection, channel: KnownChannel, *found: Message) -> None:
    """Messages and their files, as a page stores them."""
    assert channel.reader is not None
    await messages.store(connection, channel.key, found)
    await note_files(connection, channel.key, channel.reader, found)


async def states(connection: Connection) -> dict[int, tuple[str, str]]:
    """The state and the reason of every file."""
    rows = await connection.fetch("SELECT file, state, reason FROM media_files ORDER BY file")
    return {row["file"]: (row["state"], row["reason"]) for row in rows}
