"""Where a set's files come from: messages that are fetched again when a handle is no longer valid."""

from __future__ import annotations

from tidegate.errors import Refused
from tidegate.lanes import Lane
from tidegate.mirror.remote_file import RemotePart
from tidegate.port import FileHandle, MessageId
from tidegate.store import accounts, contents
from tidegate.store.contents import Taken, TakenPart
from tidegate.store.database import Database


class SourceGone(Exception):
    """The message of a part, or the file in it, is no longer there."""


async def renew_handle(
    lane: Lane, database: Database, taken: Taken, part: RemotePart, *, cycle: int | None
) -> FileHandle:
    """Fetch a part's message for a valid handle and remember it; another file in it is not the part any more (S-48)."""
    number = MessageId(part.message)
    shown = await lane.messages(taken.channel, [number], cycle=cycle)
    if number not in shown:
        raise Refused("The platform said nothing about the message of this file.")
    message = shown[number]
    same = [file for file in message.files if (file.id, file.size) == (part.file, part.size)] if message else []
    if not same:
        raise SourceGone
    handle = same[0].handle
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        held = TakenPart(part.message, part.file, part.size, handle)
        await contents.keep_handle(connection, taken.archive, held, lane.account.id)
    return handle
