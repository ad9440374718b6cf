"""Archives made to cost much: each is listed, cut or damaged after a bounded amount of work.

Work is counted, never timed: lines of Python that the readers run, and bytes that they fetch. What the interpreter's
own loops cost (a slice, a sum) is held by the processor time that the child is given for an archive of that size.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate.archives.formats
from tests.archives.archive_reading import fresh_budget, listed, listed_here
from tests.archives.rar_writer import Stored, block4, block5, main5, number5, rar4, rar5
from tests.archives.seven_zip_samples import header_of, sample, with_header
from tests.archives.tar_writer import checked, header, tarred
from tests.archives.zip_writer import zipped
from tidegate.archives.formats.sandbox import SandboxLimits, safe_path

MIB = 1024 * 1024
LINES_A_STEP = 200
"""More lines than any reader runs for one step of its budget."""

READERS = str(Path(tidegate.archives.formats.__file__).parent)


@dataclass
class Work:
    lines: int = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count the lines that modules of the mirror run in the block."""
    work, before = Work(), sys.gettrace()

    def line(_: FrameType, event: str, __: object) -> object:
        work.lines += event == "line"
        return line

    def call(frame: FrameType, _: str, __: object) -> object:
        return line if frame.f_code.co_filename.startswith(READERS) else None

    sys.settrace(call)
    try:
        yield work
    finally:
        sys.settrace(before)


# Tars


def pax(content: bytes, *, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A header with these notes for the file that follows."""
    return header("notes", len(content), kind=kind) + content + bytes(-len(content) % 512)


def many_notes() -> bytes:
    """A kilobyte that unpacks to a mebibyte of the shortest notes."""
    return gzip.compress(pax(b"5 a=\n" * (MIB // 5)) + header("last.stl", 0) + bytes(1024))


def notes_upon_notes() -> bytes:
    """Note after note, and never the file that they are about."""
    return gzip.compress(pax(b"5 a=\n" * (MIB // 5)) * 60)


def names_upon_names() -> bytes:
    """A long name is replaced by the next one, for ever."""
    return lzma.compress(pax(b"n" * MIB, kind=tarfile.GNUTYPE_LONGNAME) * 60, preset=0)


def folders_only() -> bytes:
    """Headers of which none is a file, so that no number of entries bounds them."""
    return gzip.compress(header("folder/", 0, kind=tarfile.DIRTYPE) * 400_000)


def endless_holes() -> bytes:
    """A list of holes that goes on from record to record."""
    record = bytearray(header("holes.img", 0, kind=tarfile.GNUTYPE_SPARSE))
    record[482:483] = b"\x01"
    holes = bytearray(512)
    holes[504] = 1
    return gzip.compress(checked(record) + bytes(holes) * 400_000)


def tiny_members() -> bytes:
    """Very many streams of a byte each, all of them inside one long name."""
    first = gzip.compress(header("x", MIB, kind=tarfile.GNUTYPE_LONGNAME))
    return first + gzip.compress(b"n", compresslevel=9) * 300_000


def empty_members() -> bytes:
    """Very many streams of nothing."""
    return gzip.compress(header("first.stl", 10)) + gzip.compress(b"") * 300_000


def empty_xz_streams() -> bytes:
    """The same for xz."""
    return lzma.compress(header("first.stl", 10)) + lzma.compress(b"") * 300_000


# Zips


def directory(entries: bytes, count: int = 1) -> bytes:
    """A zip that is nothing but its directory."""
    return entries + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(entries), 0, 0)


def zip_entry(name: bytes, extra: bytes = b"", size: int = 0) -> bytes:
    fields = (b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, size, len(name), len(extra), 0, 0, 0, 0, 0)
    return struct.pack("<4sHHHHHHIIIHHHHHII", *fields) + name + extra


def zip_folders() -> bytes:
    """Entries of which none is a file."""
    return directory(zip_entry(b"/") * 600_000)


def zip_extras() -> bytes:
    """Entries that announce their size in an extra field, among thousands of others in which it is not."""
    return directory(zip_entry(b"a.stl", bytes(65_532), 0xFFFFFFFF) * 500)


def zip_long_names() -> bytes:
    """Names as long as the format allows."""
    return directory(zip_entry(b"n" * 65_535) * 500)


def zip_ends() -> bytes:
    """A tail full of end records of which none is one."""
    return (b"PK\x05\x06" + b"\xff" * 18) * 3_000


# 7z


def seven_zip(header_bytes: bytes) -> bytes:
    """A 7z whose header is packed, so that a long one costs little."""
    packed = lzma.compress(header_bytes, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}])
    coder = b"\x21\x21\x01\x28"
    sizes = b"\x06\x00\x01\x09" + number7(len(packed)) + b"\x00"
    folders = b"\x07\x0b\x01\x00\x01" + coder + b"\x0c" + number7(len(header_bytes)) + b"\x00"
    return with_header(b"\x17" + sizes + folders + b"\x00", packed)


def number7(number: int) -> bytes:
    return b"\xff" + struct.pack("<Q", number)


def seven_zip_folders(count: int) -> bytes:
    return b"\x07\x0b" + number7(count) + b"\x00" + b"\x01\x01\x00" * count + b"\x0c" + b"\x01" * count + b"\x00"


def seven_zip_counts() -> bytes:
    """A header of sixteen mebibytes in a few kilobytes: as many packed streams as it has bytes."""
    return seven_zip(b"\x01\x04\x06\x00" + number7(15 * MIB) + b"\x09" + b"\x01" * (15 * MIB) + b"\x00\x00\x00")


def seven_zip_many_folders() -> bytes:
    """Millions of folders."""
    return seven_zip(b"\x01\x04" + seven_zip_folders(3 * MIB) + b"\x00\x00")


def seven_zip_repeated_streams() -> bytes:
    """What the folders hold, told again and again in two bytes each."""
    return seven_zip(b"\x01\x04" + seven_zip_folders(30_000) + b"\x08\x00" * 30_000 + b"\x00\x00")


def seven_zip_repeated_marks() -> bytes:
    """Which files are empty, told again and again in two bytes each."""
    return seven_zip(b"\x01\x05" + number7(4 * MIB) + b"\x0f\x00" * (4 * MIB) + b"\x00\x00")


def seven_zip_padding() -> bytes:
    """Nothing but padding."""
    return seven_zip(b"\x01\x05\x01" + b"\x19\x00" * (7 * MIB) + b"\x00\x00")


# RARs


def rar4_blocks() -> bytes:
    """The smallest blocks there are, none of them a file."""
    return b"Rar!\x1a\x07\x00" + block4(0x73, 0, bytes(6)) + block4(0x75, 0, b"") * 600_000


def rar4_names() -> bytes:
    """Unicode names as long as the format allows, restored character by character."""
    return rar4([Stored(b"a\x00\x00" + b"\x00a" * 32_000, 0, flags=0x0200)] * 600).content


def rar5_blocks() -> bytes:
    """The smallest blocks there are, none of them a file."""
    return b"Rar!\x1a\x07\x01\x00" + block5(1, 0, number5(0)) + block5(3, 0, b"") * 600_000


def rar5_records() -> bytes:
    """Headers full of the smallest records."""
    return b"Rar!\x1a\x07\x01\x00" + block5(1, 1, number5(0), extra=b"\x01\x00" * 900_000) * 10


def rar5_repeated_copies() -> bytes:
    """Header after header that leads to the same long list of copies."""
    heads = len(main5(0)) * 1_000
    record = number5(0) + number5(1) + number5(0)
    copies = (bytes(4) + number5(len(record)) + record) * 5_000
    service = block5(3, 2, number5(0), data=len(copies)) + copies
    placed = b"".join(main5(heads - at) for at in range(0, heads, len(main5(0))))
    return b"Rar!\x1a\x07\x01\x00" + placed + service + block5(5, 0, number5(0))


HOSTILE: list[tuple[str, Callable[[], bytes]]] = [
    *[("tar", make) for make in (many_notes, notes_upon_notes, names_upon_names, folders_only, endless_holes)],
    *[("tar", make) for make in (tiny_members, empty_members, empty_xz_streams)],
    *[("zip", make) for make in (zip_folders, zip_extras, zip_long_names, zip_ends)],
    *[("7z", make) for make in (seven_zip_counts, seven_zip_many_folders, seven_zip_repeated_streams)],
    *[("7z", make) for make in (seven_zip_repeated_marks, seven_zip_padding)],
    *[("rar", make) for make in (rar4_blocks, rar4_names, rar5_blocks, rar5_records, rar5_repeated_copies)],
]


@pytest.mark.parametrize(("form", "make"), HOSTILE, ids=[make.__name__ for _, make in HOSTILE])
async def test_an_archive_made_to_cost_much_is_read_within_its_limits(form: str, make: Callable[[], bytes]) -> None:
    """The child answers with what it read, within the processor time of an archive of that size; none is a failure."""
    contents = await listed(make(), form)
    assert set(contents.flags) <= {"contents_cut", "damaged", "encrypted"}
    assert sum(len(one.path) for one in contents.files) <= SandboxLimits().names


@pytest.mark.parametrize(("form", "make"), HOSTILE, ids=[make.__name__ for _, make in HOSTILE])
def test_the_work_for_any_archive_is_bounded(form: str, make: Callable[[], bytes]) -> None:
    """However the bytes are arranged, the lines run are those of so many steps."""
    budget = fresh_budget()
    budget.steps_left = steps = 2_000
    content = make()
    with counted() as work:
        listed_here(content, form, budget=budget)
    feeds = len(content) // 1_000 + 300  # packed bytes are handed on in pieces, which are no steps
    assert work.lines <= LINES_A_STEP * (steps + feeds)


async def test_a_kilobyte_of_notes_still_lists_its_file() -> None:
    """Many notes are odd and no crime: the file behind them is listed, uncut."""
    content = many_notes()
    assert len(content) < 4_000
    contents = await listed(content, "tar")
    assert ([one.path for one in contents.files], contents.flags) == (["last.stl"], [])


async def test_names_are_bounded_together() -> None:
    """Each name is short enough and there are few enough of them, but not both: the list is cut and says so."""
    archive = zipped(*[f"{number:04}" + "n" * 200 for number in range(300)])
    contents = await listed(archive, limits=SandboxLimits(names=20_000))
    assert 0 < len(contents.files) < 100
    assert contents.flags == ["contents_cut"]


async def test_headers_are_bounded_and_what_was_read_is_kept() -> None:
    """A set with more headers than are looked at is listed up to there, with a flag instead of a failure."""
    archive = tarred([(f"{number}.stl", 1) for number in range(300)])
    contents = await listed(archive, "tar", limits=SandboxLimits(steps=90))
    assert 0 < len(contents.files) <= 90
    assert contents.flags == ["contents_cut"]


def test_the_time_an_archive_has_grows_with_its_size() -> None:
    """Seconds for a small one; never more than the limit for any."""
    limits = SandboxLimits()
    assert limits.seconds_for(1_100) < 5
    assert limits.seconds_for(1_100) < limits.seconds_for(40 * MIB) <= limits.seconds_for(1 << 50) == limits.seconds


def test_a_path_of_very_many_folders_keeps_the_innermost() -> None:
    """The part that tells files apart is kept; a thousand folders are no one's."""
    deep = "/".join(f"f{number}" for number in range(500)) + "/gate.stl"
    safe = safe_path(deep).split("/")
    assert safe[-2:] == ["f499", "gate.stl"]
    assert len(safe) <= 100


# Any bytes, in every format


def tar_samples() -> list[bytes]:
    plain = tarred([("a.stl", 9), ("very/" * 40 + "long.stl", 600)])
    return [plain, gzip.compress(plain), lzma.compress(plain), pax(b"5 a=\n" * 90) + header("b.stl", 0)]


SAMPLES: dict[str, list[bytes]] = {
    "tar": tar_samples(),
    "zip": [zipped("a/b.stl", "c.stl"), directory(zip_entry(b"a", bytes(64), 0xFFFFFFFF) * 4)],
    "7z": [sample(name) for name in ("plain_header", "packed_header", "each_alone")],
    "rar": [rar4([Stored(b"b.stl", 9)]).content, rar5([Stored(b"c.stl", 9)]).content],
}


@pytest.mark.parametrize("form", SAMPLES)
@settings(deadline=None)
@given(data=st.data())
def test_no_change_of_an_archive_makes_work_without_bound(form: str, data: st.DataObject) -> None:
    """Stretches repeated, replaced and moved about: work stays in proportion to steps and bytes, and ends."""
    content = bytearray(data.draw(st.sampled_from(SAMPLES[form])))
    for _ in range(data.draw(st.integers(1, 4))):
        low = data.draw(st.integers(0, len(content)))
        high = data.draw(st.integers(low, min(len(content), low + 600)))
        times = data.draw(st.integers(0, 40))
        content[low:high] = bytes(content[low:high]) * times + data.draw(st.binary(max_size=9))
    if form == "7z" and len(content) >= 32:
        content = bytearray(with_header(header_of(bytes(content))))
    budget = fresh_budget()
    budget.steps_left = steps = 500
    with counted() as work:
        found, flags = listed_here(bytes(content), form, budget=budget)
    assert work.lines <= LINES_A_STEP * (steps + len(content) // 100 + 100)
    assert not found or "damaged" not in flags
