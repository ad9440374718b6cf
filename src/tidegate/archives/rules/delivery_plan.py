"""How an archive reaches its destination: by copy or by upload, and in which messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.archives.rules.file_names import FilePiece, pieces, safe_name
from tidegate.core.ids import FileId, MessageId


@dataclass(frozen=True, slots=True)
class ArchivePartToFile:
    """One file of a set as it was posted. A *protected* one cannot be copied on the server."""

    message: MessageId
    file: FileId
    name: str
    size: int
    protected: bool = False

    @property
    def source(self) -> tuple[MessageId, FileId]:
        """Which file of which message it is: message, then file."""
        return self.message, self.file


@dataclass(frozen=True, slots=True)
class PlannedMessage:
    """One message to be posted: a part, or a piece of one."""

    part: ArchivePartToFile
    piece: FilePiece
    way: DeliveryWay


class DeliveryWay(StrEnum):
    """How a file gets into the destination."""

    COPY = "copy"
    UPLOAD = "upload"


SMALL_AT_MOST = 64 * 1024 * 1024
"""A set with more bytes to move is large: other sets do not wait for it."""

SMALL_PARTS = 20
"""So is one of more parts: each is a call or a send, and those are rate limited."""


def way_for(parts: Iterable[ArchivePartToFile], *, protected: bool) -> DeliveryWay:
    """Copied on the server, which moves no byte, unless the channel or a message of the set is protected.

    A set goes one way as a whole, so that its messages stand together and in order.
    """
    return DeliveryWay.UPLOAD if protected or any(part.protected for part in parts) else DeliveryWay.COPY


def manifest(parts: Sequence[ArchivePartToFile], way: DeliveryWay, largest: int) -> list[PlannedMessage]:
    """The messages a set becomes, in the order of its content.

    A part above *largest* is cut when it is uploaded, alone and under its own name with ``.001`` … after it. A copy
    is of a file the platform has already, so it is never cut and keeps its name, whatever that is.
    """
    if way is DeliveryWay.COPY:
        return [PlannedMessage(part, FilePiece(part.name, 0, part.size), way) for part in parts]
    return [
        PlannedMessage(part, piece, way) for part in parts for piece in pieces(safe_name(part.name), part.size, largest)
    ]


# The state of each message


class DeliveryState(StrEnum):
    """The state of one message of a manifest."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"


MOVES = {
    DeliveryState.PENDING: frozenset({DeliveryState.SENDING}),
    DeliveryState.SENDING: frozenset({DeliveryState.SENDING, DeliveryState.PENDING, DeliveryState.SENT}),
    DeliveryState.SENT: frozenset[DeliveryState](),
}
"""Legal moves. A ``sending`` message may be sent again under its key, because the platform removes duplicates.

It is ``pending`` again only when the platform has definitely not accepted it. A sent message stays sent.
"""


def may_come_from(state: DeliveryState) -> list[DeliveryState]:
    """The states from which a delivery may move into *state*."""
    return [before for before, after in MOVES.items() if state in after]
