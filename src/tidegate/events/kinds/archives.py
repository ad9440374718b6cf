"""Archives. The subject is the archive's name, except for kinds that name another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tidegate.core.ids import ArchiveId, ChannelId, MessageId
from tidegate.events.event_data import Absent, EventData, event_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEvent(EventData):
    """Something happened to one archive of a channel."""

    archive: ArchiveId
    channel: ChannelId


@event_kind("archive.progressed")
class ArchiveProgressed(ArchiveEvent):
    """A file of an archive is being moved; at most once a second. *done* and *size* are bytes."""

    doing: str
    file: str
    done: int
    size: int


@event_kind("archive.previewed")
class ArchivePreviewed(EventData):
    """A preview picture of an archive was stored; *size* is in bytes, *type* its media type."""

    archive: ArchiveId
    message: MessageId
    size: int
    type: str


@event_kind("archive.indexed")
class ArchiveIndexed(ArchiveEvent):
    """The files in an archive were listed; it is still to be delivered. *contents* counts the files."""

    contents: int
    flags: list[str]


@event_kind("archive.filed")
class ArchiveFiled(ArchiveEvent):
    """The work on an archive is done.

    *contents* counts its files where they were listed last. *duplicate_of* is an archive with the same content, stored
    where contents were compared. *destination* and *messages* say where it was delivered to, without messages whose
    number the platform did not give.
    """

    flags: list[str]
    contents: int | None = None
    duplicate_of: ArchiveId | Literal[Absent.ABSENT] | None = Absent.ABSENT
    destination: ChannelId | None = None
    messages: list[MessageId] | None = None


@event_kind("archive.reopened")
class ArchiveReopened(ArchiveEvent):
    """An archive has more volumes than were known, so its parts are collected again."""

    parts: int
    volumes: int


@event_kind("archive.failed")
class ArchiveFailed(ArchiveEvent):
    """An archive could not be processed; *next_try_at* is null when it was given up."""

    reason: str
    sentence: str
    attempts: int
    next_try_at: datetime | None


@event_kind("failures.asked")
class FailuresAsked(EventData):
    """The operator asked to retry archives. The subject is the reason of their failures, or ``all``."""

    archives: list[ArchiveId]


@event_kind("failures.retried")
class FailuresRetried(EventData):
    """Failed archives were looked up again. The subject is the account.

    *retried* archives are processed again; the messages of *source_gone* archives no longer exist.
    """

    retried: int
    source_gone: int


@event_kind("filing.paused")
class FilingPaused(EventData):
    """A disk is too full for archives. The subject is the machine; *needed* is in bytes."""

    sentence: str
    needed: int


@event_kind("filing.resumed")
class FilingResumed(EventData):
    """The disk has room for archives again. The subject is the machine."""


@event_kind("reading.paused")
class ReadingPaused(EventData):
    """A machine cannot start the process that reads archives. The subject is the machine."""

    sentence: str


@event_kind("reading.resumed")
class ReadingResumed(EventData):
    """The process that reads archives can be started again. The subject is the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationChanged(EventData):
    """Whether a destination accepts archives from *account* has changed."""

    channel: ChannelId
    account: str
    sentence: str | None


@event_kind("destination.closed")
class DestinationFoundClosed(DestinationChanged):
    """A destination accepts no archives from an account. The subject is its title."""


@event_kind("destination.opened")
class DestinationOpened(DestinationChanged):
    """A destination accepts archives from an account again. The subject is its title."""
