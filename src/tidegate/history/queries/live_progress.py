"""How far push updates have moved a channel: its counter of changes, and its newest complete message."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import ChannelKey, TopicId
from tidegate.database.pool import Connection


class ChangeCounter(NamedTuple):
    """The platform's counter of changes: the value known before, and the value an unbroken sequence has reached."""

    known: int
    upto: int


async def move(connection: Connection, key: ChannelKey, counter: ChangeCounter, newest: int, *, found: bool) -> bool:
    """Move a channel's progress; False, without a change, when its counter is not the one that was known.

    *found* says that files of archives came, so the channel is not cold.
    """
    done = await connection.execute(
        """
        UPDATE places
        SET changes = $3, newest_seen = greatest(newest_seen, $4), watermark = greatest(watermark, $4),
            last_scan_found_archives = last_scan_found_archives OR $5,
            consecutive_empty_scans = CASE WHEN $5 THEN 0 ELSE consecutive_empty_scans END
        WHERE channel = $1 AND topic = $6 AND changes = $2
        """,
        key, counter.known, counter.upto, newest, found, NO_TOPIC,
    )  # fmt: skip
    return bool(done == "UPDATE 1")


async def move_topic(connection: Connection, key: ChannelKey, topic: TopicId, newest: int) -> None:
    """Move the progress of a topic that is followed on its own to its newest message."""
    await connection.execute(
        """
        UPDATE places SET newest_seen = greatest(newest_seen, $3), watermark = greatest(watermark, $3)
        WHERE channel = $1 AND topic = $2 AND newest_seen < $3
        """,
        key, topic, newest,
    )  # fmt: skip
