"""The header of a 7z, parsed: which streams there are, and which files come out of them.

No count in it can be trusted. A count larger than the header itself is refused, and each part of the header may occur
once. Otherwise a few bytes, repeated, would have the same list built again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.archives.formats.archive_bytes import ArchiveEntry, Damaged, HeaderFields, WorkBudget

HEADER, PACKED_HEADER = 1, 23

_END = 0
_PROPERTIES, _OTHER_STREAMS, _STREAMS, _FILES = 2, 3, 4, 5
_PACKED, _FOLDERS, _SUBSTREAMS, _SIZES, _CHECKSUMS, _FOLDER, _UNPACKED_SIZES, _COUNTS = 6, 7, 8, 9, 10, 11, 12, 13
_HOLLOW, _EMPTY_FILE, _UNWANTED, _NAMES = 14, 15, 16, 17
_PADDING = 25
_AES = b"\x06\xf1\x07\x01"
_MOST_STEPS = 32


class HeaderBytes(HeaderFields):
    """A header being read, with each number in it counted on the *budget*."""

    def __init__(self, content: bytes, budget: WorkBudget) -> None:
        super().__init__(content)
        self.budget = budget

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """A number of one to nine bytes: the ones that the first begins with say how many follow."""
        first = self.byte()
        following = next((bit for bit in range(8) if not first & (0x80 >> bit)), 8)
        high = first & (0x7F >> following) if following < 8 else 0
        return int.from_bytes(self.take(following), "little") + (high << (8 * following))

    def count(self) -> int:
        """A number of things, each of which takes room in the header."""
        number = self.number()
        if number > len(self._content):
            raise Damaged("more is announced than there is room for")
        return number

    def expect(self, byte: int) -> None:
        if self.byte() != byte:
            raise Damaged("something else was expected here")

    def kinds(self) -> Iterator[int]:
        """The kinds of what follows, one by one, up to the mark of the end; each but padding comes once."""
        seen: set[int] = set()
        while (kind := self.byte()) != _END:
            self.budget.spend()
            if kind in seen:
                raise Damaged("a part of the header is there twice")
            seen |= {kind} - {_PADDING}
            yield kind

    def numbers(self, count: int) -> list[int]:
        """*count* numbers, one after the other."""
        self.budget.spend_list(count)
        return [self.number() for _ in range(count)]

    def bits(self, count: int) -> list[bool]:
        self.budget.spend_list(count)
        packed = self.take((count + 7) // 8)
        return [bool(packed[at // 8] & (0x80 >> at % 8)) for at in range(count)]

    def checksums(self, count: int) -> list[bool]:
        """Skip checksums; returns which of *count* things have one."""
        known = [True] * count if self.byte() else self.bits(count)
        self.take(4 * sum(known))
        return known


@dataclass(frozen=True, slots=True)
class Coder:
    """One step of unpacking."""

    method: bytes  # its number
    properties: bytes  # what the method needs to know


@dataclass(slots=True)
class PackedStream:
    """Files that are packed as one stream. Each step of unpacking gives a size."""

    coders: Sequence[Coder]
    outputs: int
    last: int  # the step that gives the files
    sizes: Sequence[int] = ()
    has_checksum: bool = False

    @property
    def size(self) -> int:
        return self.sizes[self.last]

    @property
    def encrypted(self) -> bool:
        return any(coder.method == _AES for coder in self.coders)


@dataclass(slots=True)
class Streams:
    """Packed streams, at an *offset* and of *sizes*; the folders in them; size and encryption of each file in those."""

    offset: int = 0
    sizes: Sequence[int] = ()
    folders: Sequence[PackedStream] = ()
    files: list[tuple[int, bool]] = field(default_factory=list)


def streams(header: HeaderBytes) -> Streams:
    """The next part of a header, which must describe streams."""
    found = Streams()
    lists_files = False
    for kind in header.kinds():
        if kind == _PACKED:
            _read_packed(header, found)
        elif kind == _FOLDERS:
            _read_folders(header, found)
        elif kind == _SUBSTREAMS:
            _read_files(header, found)
            lists_files = True
        else:
            raise Damaged("something unknown among the streams")
    if not lists_files:
        found.files = [(folder.size, folder.encrypted) for folder in found.folders]
    return found


def _read_packed(header: HeaderBytes, found: Streams) -> None:
    found.offset, count = header.number(), header.count()
    for kind in header.kinds():
        if kind == _SIZES:
            found.sizes = header.numbers(count)
        elif kind == _CHECKSUMS:
            header.checksums(count)
        else:
            raise Damaged("something unknown among the packed streams")


def _read_folders(header: HeaderBytes, found: Streams) -> None:
    header.expect(_FOLDER)
    count = header.count()
    header.expect(0)  # they are here, and not in their own stream
    found.folders = [_read_folder(header) for _ in range(count)]
    header.expect(_UNPACKED_SIZES)
    for folder in found.folders:
        folder.sizes = header.numbers(folder.outputs)
    for kind in header.kinds():
        if kind != _CHECKSUMS:
            raise Damaged("something unknown among the folders")
        for folder, known in zip(found.folders, header.checksums(count), strict=True):
            folder.has_checksum = known


def _read_folder(header: HeaderBytes) -> PackedStream:
    coders: list[Coder] = []
    inputs = outputs = 0
    header.budget.spend()
    for _ in range(min(header.count(), _MOST_STEPS + 1)):
        how = header.byte()
        method = header.take(how & 0x0F)
        gets, gives = (header.count(), header.count()) if how & 0x10 else (1, 1)
        coders.append(Coder(method, header.take(header.count()) if how & 0x20 else b""))
        inputs, outputs = inputs + gets, outputs + gives
    if max(len(coders), inputs, outputs) > _MOST_STEPS:
        raise Damaged("a folder takes more steps than any")
    bound = [(header.number(), header.number())[1] for _ in range(outputs - 1)]
    for _ in range(inputs - len(bound) if inputs - len(bound) > 1 else 0):
        header.number()
    last = next((output for output in range(outputs) if output not in bound), None)
    if last is None:
        raise Damaged("a folder has no last step")
    return PackedStream(coders, outputs, last)


def _read_files(header: HeaderBytes, found: Streams) -> None:
    """How many files each folder has. Of all but its last the size is written down."""
    counts = [1] * len(found.folders)
    kind = header.byte()
    if kind == _COUNTS:
        header.budget.spend_list(len(found.folders))
        counts = [header.count() for _ in found.folders]
        kind = header.byte()
    for folder, count in zip(found.folders, counts, strict=True):
        sizes = header.numbers(count - 1) if kind == _SIZES else []
        if sum(sizes) > folder.size or (count > 1 and kind != _SIZES):
            raise Damaged("the files of a folder are not all of it")
        found.files += [(size, folder.encrypted) for size in (*sizes, folder.size - sum(sizes))[:count]]
    if kind == _SIZES:
        kind = header.byte()
    if kind == _CHECKSUMS:
        header.checksums(_files_to_check(found.folders, counts))
        kind = header.byte()
    if kind != _END:
        raise Damaged("something unknown among the files' streams")


def _files_to_check(folders: Sequence[PackedStream], counts: Sequence[int]) -> int:
    """How many files have checksums of their own: not those that are all of a folder whose checksum is known."""
    return sum(count for folder, count in zip(folders, counts, strict=True) if count != 1 or not folder.has_checksum)


def entries(header: HeaderBytes) -> Iterator[ArchiveEntry]:
    """The files that the rest of a header lists."""
    contents: Sequence[tuple[int, bool]] = ()
    for kind in header.kinds():
        if kind == _PROPERTIES:
            for _ in header.kinds():
                header.take(header.count())
        elif kind == _OTHER_STREAMS:
            streams(header)
        elif kind == _STREAMS:
            contents = streams(header).files
        elif kind == _FILES:
            yield from _files(header, contents)
        else:
            raise Damaged("something unknown in the header")


def _files(header: HeaderBytes, contents: Sequence[tuple[int, bool]]) -> Iterator[ArchiveEntry]:
    """Files with content and, by marks of their own, files without; the rest are folders."""
    count = header.count()
    header.budget.spend_list(count)
    names: list[str] = []
    hollow = [False] * count
    empty: list[bool] = []
    unwanted: list[bool] = []
    for kind in header.kinds():
        about = HeaderBytes(header.take(header.count()), header.budget)
        if kind == _HOLLOW:
            hollow = about.bits(count)
        elif kind == _EMPTY_FILE:
            empty = about.bits(sum(hollow))
        elif kind == _UNWANTED:
            unwanted = about.bits(sum(hollow))
        elif kind == _NAMES:
            about.expect(0)
            names = about.rest().decode("utf-16-le", errors="replace").split("\x00")[:-1]
    if len(names) != count or count - sum(hollow) != len(contents):
        raise Damaged("files, names and contents are not as many")
    with_content = iter(contents)
    marks = zip(empty, unwanted or [False] * len(empty), strict=True)
    for name, is_hollow in zip(names, hollow, strict=True):
        if not is_hollow:
            size, encrypted = next(with_content)
            yield ArchiveEntry(name, size, encrypted)
        elif next(marks, (False, True)) == (True, False):
            yield ArchiveEntry(name, 0)
