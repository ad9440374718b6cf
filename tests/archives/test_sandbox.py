"""Lists of contents, read by the child from archives that real packers and strangers made."""

from __future__ import annotations

import gzip
import lzma
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.archive_reading import listed, listed_here
from tests.archives.rar_writer import Stored, rar4, rar5
from tests.archives.seven_zip_samples import DRAGON, sample
from tests.archives.tar_writer import tarred
from tests.archives.zip_writer import zipped
from tidegate.archives.formats.sandbox import (
    ArchiveContents,
    ContentsSandbox,
    NotListed,
    Read,
    SandboxLimits,
    safe_path,
)


def paths(contents: ArchiveContents) -> list[str]:
    return [one.path for one in contents.files]


async def test_a_zip_is_listed_by_the_child() -> None:
    """Names and sizes as the packer wrote them; folders are no files, and nothing is flagged."""
    contents = await listed(zipped("dragon/head.stl", "dragon/", "größe.txt", comment=b"with a comment" * 200))
    assert [(one.path, one.size, one.encrypted) for one in contents.files] == [
        ("dragon/head.stl", 15, False), ("größe.txt", 9, False),
    ]  # fmt: skip
    assert (contents.flags, contents.volumes) == ([], 1)


async def test_an_encrypted_zip_is_listed_and_flagged() -> None:
    """S-41: a password on the entries leaves their names readable; the archive says that it is encrypted."""
    content = bytearray(zipped("secret.stl"))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    contents = await listed(bytes(content))
    assert (paths(contents), contents.flags) == (["secret.stl"], ["encrypted"])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        b"no zip at all" * 50,
        zipped("a.stl", "b.stl")[:-30],
        zipped("a.stl").replace(b"PK\x01\x02", b"PK\x09\x09"),
    ],
    ids=["empty", "two bytes", "text", "cut off", "no entries"],
)
async def test_a_damaged_zip_is_flagged_and_has_an_empty_list(content: bytes) -> None:
    """S-41: what cannot be read is no failure; nothing is believed of it."""
    contents = await listed(content)
    assert (contents.files, contents.flags) == ([], ["damaged"])


async def test_a_directory_that_lies_about_its_size_is_damaged() -> None:
    """A directory announced as larger than the whole archive is not looked for."""
    content = bytearray(zipped("a.stl"))
    end = content.rindex(b"PK\x05\x06")
    struct.pack_into("<I", content, end + 12, len(content) * 2)
    assert (await listed(bytes(content))).flags == ["damaged"]


async def test_a_bomb_is_only_as_large_as_its_list() -> None:
    """Nothing is inflated for a list: an entry that claims four gigabytes costs its name."""
    content = bytearray(zipped("bomb.bin"))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, 0xFFFFFFFE)
    [bomb] = (await listed(bytes(content))).files
    assert bomb.size == 0xFFFFFFFE


async def test_thousands_of_entries_are_bounded() -> None:
    """A list beyond the limit is cut there and says so."""
    contents = await listed(zipped(*[f"{number}.stl" for number in range(3_000)]), limits=SandboxLimits(entries=1_200))
    assert (len(contents.files), contents.flags) == (1_200, ["contents_cut"])


async def test_a_zip_with_something_in_front_is_listed() -> None:
    """Programs that unpack themselves, and volumes read one after the other: offsets in the directory may be wrong."""
    assert paths(await listed(b"a program" * 10_000 + zipped("inside.stl"))) == ["inside.stl"]


async def test_a_large_zip_is_listed_by_its_large_records() -> None:
    """Above 65,535 entries or 4 GiB the numbers stand in records of their own."""
    plain = zipped("huge.bin")
    at, end = plain.index(b"PK\x01\x02"), plain.rindex(b"PK\x05\x06")
    entry = bytearray(plain[at:end])
    struct.pack_into("<I", entry, 24, 0xFFFFFFFF)
    struct.pack_into("<H", entry, 30, 12)
    entry += struct.pack("<HHQ", 1, 8, 1 << 40)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(entry), at)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, at + len(entry), 1)
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    [huge] = (await listed(plain[:at] + bytes(entry) + record + locator + last)).files
    assert (huge.path, huge.size) == ("huge.bin", 1 << 40)


async def test_a_directory_in_more_bytes_than_may_be_fetched_is_cut() -> None:
    """What was read is kept, and the flag says that there is more."""
    many = zipped(*[f"{'n' * 200}{number}" for number in range(1_000)])
    contents = await listed(many, limits=SandboxLimits(fetched=3 * 65_536))
    assert 0 < len(contents.files) < 1_000
    assert contents.flags == ["contents_cut"]


async def test_the_child_may_not_take_all_memory() -> None:
    """A list that needs more memory than allowed ends the child, not Tidegate."""
    tight = SandboxLimits(memory=8 * 1024 * 1024)
    with pytest.raises(NotListed, match="memory"):
        await listed(zipped(*[f"{'n' * 300}{number}" for number in range(15_000)]), limits=tight)


async def test_the_child_may_not_take_all_time() -> None:
    """A child that does not answer in its time is ended."""
    with pytest.raises(NotListed, match="time"):
        await listed(zipped("a.stl"), limits=SandboxLimits(seconds=0))


async def test_one_child_lists_many_archives_and_is_replaced_when_it_is_ended() -> None:
    """A child that died of one archive is no trouble for the next; one that did not goes on."""
    small, greedy = zipped("a.stl"), lzma.compress(tarred([("b.stl", 9)]), preset=9)

    def reading(content: bytes) -> Read:
        async def read(offset: int, length: int) -> bytes:
            return content[offset : offset + length]

        return read

    async with ContentsSandbox(SandboxLimits(memory=60 * 1024 * 1024)) as reader:
        for _ in range(3):
            assert paths(await reader.read("zip", len(small), reading(small))) == ["a.stl"]
        assert reader.children == 1
        for _ in range(2):
            with pytest.raises(NotListed, match="memory"):
                await reader.read("tar", len(greedy), reading(greedy))
            assert paths(await reader.read("zip", len(small), reading(small))) == ["a.stl"]
        assert reader.children == 3


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (zipped("a.stl"), ["a.stl"]),
        (rar4([Stored(b"b.stl", 9)]).content, ["b.stl"]),
        (rar5([Stored(b"c.stl", 9)]).content, ["c.stl"]),
        (tarred([("d.stl", 9)]), ["d.stl"]),
        (gzip.compress(tarred([("e.stl", 9)])), ["e.stl"]),
        (sample("packed_header"), sorted(DRAGON)),
        (b"a film, perhaps" * 99, []),
        (b"", []),
    ],
    ids=["zip", "rar 4", "rar 5", "tar", "tar.gz", "7z", "a film", "nothing"],
)
async def test_pieces_of_unknown_type_are_read_as_what_they_begin_like(content: bytes, found: list[str]) -> None:
    """``x.001`` says nothing of its type; where the first bytes do not either, there is nothing inside to list."""
    contents = await listed(content, "whatever")
    assert (sorted(paths(contents)), contents.flags) == (found, [])


async def test_an_error_while_fetching_reaches_the_caller() -> None:
    """What the road to the bytes raises is not mistaken for a damaged archive."""

    async def read(offset: int, length: int) -> bytes:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        async with ContentsSandbox() as reader:
            await reader.read("zip", 1_000, read)


@given(st.binary(max_size=400), st.integers(0, 400), st.binary(max_size=8))
def test_noise_is_damaged_or_a_list(noise: bytes, place: int, change: bytes) -> None:
    """Whatever strangers write, reading it ends in a list or a flag and in nothing else."""
    changed = bytearray(zipped("a/b.stl", "c.stl"))
    changed[place : place + len(change)] = change
    for content in (noise, bytes(changed)):
        entries, flags = listed_here(content, "zip")
        assert not entries or "damaged" not in flags


@given(st.text(max_size=60) | st.text("./\\ ab:", max_size=30))
def test_a_path_never_leads_out(path: str) -> None:
    """S-84: no root, no way up, no drive, no control character, whatever the archive says."""
    safe = safe_path(path)
    steps = safe.split("/")
    assert all(step.strip(". ") and "\\" not in step and ":" not in step for step in steps)
    assert safe.isprintable()


def test_paths_keep_their_folders() -> None:
    """A folder inside the archive helps to find a file; the way out of it does not."""
    assert safe_path("../../etc/passwd") == "etc/passwd"
    assert safe_path("C:\\tower\\gate.stl") == "C_/tower/gate.stl"
    assert safe_path("/..") == "file"
