"""Which topics a channel has: their titles, and those that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidegate.archives.queries import failures
from tidegate.core.ids import ChannelKey, MessageId, TopicId
from tidegate.database.pool import Connection
from tidegate.platforms.interface import Topic


async def note_topics(connection: Connection, key: ChannelKey, newest: Mapping[TopicId, MessageId]) -> list[TopicId]:
    """Store topics that messages were seen in, with the newest of them; returns those without a title yet."""
    rows = await connection.fetch(
        """
        INSERT INTO places AS p (channel, topic, newest_seen)
        SELECT $1, t, CASE WHEN c.by_topic THEN 0 ELSE n END
        FROM unnest($2::bigint[], $3::bigint[]) AS w (t, n), channels c WHERE c.id = $1
        ON CONFLICT (channel, topic) DO UPDATE
        SET newest_seen = CASE WHEN p.selected THEN p.newest_seen ELSE greatest(p.newest_seen, excluded.newest_seen) END
        RETURNING p.topic, p.title
        """,
        key, list(newest), list(newest.values()),
    )  # fmt: skip
    return [TopicId(row["topic"]) for row in rows if not row["title"]]


async def name_topics(connection: Connection, key: ChannelKey, topics: Iterable[Topic]) -> None:
    """Store what the platform says of topics: their titles, or that they are gone, and their failures with them."""
    known = list(topics)
    await connection.execute(
        """
        INSERT INTO places AS p (channel, topic, title, gone_at)
        SELECT $1, t, title, CASE WHEN gone THEN clock_now() END
        FROM unnest($2::bigint[], $3::text[], $4::boolean[]) AS w (t, title, gone)
        ON CONFLICT (channel, topic) DO UPDATE
        SET title = CASE excluded.title WHEN '' THEN p.title ELSE excluded.title END,
            gone_at = CASE WHEN excluded.gone_at IS NOT NULL THEN coalesce(p.gone_at, excluded.gone_at) END
        WHERE excluded.title NOT IN ('', p.title) OR (p.gone_at IS NULL) <> (excluded.gone_at IS NULL)
        """,
        key, [one.id for one in known], [one.title for one in known], [one.gone for one in known],
    )  # fmt: skip
    await failures.close_topics(connection, key, [one.id for one in known if one.gone])


async def lose_topics(connection: Connection, key: ChannelKey, deleted: Iterable[MessageId]) -> None:
    """A topic's number is that of the message that made it: when that is deleted, the topic is gone."""
    gone = await connection.fetch(
        """
        UPDATE places SET gone_at = clock_now()
        WHERE channel = $1 AND topic = ANY($2) AND topic > 1 AND gone_at IS NULL
        RETURNING topic
        """,
        key, list(deleted),
    )  # fmt: skip
    await failures.close_topics(connection, key, [row["topic"] for row in gone])
