"""An archive's states and failures in the words of the pages. JSON keeps the engine's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import FailureReason

_STATES: Mapping[str, str] = {
    "collecting": "Waiting for parts",
    "waiting": "Waiting its turn",
    "working": "In progress",
    "filed": "Indexed",
    "failed": "Failed, will retry",
    "given_up": "Failed, not retrying",
    "incomplete": "Incomplete",
    "gone": "Source deleted",
}
_BAD = frozenset({"failed", "given_up", "gone"})

_FAILURES: Mapping[str, str] = {
    FailureReason.DOWNLOAD: "Download failed",
    FailureReason.UPLOAD: "Upload failed",
    FailureReason.COPY: "Copy failed",
    FailureReason.INDEXING: "Contents could not be read",
    FailureReason.SIZE_LIMIT: "Larger than the size limit",
    FailureReason.SOURCE_GONE: "Source deleted",
    "no_process": "Reading is not possible at the moment",
    "destination_closed": "The destination takes nothing at the moment",
    "disk_full": "Not enough free disk space",
}

_TYPES: Mapping[str, str] = {
    ArchiveKind.SPLIT_ZIP: "ZIP, split",
    ArchiveKind.SPLIT_7Z: "7z, split",
    ArchiveKind.SPLIT_RAR: "RAR, split",
    ArchiveKind.RAR_PARTS: "RAR, split",
    ArchiveKind.RAR: "RAR",
    ArchiveKind.ZIP: "ZIP",
    ArchiveKind.SPLIT: "Unknown, split",
    ArchiveKind.SEVEN_ZIP: "7z",
    ArchiveKind.TAR: "TAR",
    ArchiveKind.DOCUMENT: "Document",
}

_METHODS: Mapping[str, str] = {"copy": "Copied by the platform", "upload": "Uploaded"}
_DELIVERIES: Mapping[str, str] = {"pending": "Waiting", "sending": "In progress", "sent": "Copied"}

_FLAGS: Mapping[str, str] = {"contents_cut": "list of contents cut", "not_listed": "contents not readable"}

STATE_CHOICES = tuple(_STATES.items())
"""Each state with its words, to choose from."""

_REFUSED = re.compile(r"(?P<platform>[A-Z][A-Za-z]+) refused (?P<call>[A-Za-z_.]+): .+", re.DOTALL)
_DOING: Mapping[str, str] = {
    "upload.getFile": "could not provide the file",
    "upload.saveFilePart": "did not take the upload",
    "upload.saveBigFilePart": "did not take the upload",
}
_SOON = re.compile(r"its (?:turn to be .*), after the next cycle")


@dataclass(frozen=True, slots=True)
class FailureText:
    """A failure as a sentence, and the platform's own words behind it, which may be empty."""

    sentence: str
    details: str


def state_words(state: str, *, copied: bool = False) -> str:
    """The state of an archive; one that was *copied* to a channel says so."""
    if state == "filed" and copied:
        return "Copied"
    return _STATES.get(state, state.replace("_", " ").capitalize())


def state_mood(state: str) -> str:
    """Good, bad, or wait."""
    return "good" if state == "filed" else "bad" if state in _BAD else "wait"


def failure_words(reason: str, attempts: int) -> str:
    """Why an archive failed, and how often: "Download failed (2 attempts)"."""
    words = _FAILURES.get(reason, reason.replace("_", " ").capitalize())
    return f"{words} ({attempts} {'attempt' if attempts == 1 else 'attempts'})" if attempts else words


def failure_text(detail: str) -> FailureText:
    """A failure's sentence for people; what only an engineer reads is set apart."""
    found = _REFUSED.fullmatch(detail.strip())
    if found is None:
        return FailureText(detail, "")
    return FailureText(f"{found['platform']} {_DOING.get(found['call'], 'did not allow it')}.", detail)


def type_words(kind: str) -> str:
    """The type of an archive."""
    return _TYPES.get(kind, kind)


def flag_words(flag: str) -> str:
    """A remark on an archive."""
    return _FLAGS.get(flag, flag.replace("_", " "))


def method_words(way: str) -> str:
    """How a copy is made."""
    return _METHODS.get(way, way)


def delivery_words(state: str) -> str:
    """The state of a copy."""
    return _DELIVERIES.get(state, state)


def waiting_words(waits_for: str) -> str:
    """What an archive waits for, as a sentence's end."""
    return "its turn, after the next check" if _SOON.fullmatch(waits_for) else waits_for
