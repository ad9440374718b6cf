"""Archives as ``tidegate archive`` and the API tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.rules.retrying import FailureReason
from tidegate.shapes.instants import Instant, instant
from tidegate.store import archive_list, previews
from tidegate.store.database import Connection
from tidegate.store.previews import Preview


@dataclass(frozen=True, kw_only=True)
class ArchiveRow:
    """An archive: where it was found, its state, and of one that failed why, how often, and when it is tried again."""

    id: int
    name: str
    channel: int
    title: str
    topic: int
    kind: str
    parts: int
    size: int
    state: str
    reason: str | None
    attempts: int
    next_try_at: Instant | None
    contents: int
    flags: list[str]
    duplicate_of: int | None
    missing: list[int]
    missing_files: str
    waits_for: str | None


@dataclass(frozen=True, kw_only=True)
class PartRow:
    """A file that an archive is made of, and the message it was posted in."""

    number: int
    name: str
    size: int
    message: int
    at: Instant
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class DeliveryRow:
    """A message that an archive became, or is to become, in its destination."""

    channel: int
    title: str
    name: str
    size: int
    way: str
    state: str
    message: int | None
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

    message: int
    size: int
    type: str


@dataclass(frozen=True, kw_only=True)
class ArchiveShown(ArchiveRow):
    """An archive with its parts, where they were posted and filed to, and what is inside."""

    content: str | None
    filed_at: Instant | None
    detail: str | None
    preview: PreviewRow | None
    files: list[PartRow]
    deliveries: list[DeliveryRow]
    inside: list[InsideRow]


def archive_row(found: dict[str, Any]) -> ArchiveRow:
    """An archive as a row of a list."""
    return ArchiveRow(**_row(found))


def _row(found: dict[str, Any]) -> dict[str, Any]:
    names = ["id", "name", "channel", "title", "topic", "kind", "parts", "size", "state", "reason", "attempts"]
    further = ["contents", "flags", "duplicate_of", "missing", "missing_files"]
    return {
        **{name: found[name] for name in (*names, *further)},
        "next_try_at": instant(found["next_try_at"]),
        "waits_for": _waits_for(found),
    }


def _waits_for(found: dict[str, Any]) -> str | None:
    """What a waiting archive waits for."""
    if found["state"] != "waiting":
        return None
    if found["indexed_at"] is not None:
        return "its turn to be hashed or delivered, after the next cycle"
    return "its turn to be read, after the next cycle"


async def archive_shown(connection: Connection, archive: int) -> ArchiveShown:
    """One archive: its parts, what is inside, and why it failed."""
    found = await archive_list.show(connection, archive)
    kept = await previews.of_archive(connection, archive)
    return ArchiveShown(
        **_row(found),
        content=_hex(found["content"]),
        filed_at=instant(found["filed_at"]),
        detail=_sentence(found),
        preview=_preview(kept),
        files=[
            PartRow(**{**part, "at": part["at"].isoformat(), "sha256": _hex(part["sha256"])})
            for part in found["files_of"]
        ],
        deliveries=[DeliveryRow(**{**one, "sent_at": instant(one["sent_at"])}) for one in found["deliveries"]],
        inside=[InsideRow(**one) for one in found["inside"]],
    )


def _preview(kept: Preview) -> PreviewRow | None:
    if kept.size is None or kept.message is None or kept.mime is None:
        return None
    return PreviewRow(message=kept.message, size=kept.size, type=kept.mime)


def told_preview(kept: Preview) -> str:
    """An archive's preview picture in words."""
    if kept.size is not None:
        return f"{kept.mime}, {kept.size} bytes, from message {kept.message}"
    if kept.trouble:
        return f"none: {kept.trouble}" + (" It is tried again after the next cycle." if kept.looking else "")
    return "none yet; it is looked for after the next cycle" if kept.looking else "none was posted with it"


def _sentence(found: dict[str, Any]) -> str | None:
    if found["reason"] is None:
        return None
    return found["detail"] or FailureReason(found["reason"]).sentence


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()
