"""Whether a set is a duplicate of another in the same destination."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from tidegate.core.ids import ArchiveId


def content_of(digests: Sequence[bytes]) -> bytes:
    """The hash of a set's content: the digest of its only part, or one over the digests of all parts.

    It needs digests only, so parts can be hashed one by one over several runs and deleted.
    """
    return digests[0] if len(digests) == 1 else sha256(b"".join(digests)).digest()


@dataclass(frozen=True, slots=True)
class SameContentSet:
    """Another set in the same destination with the same first part and parts of the same sizes.

    *content* is None until all of it was read. *delivered*: all of it is there. *coming*: the rest may still come.
    """

    archive: ArchiveId
    content: bytes | None
    delivered: bool
    coming: bool


class FilingDecision(StrEnum):
    """Whether a set may be delivered, when others in its destination begin with the same part."""

    DELIVER = "deliver"
    HASH_FIRST = "hash the rest first"
    WAIT = "wait for the other"
    DUPLICATE = "already there"


def weigh(content: bytes | None, rivals: Collection[SameContentSet]) -> tuple[FilingDecision, ArchiveId | None]:
    """Whether to deliver a set of this *content* (None: only its first part was read), and what it is a duplicate of.

    Two sets are the same only when every byte is. The content of another set is waited for, never guessed. A set that
    will not be finished does not count.
    """
    serious = [rival for rival in rivals if rival.delivered or rival.coming]
    same = [rival for rival in serious if content is not None and rival.content == content]
    if there := [rival.archive for rival in same if rival.delivered]:
        return FilingDecision.DUPLICATE, min(there)
    if content is None and any(rival.content is not None for rival in serious):
        return FilingDecision.HASH_FIRST, None
    if same or any(rival.content is None and rival.coming for rival in serious):
        return FilingDecision.WAIT, None
    return FilingDecision.DELIVER, None
