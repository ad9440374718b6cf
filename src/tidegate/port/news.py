"""What a platform tells of changes: when asked what became of a channel, or by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.port.values import ChannelId, File, Head, Message, MessageId, Reaction


@dataclass(frozen=True, slots=True)
class Patch:
    """A part of a message that changed; None where nothing is said, so that what is stored stays.

    Without *edited_at* nobody edited anything: the platform only filled in a preview. Such a patch has no text and
    makes no revision. One with an older *edited_at* than the stored is late and changes nothing. *extra* is laid over
    the stored one, key by key: null takes a key away. *whole* is the message as it is now where the platform sent all
    of it, for whoever never stored it.
    """

    id: MessageId
    edited_at: datetime | None = None
    text: str | None = None
    files: Sequence[File] | None = None
    reactions: Sequence[Reaction] | None = None
    extra: str | None = None
    whole: Message | None = None


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction was added (*change* 1), taken back (-1) or cleared (0); without an *emoji* all were cleared."""

    message: MessageId
    emoji: str | None
    change: int


@dataclass(frozen=True, slots=True)
class News:
    """What became of a channel, up to the value *upto* of its counter of changes.

    *steps* is how far that lies ahead of the value before, where the platform says so: the sequence is unbroken
    only when ``upto - steps`` is the value known so far. To be applied in the order posted, edited, patched, reacted,
    deleted.
    """

    upto: int | None
    steps: int | None = None
    posted: Sequence[Message] = ()
    edited: Sequence[Message] = ()
    deleted: Sequence[MessageId] = ()
    patched: Sequence[Patch] = ()
    reacted: Sequence[Reacted] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """All that changed since a counter value, or the next part of it: there is more unless *final*."""

    news: News
    final: bool


@dataclass(frozen=True, slots=True)
class TooLong:
    """The platform no longer tells each change: what lies between is unknown and has to be read. *head* is now."""

    head: Head


class Stream(StrEnum):
    """What became of a stream of news that numbers all channels' news together, where a platform has one.

    PAUSED: the connection is lost, and nobody knows yet whether news are. RESUMED: they came after all, in order,
    before this hint. BROKEN: they did not, so what is live ends for every channel. BEGAN: from the heads that come
    with the hint on, every message will be told; what lies between the last stored message and that head is the gap.
    """

    PAUSED = "paused"
    RESUMED = "resumed"
    BROKEN = "broken"
    BEGAN = "began"


@dataclass(frozen=True, slots=True)
class Hint:
    """Something changed, the platform says. Hints get lost, so the gate is the truth.

    Without a *channel* anything may have changed, because hints may have been missed, unless it tells of the *stream*
    or of *heads*: channels that are new, changed or told of again, as they stand now. *gone* says that the channel
    was deleted, or that the account lost sight of it.
    """

    channel: ChannelId | None
    news: News | None = None
    heads: Mapping[ChannelId, Head] | None = None
    gone: bool = False
    stream: Stream | None = None
