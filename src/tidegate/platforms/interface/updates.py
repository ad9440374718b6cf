"""Changes in channels: answers to a request for them, and push updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tidegate.core.ids import ChannelId, MessageId
from tidegate.core.message_content import NO_COUNTS, MessageContent, MessageCounts, MessageKind
from tidegate.platforms.interface.values import File, FileRole, Head, Message, Reaction


@dataclass(frozen=True, slots=True)
class Patch:
    """A part of a message that changed; None for a field that is not mentioned, so that the stored value stays.

    Without *edited_at* it is not an edit: the platform only filled in a preview. Such a patch has no text and makes no
    revision. One with an older *edited_at* than the stored one is late and changes nothing. *raw* is merged into the
    stored one, key by key: null removes a key. *further_files* take the place of those in the same places. *read* tells
    kind and content by the merged result. *whole* is the current message where the platform sent all of it; of a stored
    message it keeps the reactions where the patch has none. *marks* are those that were set (true) or removed.
    """

    id: MessageId
    edited_at: datetime | None = None
    text: str | None = None
    files: Sequence[File] | None = None
    further_files: Mapping[FileRole, Sequence[File]] = field(default_factory=dict)
    reactions: Sequence[Reaction] | None = None
    raw: Mapping[str, Any] | None = None
    read: Callable[[Mapping[str, Any]], tuple[MessageKind, MessageContent]] | None = None
    whole: Message | None = None
    marks: Mapping[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class Previewed:
    """The preview of a link was made after its message was posted. *shown* gives the message as it is shown now.

    The platform does not name the message. It is the one whose content has *awaited* as its awaited preview.
    """

    awaited: str
    shown: Callable[[Message], Message]


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction was added, taken back or cleared."""

    message: MessageId
    emoji: str | None  # None: all were cleared
    change: int  # 1 added, -1 taken back, 0 cleared
    picture: File | None = None  # of a custom emoji


@dataclass(frozen=True, slots=True)
class Voted:
    """A vote for an answer of a poll was given or taken back."""

    message: MessageId
    answer: str  # its key
    change: int  # 1 given, -1 taken back


@dataclass(frozen=True, slots=True)
class Recounted:
    """The current numbers of a message, which move no change counter; None for what is not mentioned."""

    message: MessageId
    reactions: Sequence[Reaction] | None = None
    pictures: Sequence[File] = ()  # of the reactions that are custom emoji
    counts: MessageCounts = NO_COUNTS


@dataclass(frozen=True, slots=True)
class ChannelUpdates:
    """The changes in a channel, up to the value *upto* of its change counter.

    *steps* is the distance from the previous value, where the platform reports it. The sequence is unbroken only when
    ``upto - steps`` is the value known so far. A difference can have fewer steps than its counter advanced. Then a
    message was posted and deleted in between, which is not reported, or an update was lost. Apply in this order:
    posted, edited, patched, previewed, reacted, voted, recounted, deleted.
    """

    upto: int | None
    steps: int | None = None
    posted: Sequence[Message] = ()
    edited: Sequence[Message] = ()
    deleted: Sequence[MessageId] = ()
    patched: Sequence[Patch] = ()
    previewed: Sequence[Previewed] = ()
    reacted: Sequence[Reacted] = ()
    voted: Sequence[Voted] = ()
    recounted: Sequence[Recounted] = ()

    @property
    def brings_nothing(self) -> bool:
        """Whether only the change counter moved."""
        messages = self.posted or self.edited or self.deleted or self.patched or self.previewed
        return not (messages or self.reacted or self.voted or self.recounted)


@dataclass(frozen=True, slots=True)
class Difference:
    """All that changed since a counter value, or the next part of it."""

    updates: ChannelUpdates
    final: bool  # otherwise there is more


@dataclass(frozen=True, slots=True)
class TooLong:
    """The platform no longer lists each change, so the channel has to be read."""

    head: Head  # the current one


@dataclass(frozen=True, slots=True)
class BoxState:
    """The counters of an account's message box, which its private chats share."""

    changes: int  # of those chats
    events: int  # of kinds that are not mirrored; the platform wants the counter back
    at: datetime


@dataclass(frozen=True, slots=True)
class BoxUpdates:
    """The changes in an account's message box, up to the value *upto* of its counter, by *steps*.

    The updates of each chat have no counter of their own. A deletion and a late preview name no chat: *deleted* and
    *previewed* are of any.
    """

    upto: int
    steps: int
    chats: Mapping[ChannelId, ChannelUpdates] = field(default_factory=dict)
    deleted: Sequence[MessageId] = ()
    previewed: Sequence[Previewed] = ()


@dataclass(frozen=True, slots=True)
class BoxDifference:
    """All that changed in a box since a state, or the next part of it."""

    updates: BoxUpdates
    state: BoxState  # up to which these changes lead
    final: bool  # otherwise there is more


@dataclass(frozen=True, slots=True)
class BoxTooLong:
    """The platform no longer lists each change, so every chat has to be read."""

    state: BoxState  # changes after this one are listed again


class UpdateStream(StrEnum):
    """The state of a stream of updates that covers all channels, where a platform has one."""

    PAUSED = "paused"  # the connection is lost, and it is not known yet whether updates are
    RESUMED = "resumed"  # all missed updates arrived, in order, before this hint
    BROKEN = "broken"  # they did not arrive, so live coverage ends for every channel
    BEGAN = "began"  # every message above the heads in the hint will arrive; those below are the gap


@dataclass(frozen=True, slots=True)
class UpdateHint:
    """The platform reports that something changed. Hints can be lost, so only the gate's answer is proof.

    Without a *channel* anything may have changed, because hints may have been missed. The exceptions are hints about
    the *stream*, hints with updates of the account's *box*, and hints with *heads*: the current heads of channels that
    are new, changed or sent again. *gone* means that the channel was deleted, or that the account can no longer see it.
    """

    channel: ChannelId | None
    updates: ChannelUpdates | None = None
    heads: Mapping[ChannelId, Head] | None = None
    gone: bool = False
    stream: UpdateStream | None = None
    box: BoxUpdates | None = None
