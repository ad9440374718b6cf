"""Archives for tests of their readers: given bytes with holes between them, read directly or through the child."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.archives.formats.archive_bytes import ArchiveListing, Source, WorkBudget
from tidegate.archives.formats.sandbox import ArchiveContents, ContentsSandbox, SandboxLimits
from tidegate.archives.formats.sandbox_child import READERS, list_entries


@dataclass
class Sparse:
    """An archive of which only some bytes are given; all others are zero. *asked* are the reads it has answered."""

    size: int = 0
    pieces: dict[int, bytes] = field(default_factory=dict)
    asked: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, content: bytes) -> Sparse:
        return cls(len(content), {0: content})

    def write(self, content: bytes) -> None:
        self.pieces[self.size] = content
        self.size += len(content)

    def skip(self, length: int) -> None:
        self.size += length

    def read(self, offset: int, length: int) -> bytes:
        self.asked.append((offset, length))
        end = min(offset + length, self.size)
        found = bytearray(max(end - offset, 0))
        for start, piece in self.pieces.items():
            low, high = max(start, offset), min(start + len(piece), end)
            if low < high:
                found[low - offset : high - offset] = piece[low - start : high - start]
        return bytes(found)

    @property
    def content(self) -> bytes:
        return self.read(0, self.size)

    @property
    def fetched(self) -> int:
        return sum(length for _, length in self.asked)


def joined(*parts: Sparse) -> Sparse:
    """The parts of a set, one after the other."""
    whole = Sparse()
    for part in parts:
        whole.pieces |= {whole.size + start: piece for start, piece in part.pieces.items()}
        whole.size += part.size
    return whole


async def listed(
    archive: Sparse | bytes, form: str = "zip", *, parts: tuple[int, ...] = (), limits: SandboxLimits | None = None
) -> ArchiveContents:
    """What the child makes of an archive."""
    held = archive if isinstance(archive, Sparse) else Sparse.of(archive)

    async def read(offset: int, length: int) -> bytes:
        return held.read(offset, length)

    async with ContentsSandbox(limits or SandboxLimits()) as reader:
        return await reader.read(form, held.size, read, parts=parts)


def listed_here(
    content: bytes, form: str, parts: tuple[int, ...] = (), *, budget: WorkBudget | None = None
) -> tuple[list[tuple[str, int]], list[str]]:
    """What the child would make of it, in this process: files and flags."""
    source = Source(len(content), Sparse.of(content).read, parts, budget=budget or fresh_budget())
    entries, flags = list_entries(READERS[form](source, ArchiveListing()), 100, SandboxLimits().names)
    return [(entry.path, entry.size) for entry in entries], flags


def fresh_budget() -> WorkBudget:
    """The budget that an archive has by default."""
    return WorkBudget(SandboxLimits().steps, SandboxLimits().inflated)


def files(contents: ArchiveContents) -> list[tuple[str, int]]:
    return [(one.path, one.size) for one in contents.files]
