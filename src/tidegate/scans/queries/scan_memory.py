"""Scan memory: what is remembered of each channel and topic between cycles (seed 000)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.archives.queries import failures
from tidegate.archives.queries.failures import Failed, count_failures
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, CycleNumber, FileId, MessageId, TopicId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.platforms.interface import Channel
from tidegate.scans.rules.scan_decision import ScanMemory, Verdict

_MEMORY = (
    "last_scanned_at, last_scan_found_archives, consecutive_empty_scans, watermark, newest_seen, changes, asked, asks, "
    "unread_since, unread_upto"
)

CHAT_TROUBLE = "A private chat could not be read; the log has the reason."
"""A platform's own sentence could have the title or number of the chat."""


@dataclass(frozen=True, slots=True)
class ScanPlace:
    """A channel (topic 0) or a selected topic of one, and what is remembered of it. *key* is our number of it.

    It *lacks_history* when it is mirrored in full and not all of its messages are covered yet. Where it does not
    *keep_archives*, files are kept with their messages alone. A *private_chat* is one of the account that reads it.
    """

    key: ChannelKey
    channel: ChannelId
    title: str
    topic: TopicId
    forum: bool
    protected: bool
    by_topic: bool
    turn_offset: int
    lacks_history: bool
    memory: ScanMemory
    keep_archives: bool = True
    private_chat: bool = False
    avatar: FileId | None = None

    @property
    def number(self) -> ChannelId:
        """The platform's number of the channel."""
        return self.channel

    def trouble(self, problem: object) -> str:
        """A problem in reports that everybody may read who reads all channels: it names no private chat."""
        return CHAT_TROUBLE if self.private_chat else f"{self.title}: {problem}"

    @property
    def is_channel(self) -> bool:
        return self.topic == NO_TOPIC

    def is_described_differently(self, described: Channel | None) -> bool:
        """Whether the platform describes the channel differently from what is stored."""
        if described is None:
            return False
        shows_another = described.avatar is not None and described.avatar.file != self.avatar
        stored = (self.title, self.forum, self.protected)
        return shows_another or (described.title, described.forum, described.protected) != stored


@dataclass(frozen=True, slots=True)
class AccountMemory:
    """All an account's cycle starts from, as of one time of the database; *cycle* is the last full one.

    *wanted* are topics that are read whatever the gate says and are not among the *places*. They come with their
    verdicts, by the key of their channel and by topic.
    """

    now: datetime
    cycle: CycleNumber
    places: list[ScanPlace]
    failed: list[Failed]
    wanted: Mapping[ChannelKey, Mapping[TopicId, Verdict]] = field(default_factory=dict)


_LOAD = f"""
    SELECT c.id AS key, c.number AS channel, c.title, p.topic, c.avatar, c.forum, c.protected, c.by_topic,
        p.turn_offset,
        {_MEMORY}, c.state <> 'unreadable' AS readable, clock_now() AS now,
        c.private_to IS NOT NULL AS private_chat, c.private_to IS NULL AS keep_archives,
        c.in_full AND p.topic = 0 AND NOT c.by_topic AND NOT EXISTS (
            SELECT FROM coverage h
            WHERE h.channel = c.id AND h.topic = 0 AND h.kind = 'messages'
              AND h.spans @> int8range(0, p.newest_seen, '[]')
        ) AS lacks_history
    FROM channels c JOIN places p ON p.channel = c.id
    WHERE c.reader = $1 AND c.enabled AND ($2::bigint[] IS NULL OR c.number = ANY($2))
      AND (p.topic = 0 OR (p.selected AND c.by_topic AND p.gone_at IS NULL))
"""
_SOME = f"""
    {_LOAD} AND p.topic = 0
    UNION ALL
    {_LOAD} AND (p.channel, p.topic) IN (SELECT * FROM unnest($3::bigint[], $4::bigint[]))
"""
_IN_ORDER = "ORDER BY key, topic"


async def start(connection: Connection, account: AccountId) -> tuple[datetime, CycleNumber]:
    """The time from which a cycle counts, and the number of the last full one."""
    row = await connection.fetchrow("SELECT clock_now() AS now, cycle FROM accounts WHERE id = $1", account)
    assert row is not None
    return row["now"], row["cycle"]


async def load(
    connection: Connection, account: AccountId, policy: RetryPolicy, *, only: Collection[ChannelId] | None = None
) -> AccountMemory:
    """What is stored of every enabled channel and selected topic that *account* reads, or *only* of some channels.

    For a whole account ``due_topics.load_awake`` leaves out the topics that need no scan.
    """
    now, cycle = await start(connection, account)
    failed = await failures.of_reader(connection, account, only=only)
    found = await connection.fetch(f"{_LOAD} {_IN_ORDER}", account, None if only is None else list(only))
    return AccountMemory(now, cycle, _with_failures(found, failed, policy, now), failed)


async def load_private_chats(connection: Connection, account: AccountId) -> list[ScanPlace]:
    """The private chats of *account* that are mirrored and can be read."""
    found = await connection.fetch(
        f"{_LOAD} AND c.private_to = $1 AND c.state <> 'unreadable' {_IN_ORDER}", account, None
    )
    return [from_row(ScanPlace, one, memory=memory_of(one)) for one in found]


async def load_some(
    connection: Connection,
    account: AccountId,
    topics: Collection[tuple[ChannelKey, TopicId]],
    *,
    failed: list[Failed],
    policy: RetryPolicy,
    now: datetime,
    only: Collection[ChannelId] | None = None,
) -> list[ScanPlace]:
    """The enabled channels that *account* reads, and of their topics those given by channel key and topic."""
    found = await connection.fetch(
        f"{_SOME} {_IN_ORDER}",
        account, None if only is None else list(only), [key for key, _ in topics], [topic for _, topic in topics],
    )  # fmt: skip
    return _with_failures(found, failed, policy, now)


def _with_failures(
    found: Iterable[asyncpg.Record], failed: list[Failed], policy: RetryPolicy, now: datetime
) -> list[ScanPlace]:
    due, awake = count_failures(failed, policy, now)

    def counted(place: ScanPlace) -> ScanPlace:
        at = (place.key, place.topic)
        return replace(place, memory=replace(place.memory, failures_to_retry=due[at], failures_pending=awake[at]))

    return [counted(from_row(ScanPlace, one, memory=memory_of(one))) for one in found]


async def pending(
    connection: Connection, account: AccountId, policy: RetryPolicy, now: datetime
) -> Counter[tuple[ChannelKey, TopicId]]:
    """How many failures of each place may still succeed by themselves, by channel key and topic."""
    return count_failures(await failures.of_reader(connection, account), policy, now)[1]


async def lock(connection: Connection, at: Collection[tuple[ChannelKey, TopicId]]) -> None:
    """Lock places, by channel key and topic, from the count of their failures until the result is stored."""
    await connection.execute(
        """
        SELECT FROM places WHERE (channel, topic) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))
        ORDER BY channel, topic FOR UPDATE
        """,
        [key for key, _ in at], [topic for _, topic in at],
    )  # fmt: skip


async def remember(
    connection: Connection, memories: Mapping[tuple[ChannelKey, TopicId], tuple[ScanMemory, Verdict | None]]
) -> None:
    """Store memory and verdict of places, by channel key and topic; watermark and counter never move back.

    Push updates may have moved them while a scan ran. A person may have asked once more; that request, which the scan
    did not know, stays. So does a counter that was dropped meanwhile: what the scan knows of changes is too old then.
    """
    rows = [(key, topic, memory, verdict) for (key, topic), (memory, verdict) in memories.items()]
    columns: list[list[Any]] = [
        [key for key, _, _, _ in rows],
        [topic for _, topic, _, _ in rows],
        *([getattr(memory, name.strip()) for _, _, memory, _ in rows] for name in _MEMORY.split(",")),
        [verdict.value if verdict else None for _, _, _, verdict in rows],
    ]
    dropped = "p.changes IS NULL AND p.asks > t.asks"
    await connection.execute(
        f"""
        UPDATE places p
        SET last_scanned_at = t.scanned, last_scan_found_archives = t.found, consecutive_empty_scans = t.empty,
            watermark = greatest(p.watermark, t.watermark), newest_seen = greatest(p.newest_seen, t.newest),
            changes = CASE WHEN {dropped} THEN NULL ELSE greatest(p.changes, t.changes) END,
            asked = t.asked OR p.asks > t.asks,
            unread_since = CASE WHEN {dropped} OR t.unread_upto IS NOT DISTINCT FROM p.unread_upto
                                THEN p.unread_since ELSE t.unread_since END,
            unread_upto = CASE WHEN {dropped} THEN p.unread_upto ELSE t.unread_upto END,
            unread_below = CASE WHEN t.unread_upto IS NOT DISTINCT FROM p.unread_upto THEN p.unread_below END,
            verdict = coalesce(t.verdict, p.verdict)
        FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::boolean[], $5::integer[], $6::bigint[],
                    $7::bigint[], $8::bigint[], $9::boolean[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
            AS t (channel, topic, scanned, found, empty, watermark, newest, changes, asked, asks, unread_since,
                  unread_upto, verdict)
        WHERE p.channel = t.channel AND p.topic = t.topic
        """,
        *columns,
    )


async def note_verdicts(connection: Connection, verdicts: Mapping[tuple[ChannelKey, TopicId], Verdict]) -> None:
    """Store the verdicts of places that were not read; their memory stays."""
    await connection.execute(
        """
        UPDATE places p SET verdict = t.verdict
        FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS t (channel, topic, verdict)
        WHERE p.channel = t.channel AND p.topic = t.topic AND p.verdict IS DISTINCT FROM t.verdict
        """,
        [key for key, _ in verdicts], [topic for _, topic in verdicts], [one.value for one in verdicts.values()],
    )  # fmt: skip


# What the counter moved past


async def next_unread(connection: Connection, place: ScanPlace, *, most: int) -> list[MessageId] | None:
    """Up to *most* stored messages of a channel, the newest first, that are still to be reconciled.

    None where the counter moved past something else since *place* was loaded: reconciling starts over, another time.
    """
    upto = await connection.fetchval("SELECT unread_upto FROM places WHERE channel = $1 AND topic = 0", place.key)
    if upto != place.memory.unread_upto:
        return None
    rows = await connection.fetch(
        """
        SELECT m.id FROM messages m JOIN places p ON p.channel = m.channel AND p.topic = 0
        WHERE m.channel = $1 AND m.deleted_at IS NULL AND (p.unread_below IS NULL OR m.id < p.unread_below)
        ORDER BY m.id DESC LIMIT $2
        """,
        place.key, most,
    )  # fmt: skip
    return [MessageId(row["id"]) for row in rows]


async def note_reconciled(connection: Connection, place: ScanPlace, below: int | None) -> None:
    """All stored messages from *below* on were reconciled; None says that all were, and nothing is unread any more.

    Nothing changes where the counter moved past something else meanwhile.
    """
    await connection.execute(
        """
        UPDATE places
        SET unread_below = $3::bigint,
            unread_since = CASE WHEN $3::bigint IS NULL THEN NULL ELSE unread_since END,
            unread_upto = CASE WHEN $3::bigint IS NULL THEN NULL ELSE unread_upto END
        WHERE channel = $1 AND topic = 0 AND unread_upto = $2
        """,
        place.key, place.memory.unread_upto, below,
    )  # fmt: skip


async def ask(connection: Connection, key: ChannelKey) -> None:
    """The operator wants this channel read whatever its memory says."""
    await connection.execute(
        "UPDATE places SET asked = true, asks = asks + 1 WHERE channel = $1 AND (topic = 0 OR selected)", key
    )


async def shown(connection: Connection, key: ChannelKey, *, most: int | None = None) -> list[asyncpg.Record]:
    """A channel's places for ``tidegate channel show``, the channel itself first: all, or *most*."""
    rows: list[asyncpg.Record] = await connection.fetch(
        f"SELECT topic, title, selected, gone_at, turn_offset, verdict, {_MEMORY} "
        "FROM places WHERE channel = $1 ORDER BY topic LIMIT $2",
        key, most,
    )  # fmt: skip
    return rows


async def newest_seen(connection: Connection, key: ChannelKey) -> int:
    """The newest message of any kind that was seen in a channel."""
    newest: int | None = await connection.fetchval(
        "SELECT newest_seen FROM places WHERE channel = $1 AND topic = 0", key
    )
    return newest or 0


def memory_of(row: asyncpg.Record) -> ScanMemory:
    """The memory in a row of ``shown``."""
    return from_row(ScanMemory, row)
