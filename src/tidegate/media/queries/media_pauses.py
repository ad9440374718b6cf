"""What keeps all files waiting: a full disk, a store that is away, a limit that is reached.

Each is reported once when it begins and once when it ends, however many files and accounts wait.
"""

from __future__ import annotations

from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection
from tidegate.events.kinds.media import MediaPaused, MediaResumed
from tidegate.events.queries import feed
from tidegate.workers.queries.machine_pauses import MachinePause

_MEDIA = MachinePause("media_pauses", "media")


async def note_pause(connection: Connection, account: AccountId, where: str, sentence: str) -> None:
    """Files of *account* wait for *where*, a disk or a store; reported when the account is the first to wait there."""
    await _MEDIA.note(connection, account, where, MediaPaused(sentence=sentence), sentence=sentence)


async def clear_pause(connection: Connection, account: AccountId) -> None:
    """Files of *account* are fetched again."""
    await _MEDIA.clear(connection, account, MediaResumed())


async def clear_all(connection: Connection) -> None:
    """No files are fetched any more, so none waits."""
    rows = await connection.fetch("DELETE FROM media_pauses RETURNING machine")
    for machine in sorted({row["machine"] for row in rows}):
        await feed.record(connection, machine, MediaResumed())


async def sentences(connection: Connection) -> list[str]:
    """Why files wait, for the person who can do something about it."""
    rows = await connection.fetch("SELECT DISTINCT ON (machine) sentence FROM media_pauses ORDER BY machine, since")
    return [row["sentence"] for row in rows]
