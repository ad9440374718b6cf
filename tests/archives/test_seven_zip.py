"""Lists of contents of 7z archives that 7-Zip itself wrote (samples/README.md), and of such as strangers would."""

from __future__ import annotations

import lzma
import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.archive_reading import Sparse, files, fresh_budget, listed, listed_here
from tests.archives.seven_zip_samples import DRAGON, header_of, sample, with_header
from tidegate.archives.formats.seven_zip_header import HeaderBytes

GIB = 1 << 30


def packed_header(header: bytes, method: bytes, properties: bytes, packed: bytes) -> bytes:
    """A header that was packed by one method."""
    coder = bytes([0x20 | len(method)]) + method + bytes([len(properties)]) + properties
    sizes = b"\x06\x00\x01\x09\xc0" + struct.pack("<H", len(packed)) + b"\x00"
    folders = b"\x07\x0b\x01\x00\x01" + coder + b"\x0c" + b"\xc0" + struct.pack("<H", len(header)) + b"\x00"
    return with_header(b"\x17" + sizes + folders + b"\x00", packed)


@pytest.mark.parametrize("name", ["packed_header", "plain_header", "each_alone", "filtered"])
async def test_a_7z_is_listed_by_the_child(name: str) -> None:
    """Names and sizes as the packer wrote them, empty files too; folders are no files, and nothing is flagged."""
    contents = await listed(sample(name), "7z")
    assert (dict(files(contents)), contents.flags) == (DRAGON, [])
    assert len(contents.files) == len(DRAGON)


async def test_an_empty_7z_has_an_empty_list() -> None:
    """An archive of nothing is not damaged."""
    contents = await listed(sample("empty"), "7z")
    assert (contents.files, contents.flags) == ([], [])


async def test_a_password_on_the_files_leaves_their_names() -> None:
    """S-41: the files that have content are encrypted, and the archive says so."""
    contents = await listed(sample("encrypted"), "7z")
    assert dict(files(contents)) == DRAGON
    assert {one.path for one in contents.files if not one.encrypted} == {"dragon/nothing.bin"}
    assert contents.flags == ["encrypted"]


async def test_a_password_on_the_names_leaves_nothing() -> None:
    """S-41: an encrypted header is an empty list with a flag, and no failure."""
    contents = await listed(sample("hidden"), "7z")
    assert (contents.files, contents.flags) == ([], ["encrypted"])


async def test_pieces_of_a_7z_are_read_as_one() -> None:
    """S-80: the header may lie across the border of two pieces."""
    content = sample("packed_header")
    for border in (10, 32, len(content) - 40):
        contents = await listed(content, "7z", parts=(border, len(content) - border))
        assert dict(files(contents)) == DRAGON


async def test_forty_gibibytes_are_listed_from_their_ends() -> None:
    """Only the start and the header at the end are fetched, however much lies between."""
    content = sample("plain_header")
    start = struct.pack("<QQI", 40 * GIB, len(header_of(content)), crc32(header_of(content)))
    archive = Sparse()
    archive.write(content[:8] + struct.pack("<I", crc32(start)) + start)
    archive.skip(40 * GIB)
    archive.write(header_of(content))
    assert dict(files(await listed(archive, "7z"))) == DRAGON
    assert (len(archive.asked), archive.fetched <= 2 * 64 * 1024) == (2, True)


@pytest.mark.parametrize("form", ["lzma", "lzma2", "copied"])
async def test_a_header_is_unpacked_by_its_method(form: str) -> None:
    """Packers choose: LZMA of both generations, or nothing at all. A window of 4 GiB is not taken at its word."""
    header = header_of(sample("plain_header"))
    if form == "lzma":
        packed = lzma.compress(header, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 4096}])
        content = packed_header(header, b"\x03\x01\x01", b"\x5d\xff\xff\xff\xff", packed)
    elif form == "lzma2":
        packed = lzma.compress(header, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}])
        content = packed_header(header, b"\x21", b"\x28", packed)
    else:
        content = packed_header(header, b"\x00", b"\x00", header)
    assert dict(files(await listed(content, "7z"))) == DRAGON


async def test_a_header_that_nobody_here_unpacks_says_so() -> None:
    """Not damaged, and not a failure: the list is empty and the flag says that it was not read."""
    content = packed_header(header_of(sample("plain_header")), b"\x03\x04\x01", b"\x00", b"ppmd")
    contents = await listed(content, "7z")
    assert (contents.files, contents.flags) == ([], ["not_listed"])


async def test_a_header_that_leads_to_itself_ends() -> None:
    """A loop is damaged after a few turns."""
    inner = (
        b"\x17\x06\x00\x01\x09" + bytes([28]) + b"\x00\x07\x0b\x01\x00\x01\x21\x00\x00\x0c" + bytes([28]) + b"\x00\x00"
    )
    inner += bytes(28 - len(inner))
    assert (await listed(with_header(inner), "7z")).flags == ["damaged"]


@pytest.mark.parametrize(
    "header",
    [
        b"\x01\x05\xff" + b"\xff" * 8 + b"\x00",
        b"\x01\x05\xf3\xff\xff\xff\xff\x00",
        b"\x01\x04\x07\x0b\xff" + b"\xff" * 8,
        b"\x17\x06\xff" + b"\xff" * 8 + b"\xff" * 9,
        b"\x01\x04\x07\x0b\x01\x00\x01\x10\x21\xff" + b"\x7f" * 16,
        b"\x02",
        b"\x01\x05\x02\x11\x05\x00a\x00\x00\x00\x00\x00",
    ],
    ids=["files", "fewer files", "folders", "packed streams", "steps", "no header", "fewer names than files"],
)
async def test_counts_that_lie_are_damaged(header: bytes) -> None:
    """A count without end is not begun: nothing is allocated for it."""
    contents = await listed(with_header(header), "7z")
    assert (contents.files, contents.flags) == ([], ["damaged"])


async def test_a_header_larger_than_any_is_left_unread() -> None:
    """A bomb, or a list beyond reason: kept and flagged as cut, without fetching it."""
    archive = Sparse()
    start = struct.pack("<QQI", 0, GIB, 0)
    archive.write(b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", crc32(start)) + start)
    archive.skip(GIB)
    contents = await listed(archive, "7z")
    assert (contents.files, contents.flags, len(archive.asked)) == ([], ["contents_cut"], 1)
    header = header_of(sample("plain_header"))
    bomb = packed_header(header, b"\x21", b"\x28", b"x").replace(
        b"\xc0" + struct.pack("<H", len(header)), b"\xf0\xff\xff\xff\x7f"
    )
    start = struct.pack("<QQI", 1, len(bomb) - 33, crc32(bomb[33:]))
    bomb = bomb[:8] + struct.pack("<I", crc32(start)) + start + bomb[32:]
    assert (await listed(bomb, "7z")).flags == ["contents_cut"]


@pytest.mark.parametrize("content", [b"", b"7z", b"no 7z at all" * 9, sample("packed_header")[:-20]])
async def test_a_damaged_7z_is_flagged(content: bytes) -> None:
    """S-41: what cannot be read is no failure; nothing is believed of it."""
    contents = await listed(content, "7z")
    assert (contents.files, contents.flags) == ([], ["damaged"])


@given(st.integers(0, 300), st.binary(min_size=1, max_size=6), st.sampled_from(["plain_header", "each_alone"]))
def test_a_changed_header_is_damaged_or_a_list(place: int, noise: bytes, name: str) -> None:
    """Whatever strangers write, and even with right checksums, reading ends in a list or a flag."""
    content = sample(name)
    header = bytearray(header_of(content))
    header[place % len(header) : place % len(header) + len(noise)] = noise
    packed = content[32 : len(content) - len(header_of(content))]
    found, flags = listed_here(with_header(bytes(header), packed), "7z")
    assert not found or "damaged" not in flags


@given(st.binary(max_size=120), st.booleans())
def test_any_header_ends(noise: bytes, packed: bool) -> None:
    """Noise where a header should be is never more than damaged."""
    found, flags = listed_here(with_header((b"\x17" if packed else b"\x01") + noise), "7z")
    assert found == [] or flags != ["damaged"]


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_every_length_are_read(number: int) -> None:
    """Each number has a first byte that says how many follow; all that a packer may choose are read alike."""
    shortest = next(n for n in range(9) if n == 8 or number < 1 << (7 * n + 7))
    for following in range(shortest, 9):
        low = (number & (1 << 8 * following) - 1).to_bytes(following, "little")
        high = number >> 8 * following if following < 8 else 0
        first = (0xFF00 >> following & 0xFF) | high
        assert HeaderBytes(bytes([first]) + low, fresh_budget()).number() == number
