"""What keeps all archives of a machine waiting: a full disk, or no process to read them.

Each is reported once when it begins and once when it ends, however many archives wait.
"""

from __future__ import annotations

from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection
from tidegate.events.kinds.archives import (
    FilingPaused,
    FilingResumed,
    ReadingPaused,
    ReadingResumed,
)
from tidegate.workers.queries.machine_pauses import MachinePause

_FULL_DISK = MachinePause("disk_pauses", "disk")
_NO_PROCESS = MachinePause("reading_pauses", "reading")


# The disk


async def room_needed(connection: Connection, account: AccountId) -> int | None:
    """How many bytes the smallest of the account's archives needs that wait for room; None when none does."""
    needed: int | None = await connection.fetchval("SELECT needed FROM disk_pauses WHERE account = $1", account)
    return needed


async def note_full_disk(
    connection: Connection, account: AccountId, machine: str, sentence: str, *, needed: int
) -> None:
    """Archives of *account* wait for room on *machine*; reported when the account is the first to wait there."""
    paused = FilingPaused(sentence=sentence, needed=needed)
    await _FULL_DISK.note(connection, account, machine, paused, sentence=sentence, needed=needed)


async def clear_full_disk(connection: Connection, account: AccountId) -> None:
    """No archive of *account* waits for room."""
    await _FULL_DISK.clear(connection, account, FilingResumed())


# The process that reads archives


async def note_no_process(connection: Connection, account: AccountId, machine: str, sentence: str) -> None:
    """The machine cannot start the process that reads archives; reported when the account is the first to notice."""
    await _NO_PROCESS.note(connection, account, machine, ReadingPaused(sentence=sentence), sentence=sentence)


async def clear_no_process(connection: Connection, account: AccountId) -> None:
    """Archives of *account* can be read."""
    await _NO_PROCESS.clear(connection, account, ReadingResumed())


# All pauses


async def paused(connection: Connection, account: AccountId) -> bool:
    """Whether anything of the account's waits for the disk or for a destination."""
    found: bool = await connection.fetchval(
        """
        SELECT EXISTS (SELECT FROM disk_pauses WHERE account = $1)
            OR EXISTS (SELECT FROM closed_destinations WHERE account = $1)
        """,
        account,
    )
    return found


async def sentences(connection: Connection, most: int) -> list[str]:
    """What keeps archives waiting, for the person who can do something about it."""
    rows = await connection.fetch(
        """
        (SELECT DISTINCT ON (machine) sentence, since FROM disk_pauses ORDER BY machine, since)
        UNION ALL
        (SELECT DISTINCT ON (machine) sentence, since FROM reading_pauses ORDER BY machine, since)
        UNION ALL
        SELECT sentence, since FROM closed_destinations
        ORDER BY since LIMIT $1
        """,
        most,
    )
    return [row["sentence"] for row in rows]
