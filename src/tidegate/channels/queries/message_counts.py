"""How many messages platforms count, compared with the rows that are stored (``rules.message_counts``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.channels.rules.message_counts import READ_AGAIN_UP_TO, Count, MessageCounter, pause_after
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, TopicId
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.events.kinds.channels import ChannelCountDiffers
from tidegate.events.queries import feed


@dataclass(frozen=True, slots=True)
class PlatformCount:
    """A platform's count of the *messages* of a channel or topic, above *above* and up to the message *upto*."""

    channel: ChannelId
    counter: MessageCounter
    messages: int
    upto: int
    above: int = 0
    topic: TopicId = NO_TOPIC


@dataclass(frozen=True, slots=True)
class CountMismatch:
    """A counter that is to be compared. *key* is our number of the channel.

    It *waits* before it is asked about again, after it disagreed for good (*misses* times).
    """

    key: ChannelKey
    topic: TopicId
    channel: ChannelId
    title: str
    count: Count
    above: int
    misses: int
    waits: bool


async def store(connection: Connection, platform: Platform, counts: Iterable[PlatformCount]) -> None:
    """Store what a platform counts; a new number is to be compared."""
    rows = list(counts)
    await connection.execute(
        """
        INSERT INTO message_counts AS n (channel, topic, counter, told, above, upto)
        SELECT c.id, t.topic, t.counter, t.told, t.above, t.upto
        FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS t (number, topic, counter, told, above, upto)
        JOIN channels c ON c.platform = $1 AND c.number = t.number
        ON CONFLICT (channel, topic, counter) DO UPDATE
        SET told = excluded.told, above = excluded.above, upto = excluded.upto, told_at = clock_now(), due = true
        WHERE (n.told, n.above, n.upto) IS DISTINCT FROM (excluded.told, excluded.above, excluded.upto)
        """,
        platform.name, [one.channel for one in rows], [one.topic for one in rows],
        [one.counter.value for one in rows], [one.messages for one in rows], [one.above for one in rows],
        [one.upto for one in rows],
    )  # fmt: skip


async def ask_for_documents(connection: Connection, key: ChannelKey) -> None:
    """Have the platform asked how many documents a channel has, or each topic of it that is followed on its own."""
    await connection.execute(
        """
        INSERT INTO message_counts AS n (channel, topic, counter)
        SELECT c.id, p.topic, 'documents'
        FROM channels c JOIN places p ON p.channel = c.id
        WHERE c.id = $1 AND CASE WHEN c.by_topic THEN p.selected AND p.gone_at IS NULL ELSE p.topic = 0 END
        ON CONFLICT (channel, topic, counter) DO UPDATE
        SET told = NULL, above = 0, upto = NULL, due = true, asked = 0
        """,
        key,
    )


# Only a complete range can be compared. A thread's first message has the thread's own number and is not counted.
# While the count of present messages disagrees, the count of all posted ones adds nothing.
_DOUBTS = """
    WITH due AS (
        SELECT n.*, c.number, c.title, coalesce(n.ask_after > clock_now(), false) AS waits
        FROM message_counts n JOIN channels c ON c.id = n.channel
        WHERE n.due AND n.counter = ANY($4) AND c.reader = $1 AND c.enabled AND c.state = 'ok'
          AND ($3::bigint[] IS NULL OR c.number = ANY($3))
          AND c.by_topic = (n.topic > 0) AND (c.in_full OR n.counter = 'documents')
          AND (n.told IS NULL OR EXISTS (
              SELECT FROM coverage h
              WHERE h.channel = n.channel AND h.topic = n.topic AND h.spans @> int8range(0, n.upto, '[]')
                AND h.kind = CASE n.counter WHEN 'documents' THEN 'documents' ELSE 'messages' END))
          AND NOT (n.counter = 'posted' AND EXISTS (
              SELECT FROM message_counts o WHERE o.channel = n.channel AND o.counter = 'messages' AND o.due))
        ORDER BY waits, n.asked, n.channel, n.topic LIMIT $2
    )
    SELECT d.*, s.*
    FROM due d CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE m.deleted_at IS NULL AND m.id > d.above) AS present,
            count(*) FILTER (WHERE m.deleted_at > d.told_at AND m.id > d.above) AS deleted_since,
            count(*) FILTER (WHERE m.deleted_at IS NULL) AS everywhere,
            count(*) AS ever
        FROM messages m
        WHERE m.channel = d.channel AND m.id <= d.upto AND m.id <> d.number
          AND (d.topic = 0 OR coalesce(m.topic, 1) = d.topic)
          AND (d.counter <> 'documents' OR EXISTS (
              SELECT FROM attachments a WHERE a.channel = m.channel AND a.message = m.id AND a.kind = 'document'
                AND a.role = 'own'))
    ) AS s
    ORDER BY d.waits, d.asked, d.channel, d.topic
"""


async def doubts(
    connection: Connection,
    account: AccountId,
    counters: Collection[MessageCounter],
    *,
    most: int,
    only: Collection[ChannelId] | None = None,
) -> list[CountMismatch]:
    """Up to *most* of these *counters* that are due, of what *account* reads completely; of *only* some channels."""
    kinds = [counter.value for counter in counters]
    rows = await connection.fetch(_DOUBTS, account, most, None if only is None else list(only), kinds)
    return [_doubt(row) for row in rows]


async def note_agreed(connection: Connection, doubt: CountMismatch, *, usual: int | None) -> None:
    """The count agrees, with a difference that is *usual*."""
    await connection.execute(
        """
        UPDATE message_counts SET due = false, asked = 0, misses = 0, ask_after = NULL, usual = $4
        WHERE channel = $1 AND topic = $2 AND counter = $3
        """,
        doubt.key, doubt.topic, doubt.count.counter.value, usual,
    )  # fmt: skip


async def accept(connection: Connection, doubt: CountMismatch) -> None:
    """The count disagrees whatever is read again: the difference is usual now, reported once, then ignored."""
    count, misses = doubt.count, doubt.misses + 1
    await connection.execute(
        """
        UPDATE message_counts
        SET due = false, asked = 0, usual = $4, misses = $5, ask_after = clock_now() + $6
        WHERE channel = $1 AND topic = $2 AND counter = $3
        """,
        doubt.key, doubt.topic, count.counter.value, count.more, misses, pause_after(misses),
    )  # fmt: skip
    if count.counter is not MessageCounter.POSTED and count.reported is not None:
        differs = ChannelCountDiffers(
            channel=doubt.channel,
            topic=doubt.topic or None,
            counter=count.counter.value,
            counted=count.reported,
            stored=count.stored,
        )
        await feed.record(connection, doubt.title, differs)


async def ask_again(connection: Connection, doubt: CountMismatch, *, from_the_start: bool) -> None:
    """Note that the platform is asked again; *from_the_start* opens all of a history as a gap."""
    await connection.execute(
        "UPDATE message_counts SET asked = asked + 1 WHERE channel = $1 AND topic = $2 AND counter = $3",
        doubt.key, doubt.topic, doubt.count.counter.value,
    )  # fmt: skip
    if from_the_start and doubt.count.counter is MessageCounter.MESSAGES:
        await connection.execute(
            "DELETE FROM coverage WHERE channel = $1 AND topic = 0 AND kind = 'messages'", doubt.key
        )


async def counted_messages(connection: Connection, key: ChannelKey) -> int | None:
    """How many messages a channel has by the platform's last count, without those that it usually counts too many."""
    reported: int | None = await connection.fetchval(
        "SELECT told - greatest(usual, 0) FROM message_counts "
        "WHERE channel = $1 AND topic = 0 AND counter = 'messages'",
        key,
    )
    return reported


async def searches_due(connection: Connection, account: AccountId) -> int:
    """How many pages it takes to search again for all documents where the newest page did not explain a count."""
    pages: int = await connection.fetchval(
        """
        SELECT coalesce(sum(n.told / 100 + 2), 0)::bigint FROM message_counts n JOIN channels c ON c.id = n.channel
        WHERE c.reader = $1 AND n.due AND n.counter = 'documents' AND n.asked = 1 AND n.told <= $2
        """,
        account, READ_AGAIN_UP_TO,
    )  # fmt: skip
    return pages


async def mark_due(connection: Connection, key: ChannelKey) -> None:
    """The newest messages of a channel were reconciled, so its counts are compared again."""
    await connection.execute("UPDATE message_counts SET due = true WHERE channel = $1 AND told IS NOT NULL", key)


async def suspicion(connection: Connection, key: ChannelKey) -> str:
    """What the operator should know of counts that disagree; empty where none does."""
    rows = await connection.fetch(
        "SELECT counter, topic, told, due, asked, usual FROM message_counts "
        "WHERE channel = $1 AND counter <> 'posted' ORDER BY counter, topic",
        key,
    )
    return " ".join(sentence for row in rows if (sentence := _sentence(row)))


def _sentence(row: Any) -> str:
    where = f" in topic {row['topic']}" if row["topic"] else ""
    if row["due"] and row["asked"] and row["told"] is not None:
        return f"The platform counts {row['told']} {row['counter']}{where}, not as many are stored; it is asked again."
    if row["usual"]:
        more = "more" if row["usual"] > 0 else "fewer"
        return f"The platform counts {abs(row['usual'])} {row['counter']}{where} {more} than it shows."
    return ""


def _doubt(row: Any) -> CountMismatch:
    counter = MessageCounter(row["counter"])
    count = Count(
        counter,
        row["told"],
        stored=row["ever"] if counter is MessageCounter.POSTED else row["present"],
        deleted_since=row["deleted_since"],
        everywhere=row["everywhere"] if row["above"] else None,
        usual=row["usual"],
        asked=row["asked"],
    )
    key, channel = ChannelKey(row["channel"]), ChannelId(row["number"])
    return from_row(CountMismatch, row, key=key, channel=channel, count=count)
