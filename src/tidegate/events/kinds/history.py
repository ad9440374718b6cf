"""Histories. The subject is the channel's title; *channel* is its id on the platform, *channel_key* ours."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import ChannelId, ChannelKey
from tidegate.events.event_data import EventData, event_kind


@event_kind("backfill.progressed")
class BackfillProgressed(EventData):
    """A page of a history was stored.

    *upto* is the oldest message id it covers. *depth* counts the messages of the history, *target* those wanted.
    """

    channel: ChannelId
    messages: int
    archives: int
    deleted: int
    upto: int | None
    depth: int
    target: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWorkEnded(EventData):
    """Work on the history of one channel has ended; *waits_for* is in seconds."""

    channel: ChannelId
    title: str
    calls: int
    error: str | None
    waits_for: int | None
    channel_key: ChannelKey | None = None


@event_kind("backfill.ended")
class BackfillEnded(HistoryWorkEnded):
    """The backfill of a channel has ended; ``tidegate backfill --json`` has the same fields."""

    fetched: int
    stored: int
    coverage: list[list[int]]
    gaps: list[list[int]]
    reached_start: bool


@event_kind("reconcile.ended")
class ReconcileEnded(HistoryWorkEnded):
    """A channel was compared with the platform; ``tidegate reconcile --json`` has the same fields."""

    checked: int
    edited: int
    deleted: int
    added: int
