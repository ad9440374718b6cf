"""Files of messages that are kept. The subject is the account, but for the kinds that name another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelId, FileId, MessageId
from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaKept(EventData):
    """Files were fetched and are kept; at most every ten seconds, with all since the last one."""

    kind = "media.kept"
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFailed(EventData):
    """A file was given up until the operator asks for it again."""

    kind = "media.failed"
    file: FileId
    channel: ChannelId
    message: MessageId
    sentence: str
    attempts: int
    next_try_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPaused(EventData):
    """No files are fetched for now. The subject is the disk, the store or the limit that they wait for."""

    kind = "media.paused"
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaResumed(EventData):
    """Files are fetched again. The subject is what they waited for."""

    kind = "media.resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRemoved(EventData):
    """The operator removed files from the store. The subject is the SHA-256 of their content, or their channel.

    *channel* is the platform's number of that channel.
    """

    kind = "media.removed"
    files: int
    blocked: bool
    channel: ChannelId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPolicyChanged(EventData):
    """The operator changed which files are kept. The subject is the channel or account, or ``all``.

    *channel* is the platform's number of that channel.
    """

    kind = "media.policy_changed"
    enabled: bool
    channel: ChannelId | None = None
