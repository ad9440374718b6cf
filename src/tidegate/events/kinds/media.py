"""Files of messages that are kept. The subject is the account, except for kinds that name another."""

from __future__ import annotations

from datetime import datetime

from tidegate.core.ids import ChannelId, FileId, MessageId
from tidegate.events.event_data import EventData, event_kind


@event_kind("media.kept")
class MediaKept(EventData):
    """Files were fetched and are kept; at most every ten seconds, with all since the last one."""

    files: int
    bytes: int


@event_kind("media.failed")
class MediaFailed(EventData):
    """A file was given up until the operator asks for it again."""

    file: FileId
    channel: ChannelId
    message: MessageId
    sentence: str
    attempts: int
    next_try_at: datetime | None


@event_kind("media.paused")
class MediaPaused(EventData):
    """No files are fetched for now. The subject is the disk, the store or the limit that they wait for."""

    sentence: str


@event_kind("media.resumed")
class MediaResumed(EventData):
    """Files are fetched again. The subject is what they waited for."""


@event_kind("media.removed")
class MediaRemoved(EventData):
    """The operator removed files from the store. The subject is the SHA-256 of their content, or their channel.

    *channel* is the platform's number of that channel.
    """

    files: int
    blocked: bool
    channel: ChannelId | None = None


@event_kind("media.policy_changed")
class MediaPolicyChanged(EventData):
    """The operator changed which files are kept. The subject is the channel or account, or ``all``.

    *channel* is the platform's number of that channel.
    """

    enabled: bool
    channel: ChannelId | None = None
