"""Archives as JSON documents, for ``tidegate archive`` and the API."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tidegate.archives.queries import archive_list, previews
from tidegate.archives.queries.previews import Preview
from tidegate.archives.rules.retry import FailureReason
from tidegate.core.ids import ArchiveId, ChannelId, ChannelKey, MessageId, TopicId
from tidegate.core.json_fields import Instant, instant
from tidegate.core.rules.readable_values import readable_size
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


@dataclass(frozen=True, kw_only=True)
class ArchiveRow:
    """An archive: where it was found, its state, and of one that failed why, how often, and when it is tried again."""

    id: ArchiveId
    name: str
    channel: ChannelId
    title: str
    topic: TopicId
    kind: str
    parts: int
    size: int
    state: str
    reason: str | None
    attempts: int
    next_try_at: Instant | None
    contents: int
    flags: list[str]
    duplicate_of: ArchiveId | None
    missing: list[int]
    missing_files: str
    waits_for: str | None


@dataclass(frozen=True, kw_only=True)
class ArchivePartRow:
    """A file that an archive is made of, and the message it was posted in."""

    number: int
    name: str
    size: int
    message: MessageId
    at: Instant
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class DeliveryRow:
    """A message that an archive became, or is to become, in its destination."""

    channel: ChannelId
    title: str
    name: str
    size: int
    way: str
    state: str
    message: MessageId | None
    sent_at: Instant | None


@dataclass(frozen=True, kw_only=True)
class InsideRow:
    """A file inside an archive."""

    path: str
    size: int
    encrypted: bool


@dataclass(frozen=True, kw_only=True)
class PreviewRow:
    """The picture that was posted with an archive."""

    message: MessageId
    size: int
    type: str


@dataclass(frozen=True, kw_only=True)
class ArchiveShown(ArchiveRow):
    """An archive with its parts, where they were posted and filed to, and what is inside."""

    content: str | None
    filed_at: Instant | None
    detail: str | None
    preview: PreviewRow | None
    files: list[ArchivePartRow]
    deliveries: list[DeliveryRow]
    inside: list[InsideRow]


def archive_row(found: dict[str, Any]) -> ArchiveRow:
    """An archive as a row of a list."""
    return from_row(ArchiveRow, found, **_outlook(found))


def _outlook(found: dict[str, Any]) -> dict[str, Any]:
    """When an archive is tried again, and what it waits for."""
    return {
        "next_try_at": instant(found["next_try_at"]),
        "waits_for": _waits_for(found),
    }


def _waits_for(found: dict[str, Any]) -> str | None:
    """What a waiting archive waits for, or what a failed one needs before it is retried automatically."""
    if found["state"] in ("failed", "given_up"):
        return found["obstacle"] and str(found["obstacle"])
    if found["state"] != "waiting":
        return None
    if found["held_by"] or found["obstacle"]:
        return str(found["held_by"] or found["obstacle"])
    if found["indexed_at"] is not None:
        return "its turn to be hashed or delivered, after the next cycle"
    return "its turn to be read, after the next cycle"


async def archive_shown(
    connection: Connection,
    archive: ArchiveId,
    *,
    only: Collection[ChannelKey] | None = None,
    most_inside: int | None = None,
) -> ArchiveShown:
    """One archive: its parts, what is inside, and why it failed; *only* are the channels that may be named.

    Of very much inside it has the first *most_inside* files.
    """
    found = await archive_list.show(connection, archive, only=only, most_inside=most_inside)
    kept = await previews.of_archive(connection, archive)
    return from_row(
        ArchiveShown,
        found,
        **_outlook(found),
        content=_hex(found["content"]),
        filed_at=instant(found["filed_at"]),
        detail=_sentence(found),
        preview=_preview(kept),
        files=[
            ArchivePartRow(**{**part, "at": part["at"].isoformat(), "sha256": _hex(part["sha256"])})
            for part in found["files_of"]
        ],
        deliveries=[DeliveryRow(**{**one, "sent_at": instant(one["sent_at"])}) for one in found["deliveries"]],
        inside=[InsideRow(**one) for one in found["inside"]],
    )


def _preview(kept: Preview) -> PreviewRow | None:
    if kept.size is None or kept.message is None or kept.mime is None:
        return None
    return PreviewRow(message=kept.message, size=kept.size, type=kept.mime)


def preview_text(kept: Preview) -> str:
    """An archive's preview picture in words."""
    if kept.size is not None:
        return f"{kept.mime}, {readable_size(kept.size)}, from message {kept.message}"
    if kept.trouble:
        return f"none: {kept.trouble}" + (" It is tried again after the next cycle." if kept.looking else "")
    return "none yet; it is looked for after the next cycle" if kept.looking else "none was posted with it"


def _sentence(found: dict[str, Any]) -> str | None:
    if found["held_by"]:
        return str(found["held_by"])
    if found["reason"] is None:
        return None
    return found["detail"] or FailureReason(found["reason"]).sentence


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()
