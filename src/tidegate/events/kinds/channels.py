"""Channels. The subject is the channel's title; *channel* is its id on the platform."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelId, ChannelKey, TopicId
from tidegate.events.event_data import EventData, event_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelEvent(EventData):
    """Something happened to one channel."""

    channel: ChannelId


@event_kind("channel.enabled")
class ChannelEnabled(ChannelEvent):
    """A channel is mirrored from now on; of a forum only *topics*, where there are any."""

    topics: list[TopicId]


@event_kind("channel.disabled")
class ChannelDisabled(ChannelEvent):
    """A channel is no longer mirrored; what is stored stays."""


@event_kind("channel.read")
class ChannelRead(ChannelEvent):
    """Messages of a channel were stored; *live* when they came as push updates.

    *channel_key* is our own number of the channel: two platforms may use the same id.
    """

    topic: TopicId | None
    messages: int
    archives: int
    live: bool = False
    channel_key: ChannelKey | None = None


@event_kind("channel.count_differs")
class ChannelCountDiffers(ChannelEvent):
    """The platform counts another number of messages than are stored.

    *counter* is what it counts: ``messages`` or ``documents``.
    """

    topic: TopicId | None
    counter: str
    counted: int
    stored: int


@event_kind("channel.parked")
class ChannelParked(ChannelEvent):
    """The platform rate limited a channel for long; other channels continue."""

    until: datetime


@event_kind("channel.lost")
class ChannelLost(ChannelEvent):
    """An account can no longer see a channel; *another_reader* when another account reads it on."""

    another_reader: bool


@event_kind("channel.history_closed")
class ChannelHistoryClosed(ChannelEvent):
    """The account may no longer read a channel's history."""


@event_kind("channel.deleted")
class ChannelFoundDeleted(ChannelEvent):
    """A channel was deleted on the platform; what is stored stays."""


@event_kind("channel.moved")
class ChannelMoved(ChannelEvent):
    """A small group became a large one, which is another channel; what is stored stays."""

    moved_to: ChannelId
