"""How an archive reaches its destination: which way, in which messages, and whether it is there already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from tidegate.rules.naming import Piece, pieces, safe_name


class Way(StrEnum):
    """How a file gets into the destination."""

    COPY = "copy"
    UPLOAD = "upload"


class DeliveryState(StrEnum):
    """Where one message of a manifest stands."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"


MOVES = {
    DeliveryState.PENDING: frozenset({DeliveryState.SENDING}),
    DeliveryState.SENDING: frozenset({DeliveryState.SENDING, DeliveryState.PENDING, DeliveryState.SENT}),
    DeliveryState.SENT: frozenset[DeliveryState](),
}
"""Legal moves. What is ``sending`` may be sent again, under the same key, because the platform removes duplicates; it
is ``pending`` again only when the platform has definitely not taken it. What is sent stays sent."""


def may_come_from(state: DeliveryState) -> list[DeliveryState]:
    """The states from which a delivery may move into *state*."""
    return [before for before, after in MOVES.items() if state in after]


# The manifest


@dataclass(frozen=True, slots=True)
class PartToFile:
    """One file of a set as it lies at its source."""

    message: int
    file: int
    name: str
    size: int
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """One message to be posted: a part, or a piece of one."""

    part: PartToFile
    piece: Piece
    way: Way


def way_for(parts: Iterable[PartToFile], *, protected: bool) -> Way:
    """Copied on the server, which moves no byte, unless the channel or a message of the set is protected.

    A set goes one way as a whole, so that its messages stand together and in order.
    """
    return Way.UPLOAD if protected or any(part.protected for part in parts) else Way.COPY


def manifest(parts: Sequence[PartToFile], way: Way, largest: int) -> list[Planned]:
    """The messages a set becomes, in the order of its content.

    A part above *largest* is cut when it is uploaded, alone and under its own name with ``.001`` … after it. A copy
    is of a file the platform has already, so it is never cut and keeps its name, whatever that is.
    """
    return [Planned(part, piece, way) for part in parts for piece in _pieces_of(part, way, largest)]


def _pieces_of(part: PartToFile, way: Way, largest: int) -> list[Piece]:
    if way is Way.COPY:
        return [Piece(part.name, 0, part.size)]
    return pieces(safe_name(part.name), part.size, largest)


# Whether it is there already


def content_of(digests: Sequence[bytes]) -> bytes:
    """What tells a set's content from any other: the digest of its only part, or one over the digests of all.

    Made of digests, so that it can be told after parts were hashed one by one over several runs, none of them kept.
    """
    return digests[0] if len(digests) == 1 else sha256(b"".join(digests)).digest()


class Decision(StrEnum):
    """Whether a set may be delivered, when others in its destination begin with the same part."""

    DELIVER = "deliver"
    HASH_FIRST = "hash the rest first"
    WAIT = "wait for the other"
    DUPLICATE = "already there"


@dataclass(frozen=True, slots=True)
class Rival:
    """Another set in the same destination with the same first part and parts of the same sizes.

    *content* is None until all of it was read. *delivered*: all of it is there. *coming*: what is left may still come.
    """

    archive: int
    content: bytes | None
    delivered: bool
    coming: bool


def weigh(content: bytes | None, rivals: Collection[Rival]) -> tuple[Decision, int | None]:
    """Whether to deliver a set of this *content* (None: only its first part was read), and what it is a duplicate of.

    Two sets are the same only when every byte is. What the other will turn out to be is waited for, never guessed, and
    what will not be finished counts for nothing.
    """
    serious = [rival for rival in rivals if rival.delivered or rival.coming]
    same = [rival for rival in serious if content is not None and rival.content == content]
    if there := [rival.archive for rival in same if rival.delivered]:
        return Decision.DUPLICATE, min(there)
    if content is None and any(rival.content is not None for rival in serious):
        return Decision.HASH_FIRST, None
    if same or any(rival.content is None and rival.coming for rival in serious):
        return Decision.WAIT, None
    return Decision.DELIVER, None
