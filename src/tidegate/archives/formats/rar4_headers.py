"""The headers of a RAR as written up to version 4."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from zlib import crc32

from tidegate.archives.formats.archive_bytes import ArchiveEntry, Damaged, Encrypted, Source
from tidegate.archives.formats.rar_block import Block

SIGNATURE = b"Rar!\x1a\x07\x00"

_BLOCK = struct.Struct("<HBHH")
_FILE = struct.Struct("<IIBIIBBHI")
_ARCHIVE, _A_FILE, _END = 0x73, 0x74, 0x7B
_HAS_DATA = 0x8000
_ARCHIVE_COMMENT, _ARCHIVE_ENCRYPTED = 0x0002, 0x0080
_BEGUN_BEFORE, _GOES_ON, _FILE_ENCRYPTED, _FILE_COMMENT = 0x0001, 0x0002, 0x0004, 0x0008
_FOLDER, _LARGE, _UNICODE = 0x00E0, 0x0100, 0x0200
_NEXT_VOLUME = 0x0001


def rar4_blocks(source: Source, position: int, end: int) -> Iterator[Block]:
    """The blocks from *position* to the end of the volume."""
    while position < end:
        source.budget.spend()
        start = source.read(position, _BLOCK.size)
        checksum, kind, flags, size = _BLOCK.unpack(start)
        if size < _BLOCK.size or position + size > end:
            raise Damaged("a block is shorter than its header, or reaches beyond the end")
        header = source.read(position, size)
        if _is_checked(kind, flags) and crc32(header[2:]) & 0xFFFF != checksum:
            raise Damaged("the checksum of a block is wrong")
        if kind == _ARCHIVE and flags & _ARCHIVE_ENCRYPTED:
            raise Encrypted
        if kind == _END:
            yield Block(followed=bool(flags & _NEXT_VOLUME))
            return
        if kind == _A_FILE:
            source.budget.spend_bytes(size)
            yield _file(flags, header)
        position += size + _data_size(kind, flags, header)
    if position != end:
        raise Damaged("a file reaches beyond the end of its volume")


def _is_checked(kind: int, flags: int) -> bool:
    """Whether the checksum is over the whole header: not where an old comment stands inside, nor in odd blocks."""
    if kind == _ARCHIVE:
        return not flags & _ARCHIVE_COMMENT
    return kind == _A_FILE and not flags & _FILE_COMMENT


def _data_size(kind: int, flags: int, header: bytes) -> int:
    if kind != _A_FILE and not flags & _HAS_DATA:
        return 0
    [low] = struct.unpack_from("<I", header, _BLOCK.size)
    high = struct.unpack_from("<I", header, _BLOCK.size + _FILE.size)[0] if kind == _A_FILE and flags & _LARGE else 0
    return int(low) + (int(high) << 32)


def _file(flags: int, header: bytes) -> Block:
    _, size, _, _, _, _, _, name_length, _ = _FILE.unpack_from(header, _BLOCK.size)
    at = _BLOCK.size + _FILE.size
    if flags & _LARGE:
        _, high = struct.unpack_from("<II", header, at)
        size += high << 32
        at += 8
    name = header[at : at + name_length]
    if len(name) != name_length:
        raise Damaged("a name reaches beyond its header")
    entry = ArchiveEntry(_name(name, unicode=bool(flags & _UNICODE)), size, bool(flags & _FILE_ENCRYPTED))
    is_folder = flags & _FOLDER == _FOLDER
    return Block(None if is_folder else entry, bool(flags & _BEGUN_BEFORE), bool(flags & _GOES_ON))


def _name(name: bytes, *, unicode: bool) -> str:
    """A file's name: in UTF-8, in the code page of its author, or in that with its difference to Unicode."""
    plain, zero, difference = name.partition(b"\x00")
    if unicode and zero:
        return _restored(plain, difference)
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return plain.decode("cp437")


def _restored(plain: bytes, difference: bytes) -> str:
    """A Unicode name from its plain form: two bits for each step say how the next characters are made."""
    shared = difference[0] << 8
    steps = iter(difference[1:])
    characters: list[int] = []
    ways, left = 0, 0
    for byte in steps:
        if not left:
            ways, left = byte, 8
            continue
        left -= 2
        way = ways >> left & 3
        if way == 0:
            characters.append(byte)
        elif way == 1:
            characters.append(byte | shared)
        elif way == 2:
            characters.append(byte | next(steps, 0) << 8)
        else:
            characters += _copied(plain, len(characters), byte, shared, steps)
    return struct.pack(f"<{len(characters)}H", *characters).decode("utf-16-le", errors="replace")


def _copied(plain: bytes, at: int, byte: int, shared: int, steps: Iterator[int]) -> list[int]:
    """Some characters as they stand in the plain form, or all moved by the same distance."""
    copied = plain[at : at + (byte & 0x7F) + 2]
    if not byte & 0x80:
        return list(copied)
    moved_by = next(steps, 0)
    return [(one + moved_by & 0xFF) | shared for one in copied]
