"""Channels. The subject is the channel's title; *channel* is its id on the platform."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelId, ChannelKey, TopicId
from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelEvent(EventData):
    """Something happened to one channel."""

    channel: ChannelId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelEnabled(ChannelEvent):
    """A channel is mirrored from now on; of a forum only *topics*, where there are any."""

    kind = "channel.enabled"
    topics: list[TopicId]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelDisabled(ChannelEvent):
    """A channel is no longer mirrored; what is stored stays."""

    kind = "channel.disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRead(ChannelEvent):
    """Messages of a channel were stored; *live* when they came as push updates.

    *channel_key* is our own number of the channel: two platforms may use the same id.
    """

    kind = "channel.read"
    topic: TopicId | None
    messages: int
    archives: int
    live: bool = False
    channel_key: ChannelKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCountDiffers(ChannelEvent):
    """The platform counts another number of messages than are stored.

    *counter* is what it counts: ``messages`` or ``documents``.
    """

    kind = "channel.count_differs"
    topic: TopicId | None
    counter: str
    counted: int
    stored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelParked(ChannelEvent):
    """The platform rate limited a channel for long; other channels continue."""

    kind = "channel.parked"
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLost(ChannelEvent):
    """An account can no longer see a channel; *another_reader* when another account reads it on."""

    kind = "channel.lost"
    another_reader: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHistoryClosed(ChannelEvent):
    """The account may no longer read a channel's history."""

    kind = "channel.history_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFoundDeleted(ChannelEvent):
    """A channel was deleted on the platform; what is stored stays."""

    kind = "channel.deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMoved(ChannelEvent):
    """A small group became a large one, which is another channel; what is stored stays."""

    kind = "channel.moved"
    moved_to: ChannelId
