"""How far live news has moved a channel on: its counter of changes, and the newest message below which all is known."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.store.channels import WHOLE
from tidegate.store.database import Connection


class Counted(NamedTuple):
    """The platform's counter of changes: as it was known, and what unbroken news has led it to."""

    known: int
    upto: int


async def move(connection: Connection, key: int, counter: Counted, newest: int, *, found: bool) -> bool:
    """Move a channel on; False, and nothing is changed, when its counter is no longer the one that was known.

    *found* says that files of archives came, which makes the channel anything but cold.
    """
    done = await connection.execute(
        """
        UPDATE places
        SET changes = $3, newest_seen = greatest(newest_seen, $4), watermark = greatest(watermark, $4),
            last_scan_found_archives = last_scan_found_archives OR $5,
            consecutive_empty_scans = CASE WHEN $5 THEN 0 ELSE consecutive_empty_scans END
        WHERE channel = $1 AND topic = $6 AND changes = $2
        """,
        key, counter.known, counter.upto, newest, found, WHOLE,
    )  # fmt: skip
    return bool(done == "UPDATE 1")


async def move_topic(connection: Connection, key: int, topic: int, newest: int) -> None:
    """Move a topic that is followed on its own on to its newest message."""
    await connection.execute(
        """
        UPDATE places SET newest_seen = greatest(newest_seen, $3), watermark = greatest(watermark, $3)
        WHERE channel = $1 AND topic = $2 AND newest_seen < $3
        """,
        key, topic, newest,
    )  # fmt: skip
