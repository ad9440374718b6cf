"""Which photo shows what is in an archive, and what may be kept as its preview. Pure.

People usually post a picture first and its files after, seldom the other way round. Only the album links the two, or
else the author, the topic, and the time between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.ids import AlbumId, ArchiveId, MessageId, Span, TopicId

MESSAGES_BEFORE, MESSAGES_AFTER = 30, 10
BEFORE_FOR, AFTER_FOR = timedelta(minutes=30), timedelta(minutes=5)
"""How far a photo may lie from the first part of a set, in numbers and in time; before it, and after it."""

NEAR = 200
"""Stretches this close to each other are searched through as one: a page carries more than what lies between."""

LARGEST = 1 << 20
"""Maximum number of bytes of a preview."""


@dataclass(frozen=True, slots=True)
class _Post:
    """Where and when a message was posted, and by which author."""

    message: MessageId
    at: datetime
    sender: str
    topic: TopicId


@dataclass(frozen=True, slots=True)
class PreviewPhoto(_Post):
    """A photo that was posted; *album* is shared by messages that were posted as one."""

    album: AlbumId | None = None


@dataclass(frozen=True, slots=True)
class PreviewSubject(_Post):
    """A set that has no picture yet, by the post of its first part; *albums* are those of all its parts."""

    archive: ArchiveId
    albums: frozenset[AlbumId] = frozenset()

    @property
    def reach(self) -> Span:
        """The messages among which its photo would be."""
        return Span(max(1, self.message - MESSAGES_BEFORE), self.message + MESSAGES_AFTER)


def choose_photo(subject: PreviewSubject, photos: Iterable[PreviewPhoto]) -> PreviewPhoto | None:
    """The photo that belongs to a set: of its album, else the nearest before it, else the nearest right after.

    Without an album both must be by the same author, in the same topic, and close in number as well as in time. In a
    busy channel numbers grow fast, in a quiet one slowly.
    """
    seen = list(photos)
    in_album = [photo for photo in seen if photo.album is not None and photo.album in subject.albums]
    if in_album:
        return min(in_album, key=lambda photo: (abs(photo.message - subject.message), photo.message))
    own = [photo for photo in seen if (photo.sender, photo.topic) == (subject.sender, subject.topic)]
    before = [photo for photo in own if _is_before(photo, subject)]
    after = [photo for photo in own if _is_after(photo, subject)]
    if before:
        return max(before, key=lambda photo: photo.message)
    return min(after, key=lambda photo: photo.message, default=None)


def _is_before(photo: PreviewPhoto, subject: PreviewSubject) -> bool:
    apart, ahead = subject.message - photo.message, subject.at - photo.at
    return 0 < apart <= MESSAGES_BEFORE and timedelta() <= ahead <= BEFORE_FOR


def _is_after(photo: PreviewPhoto, subject: PreviewSubject) -> bool:
    apart, late = photo.message - subject.message, photo.at - subject.at
    return 0 < apart <= MESSAGES_AFTER and timedelta() <= late <= AFTER_FOR


def decisive(subject: PreviewSubject, chosen: PreviewPhoto | None, *, newest: int) -> Span:
    """The range that must be known for a choice to be final: a photo that would be preferred could be in it.

    It is empty, its high end below its low one, when the photo right before the set was chosen.
    """
    low, high = subject.reach
    if chosen is not None and chosen.message < subject.message:
        return Span(chosen.message + 1, subject.message - 1)
    return Span(low, min(high, max(subject.message, newest)))


def is_past_window(subject: PreviewSubject, now: datetime) -> bool:
    """Whether a photo that is posted from now on would come too late to be the set's."""
    return now - subject.at > AFTER_FOR


def stretches(subjects: Iterable[PreviewSubject]) -> list[Span]:
    """The stretches to search for the photos of these sets, oldest first, those near each other as one."""
    joined: list[Span] = []
    for low, high in sorted(subject.reach for subject in subjects):
        if joined and low - joined[-1].high <= NEAR:
            joined[-1] = Span(joined[-1].low, max(joined[-1].high, high))
        else:
            joined.append(Span(low, high))
    return joined


_BEGINNINGS: Sequence[tuple[bytes, str]] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
)


def picture_type(content: bytes) -> str | None:
    """The type of a JPEG, PNG or WebP picture by its first bytes; None for anything else, whatever its sender says."""
    for beginning, mime in _BEGINNINGS:
        if content.startswith(beginning):
            return mime
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
