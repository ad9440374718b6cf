"""Channels as JSON documents, for ``tidegate channel`` and the API: settings, scan memory, coverage and topics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import asyncpg

from tidegate.archives.queries import archive_sets
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels, message_counts
from tidegate.channels.queries.channel_list import ChannelWithMemory
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelId, GuildId, Span, TopicId
from tidegate.core.json_fields import Instant, document_of, instant
from tidegate.database.pool import Connection
from tidegate.history.queries import coverage, messages, partial_messages, verification
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.scans.queries import due_work, scan_memory
from tidegate.scans.rules.scan_decision import ScanPolicy


@dataclass(frozen=True, kw_only=True)
class ChannelFields:
    """A channel: who reads it, whether and how it is mirrored, and its state.

    *guild* is the number of the Discord server it is in, *server* the server's name. A thread belongs to *parent*.
    """

    channel: ChannelId
    title: str
    platform: str
    reader: str | None
    enabled: bool
    state: str
    kind: str
    private_to: str | None
    moved_to: ChannelId | None
    guild: GuildId | None
    server: str
    parent: ChannelId | None
    parent_title: str
    remark: str
    parked_until: Instant | None
    forum: bool
    full: bool
    hash: bool
    protected: bool


@dataclass(frozen=True, kw_only=True)
class ChannelRow(ChannelFields):
    """A channel in a list; *topics* is ``selected`` where topics are followed on their own, else ``all``."""

    topics: str


@dataclass(frozen=True, kw_only=True)
class MemoryFields:
    """What is remembered of a channel or topic between cycles; null where it was never mirrored."""

    watermark: int | None
    last_scanned_at: Instant | None
    last_scan_found_archives: bool | None
    consecutive_empty_scans: int | None
    verdict: str | None


@dataclass(frozen=True, kw_only=True)
class ChannelListed(MemoryFields, ChannelRow):
    """A channel with its memory and when it is looked at next; null for one that is not mirrored."""

    next_due_at: Instant | None


@dataclass(frozen=True, kw_only=True)
class TopicRow(MemoryFields):
    """A topic of a forum; *selected* when it is followed on its own."""

    topic: TopicId
    title: str
    selected: bool
    gone: bool
    newest_seen: int


@dataclass(frozen=True, kw_only=True)
class EarlierChannelName:
    """What a channel was called until *last_seen*, and how it described itself."""

    title: str
    description: str
    last_seen: Instant


@dataclass(frozen=True, kw_only=True)
class ChannelShown(MemoryFields, ChannelFields):
    """A channel with all that is known of it. Coverage and gaps are stretches, both ends included, by their kind.

    Of very many the newest are listed; *coverage_count* and *gap_count* say how many there are.
    *unread_changes* are two values of Telegram's counter between which edits and deletions may be unknown.
    All that was stored at *verified_until* has been compared with the platform since. *verification_ends_at* is when
    the round that is running will have ended.
    *partial_messages* is how many messages were stored by an earlier version and are still to be completed.
    """

    next_due_at: Instant | None
    messages: int
    archives: int
    coverage: dict[str, list[list[int]]]
    gaps: dict[str, list[list[int]]]
    coverage_count: dict[str, int]
    gap_count: dict[str, int]
    unread_changes: list[int] | None
    suspicion: str
    verified_until: Instant | None
    verification_ends_at: Instant | None
    description: str
    earlier_names: list[EarlierChannelName]
    partial_messages: int
    topics: list[TopicRow]


def channel_row(kept: KnownChannel) -> ChannelRow:
    """A channel as a row of a list."""
    return document_of(
        ChannelRow,
        kept,
        channel=kept.number,
        platform=kept.platform.name,
        reader=kept.reader_name,
        state="unreadable" if kept.enabled and not kept.seen_by else kept.state,
        private_to=kept.private_to_name if kept.is_private_chat else None,
        parked_until=instant(kept.parked_until),
        topics="selected" if kept.by_topic else "all",
        full=kept.in_full,
        hash=kept.hashed,
    )


async def channels_listed(
    connection: Connection, lines: Sequence[ChannelWithMemory], scans: ScanPolicy, retries: RetryPolicy
) -> list[ChannelListed]:
    """Channels of a page with their memory, and when each is due, in one question for all of them."""
    due = [(one.kept.reader, one.memory) for one in lines if one.kept.enabled and one.memory is not None]
    instants = iter(await due_work.next_dues(connection, due, scans, retries.cycle_interval))
    return [
        ChannelListed(
            **asdict(channel_row(one.kept)),
            **_memory(one.memory),
            next_due_at=instant(next(instants)) if one.kept.enabled and one.memory is not None else None,
        )
        for one in lines
    ]


async def channel_shown(
    connection: Connection,
    kept: KnownChannel,
    scans: ScanPolicy,
    retries: RetryPolicy,
    *,
    most_topics: int | None = None,
    most_spans: int | None = None,
) -> ChannelShown:
    """One channel: memory, coverage, gaps, last verdict, topics.

    Of the topics the first *most_topics*, of the stretches that are covered or missing the newest *most_spans*.
    """
    rows = await scan_memory.shown(connection, kept.key, most=None if most_topics is None else 1 + most_topics)
    whole = next((row for row in rows if row["topic"] == 0), None)
    covered = await coverage.load(connection, kept.key)
    [listed] = await channels_listed(connection, [ChannelWithMemory(kept, whole)], scans, retries)
    current = await verification.load(connection, kept.key)
    return ChannelShown(
        **asdict(listed)
        | {
            "messages": await messages.count(connection, kept.key),
            "archives": await archive_sets.count(connection, kept.key),
            **await asyncio.to_thread(_stretches, covered, whole["newest_seen"] if whole else 0, most_spans),
            "unread_changes": _unread(whole),
            "verified_until": instant(current.verified_until) if current else None,
            "verification_ends_at": instant(current.ends_at) if current else None,
            "suspicion": await message_counts.suspicion(connection, kept.key),
            "description": kept.description,
            "earlier_names": [
                EarlierChannelName(title=one.title, description=one.description, last_seen=one.last_seen.isoformat())
                for one in await channels.earlier_names(connection, kept.key)
            ],
            "partial_messages": await partial_messages.count(connection, kept.key),
            "topics": [topic_row(row) for row in rows if row["topic"] != 0],
        }
    )


def topic_row(row: asyncpg.Record) -> TopicRow:
    """A topic as it is stored."""
    return TopicRow(
        topic=row["topic"],
        title=row["title"],
        selected=row["selected"],
        gone=row["gone_at"] is not None,
        newest_seen=row["newest_seen"],
        **_memory(row),
    )


def _memory(row: asyncpg.Record | None) -> dict[str, Any]:
    names = ["watermark", "last_scanned_at", "last_scan_found_archives", "consecutive_empty_scans", "verdict"]
    found = {name: row[name] if row else None for name in names}
    return {**found, "last_scanned_at": instant(found["last_scanned_at"])}


def _stretches(covered: dict[Content, Coverage], head: int, most: int | None) -> dict[str, Any]:
    """What is covered, and what is missing up to *head*, the newest message seen: nothing where none was seen yet."""
    gaps = {kind: known.gaps(head=head) if head else [] for kind, known in covered.items()}
    return {
        "coverage": {kind.value: _spans(known.spans, most) for kind, known in covered.items()},
        "gaps": {kind.value: _spans(holes, most) for kind, holes in gaps.items()},
        "coverage_count": {kind.value: len(known.spans) for kind, known in covered.items()},
        "gap_count": {kind.value: len(holes) for kind, holes in gaps.items()},
    }


def _unread(row: asyncpg.Record | None) -> list[int] | None:
    return None if row is None or row["unread_upto"] is None else [row["unread_since"], row["unread_upto"]]


def _spans(spans: Sequence[Span], most: int | None) -> list[list[int]]:
    return [[low, high] for low, high in spans[-most if most else None :]]
