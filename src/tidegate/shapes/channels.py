"""Channels as ``tidegate channel`` and the API tell them: what is mirrored, what is remembered, what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import asyncpg

from tidegate.habits import habits_of
from tidegate.rules.history import Content, Coverage, Span
from tidegate.settings import Settings
from tidegate.shapes.instants import Instant, instant
from tidegate.store import agenda, archives, coverage, messages, places
from tidegate.store.channel_list import Line
from tidegate.store.channels import Kept
from tidegate.store.database import Connection


@dataclass(frozen=True, kw_only=True)
class ChannelRow:
    """A channel: who reads it, whether and how it is mirrored, and its state."""

    channel: int
    title: str
    platform: str
    reader: str | None
    enabled: bool
    state: str
    kind: str
    parent: int | None
    remark: str
    forum: bool
    topics: str
    full: bool
    hash: bool
    protected: bool


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What is remembered of a channel or topic between cycles; null where it was never mirrored."""

    watermark: int | None
    last_scanned_at: Instant | None
    last_scan_found_archives: bool | None
    consecutive_empty_scans: int | None
    verdict: str | None


@dataclass(frozen=True, kw_only=True)
class ChannelListed(Memory, ChannelRow):
    """A channel with its memory and when it is looked at next; null for one that is not mirrored."""

    next_due_at: Instant | None


@dataclass(frozen=True, kw_only=True)
class TopicRow(Memory):
    """A topic of a forum; *selected* when it is followed on its own."""

    topic: int
    title: str
    selected: bool
    gone: bool
    newest_seen: int


@dataclass(frozen=True, kw_only=True)
class ChannelShown(Memory):
    """A channel with all that is known of it. Coverage and gaps are stretches, both ends included, by their kind."""

    channel: int
    title: str
    platform: str
    reader: str | None
    enabled: bool
    state: str
    kind: str
    parent: int | None
    remark: str
    forum: bool
    full: bool
    hash: bool
    protected: bool
    next_due_at: Instant | None
    messages: int
    archives: int
    coverage: dict[str, list[list[int]]]
    gaps: dict[str, list[list[int]]]
    topics: list[TopicRow]


def channel_row(kept: Kept) -> ChannelRow:
    """A channel as a row of a list."""
    return ChannelRow(
        channel=kept.number,
        title=kept.title,
        platform=kept.platform.value,
        reader=kept.reader_name,
        enabled=kept.enabled,
        state="unreadable" if kept.enabled and not kept.seen_by else kept.state,
        kind=kept.kind,
        parent=kept.parent,
        remark=kept.remark,
        forum=kept.forum,
        topics="selected" if kept.by_topic else "all",
        full=kept.in_full,
        hash=kept.hashed,
        protected=kept.protected,
    )


async def channels_listed(connection: Connection, lines: Sequence[Line], settings: Settings) -> list[ChannelListed]:
    """Channels of a page with their memory, and when each is due, in one question for all of them."""
    habits = habits_of(settings)
    due = [(one.kept.reader, one.whole) for one in lines if one.kept.enabled and one.whole is not None]
    instants = iter(await agenda.next_dues(connection, due, habits.scans, habits.retries.cycle_interval))
    return [
        ChannelListed(
            **asdict(channel_row(one.kept)),
            **_memory(one.whole),
            next_due_at=instant(next(instants)) if one.kept.enabled and one.whole is not None else None,
        )
        for one in lines
    ]


async def channel_shown(connection: Connection, kept: Kept, settings: Settings) -> ChannelShown:
    """One channel: memory, coverage, gaps, last verdict, topics."""
    rows = await places.shown(connection, kept.key)
    whole = next((row for row in rows if row["topic"] == 0), None)
    covered = await coverage.load(connection, kept.key)
    [listed] = await channels_listed(connection, [Line(kept, whole)], settings)
    return ChannelShown(
        **asdict(listed)
        | {
            "messages": await messages.count(connection, kept.key),
            "archives": await archives.count(connection, kept.key),
            "coverage": {kind.value: _spans(known.spans) for kind, known in covered.items()},
            "gaps": _gaps(covered, whole["newest_seen"] if whole else 0),
            "topics": [topic_row(row) for row in rows if row["topic"] != 0],
        }
    )


def topic_row(row: asyncpg.Record) -> TopicRow:
    """A topic as it stands in the store."""
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


def _gaps(covered: dict[Content, Coverage], head: int) -> dict[str, list[list[int]]]:
    """What is missing up to *head*, the newest message seen; nothing is where none was seen yet."""
    return {kind.value: _spans(known.gaps(head=head) if head else ()) for kind, known in covered.items()}


def _spans(spans: Sequence[Span]) -> list[list[int]]:
    return [[low, high] for low, high in spans]
