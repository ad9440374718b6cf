"""What a file's name says: which archive it belongs to, which part it is, and its safe name on our disk.

Names come from outside and are only parsed here. ``set_assembly`` decides whether all parts are there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

HEAD = 0
"""The number of the part without a number in its name: the first of old RAR volumes, the last of a spanned ZIP."""

MEBIBYTE = 1024 * 1024
LONGEST_NAME = 200
"""Maximum length in bytes that every file system accepts, with room for a suffix of ours."""

_DOCUMENTS = "pdf|stl|obj|3mf|step|stp|blend|gcode|svg|dxf|ai|eps|psd"
_RESERVED = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?", re.IGNORECASE | re.DOTALL
)


class ArchiveKind(StrEnum):
    """How a set's parts are named, which decides their order and when the set is complete."""

    SPLIT_ZIP = "zip cut into pieces"
    SPLIT_7Z = "7z cut into pieces"
    SPLIT_RAR = "rar cut into pieces"
    RAR_PARTS = "rar in parts"
    RAR = "rar, alone or with volumes .r00, .r01 …"
    ZIP = "zip, alone or with volumes .z01, .z02 …"
    SPLIT = "a file of unknown type cut into pieces"
    SEVEN_ZIP = "7z"
    TAR = "tar"
    DOCUMENT = "document"

    @property
    def is_single(self) -> bool:
        """One file is always all of it."""
        return self in {ArchiveKind.SEVEN_ZIP, ArchiveKind.TAR, ArchiveKind.DOCUMENT}

    @property
    def first(self) -> int:
        """The lowest number of a part."""
        return HEAD if self.is_single or self in {ArchiveKind.RAR, ArchiveKind.ZIP} else 1


@dataclass(frozen=True, slots=True)
class ArchivePartName:
    """What a name says: parts of one set share *kind* and *base* and differ in *number*."""

    kind: ArchiveKind
    base: str
    number: int


_NUMBERED = (  # in this order: the first that matches wins
    (ArchiveKind.SPLIT_ZIP, re.compile(r"(.*)\.zip\.([0-9]{3,5})")),
    (ArchiveKind.SPLIT_7Z, re.compile(r"(.*)\.7z\.([0-9]{3,5})")),
    (ArchiveKind.SPLIT_RAR, re.compile(r"(.*)\.rar\.([0-9]{3,5})")),
    (ArchiveKind.RAR_PARTS, re.compile(r"(.*)\.part([0-9]{1,5})\.rar")),
    (ArchiveKind.RAR, re.compile(r"(.*)\.r([0-9]{2,3})")),
    (ArchiveKind.ZIP, re.compile(r"(.*)\.z([0-9]{2,3})")),
    (ArchiveKind.SPLIT, re.compile(r"(.*)\.([0-9]{3})")),
)
_HEADS = ((ArchiveKind.RAR, re.compile(r"(.*)\.rar")), (ArchiveKind.ZIP, re.compile(r"(.*)\.zip")))
_SINGLES = (
    (ArchiveKind.SEVEN_ZIP, re.compile(r"(.*\.7z)")),
    (ArchiveKind.TAR, re.compile(r"(.*\.(?:tar|tar\.gz|tgz|tar\.xz|tar\.zst))")),
    (ArchiveKind.DOCUMENT, re.compile(rf"(.*\.(?:{_DOCUMENTS}))")),
)


def read_name(name: str) -> ArchivePartName | None:
    """The archive and the part that a file's name belongs to; None for a file that is not an archive.

    Upper and lower case mean the same, and so do ``part1`` and ``part01``. A ``.rar`` or ``.zip`` is its own set until
    volumes of the same base come to it.
    """
    said = _printable(_last_component(name)).strip().lower()
    for kind, pattern in _NUMBERED:
        if match := pattern.fullmatch(said):
            number = int(match[2]) + (kind is ArchiveKind.RAR)  # .r00 is the part after .rar
            return ArchivePartName(kind, match[1], number) if number else None
    for kind, pattern in (*_HEADS, *_SINGLES):
        if match := pattern.fullmatch(said):
            return ArchivePartName(kind, match[1], HEAD)
    return None


def position(kind: ArchiveKind, number: int) -> tuple[bool, int]:
    """Where a part stands in its set: a spanned ZIP's ``.zip`` comes last, all else by number."""
    return (kind is ArchiveKind.ZIP and number == HEAD, number)


def ending(kind: ArchiveKind, number: int) -> str:
    """How the name of that part ends, for a person who looks for it."""
    endings = {
        ArchiveKind.SPLIT_ZIP: f".zip.{number:03}",
        ArchiveKind.SPLIT_7Z: f".7z.{number:03}",
        ArchiveKind.SPLIT_RAR: f".rar.{number:03}",
        ArchiveKind.RAR_PARTS: f".part{number}.rar",
        ArchiveKind.RAR: f".r{number - 1:02}" if number else ".rar",
        ArchiveKind.ZIP: f".z{number:02}" if number else ".zip",
        ArchiveKind.SPLIT: f".{number:03}",
    }
    return endings.get(kind, "")


# Names on our disk


def safe_name(name: str, *, otherwise: str = "file") -> str:
    """A name that stays inside its folder, on every system; *otherwise* when nothing is left of it.

    Directories, control and invisible characters are removed, and reserved names are marked. A long name is cut in
    front of its ending, in which the parts of a set differ.
    """
    kept = re.sub(r'[<>:"|?*]', "_", _printable(_last_component(name))).strip(" ").rstrip(". ")
    if not kept.strip("."):
        return otherwise
    return _cut(f"_{kept}" if _RESERVED.fullmatch(kept) else kept)


def _last_component(name: str) -> str:
    return re.split(r"[/\\]", name)[-1]


def _printable(name: str) -> str:
    """Without control characters, marks that turn the direction of reading, and half characters."""
    return "".join(character for character in name if character.isprintable())


def _cut(name: str) -> str:
    """At most ``LONGEST_NAME`` bytes, with the ending kept."""
    if len(name.encode()) <= LONGEST_NAME:
        return name
    tail = name[-24:]
    room = LONGEST_NAME - len(tail.encode())
    return name[:-24].encode()[:room].decode(errors="ignore").rstrip() + tail


# Pieces for the upload


@dataclass(frozen=True, slots=True)
class FilePiece:
    """A stretch of a file that is uploaded as one file of its own."""

    name: str
    offset: int
    size: int


def largest_piece(*, premium: bool) -> int:
    """The most bytes an account uploads as one file, a little below the platform's own limit."""
    return (3950 if premium else 1950) * MEBIBYTE


def pieces(name: str, size: int, largest: int) -> list[FilePiece]:
    """How a part is uploaded: under its own name where it fits, else cut into ``.001``, ``.002`` …

    Only a part that is too large is cut, and alone. Joined volumes of RAR or ZIP would be unusable.
    """
    if size <= largest:
        return [FilePiece(name, 0, size)]
    starts = range(0, size, largest)
    return [
        FilePiece(f"{name}.{number:03}", start, min(largest, size - start))
        for number, start in enumerate(starts, start=1)
    ]
