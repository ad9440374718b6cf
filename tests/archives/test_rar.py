"""Lists of contents of RARs of both generations, alone, in volumes and cut into pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.archive_reading import Sparse, files, joined, listed, listed_here
from tests.archives.rar_writer import UNICODE, Habits, Stored, in_volumes, rar4, rar5
from tidegate.archives.formats.sandbox import SandboxLimits

GIB = 1 << 30
Make = Callable[..., Sparse]
both = pytest.mark.parametrize("make", [rar4, rar5])

dragon = [
    Stored(b"dragon", 0, folder=True),
    Stored(b"dragon/head.stl", 300_000),
    Stored(b"dragon/tail.stl", 70_000),
    Stored(b"readme.txt", 5),
]
inside = [("dragon/head.stl", 300_000), ("dragon/tail.stl", 70_000), ("readme.txt", 5)]


def cut(make: Make, stored: Sequence[Stored], largest: int) -> list[Sparse]:
    volumes = in_volumes(stored, largest)
    return [make(held, Habits(followed=number < len(volumes))) for number, held in enumerate(volumes, start=1)]


def sizes(volumes: Sequence[Sparse]) -> tuple[int, ...]:
    return tuple(volume.size for volume in volumes)


@both
async def test_a_rar_is_listed_by_the_child(make: Make) -> None:
    """Names and sizes as the packer wrote them; folders are no files, and nothing is flagged."""
    contents = await listed(make(dragon), "rar volumes")
    assert files(contents) == inside
    assert (contents.flags, contents.followed) == ([], False)


@both
async def test_a_file_over_several_volumes_is_told_once(make: Make) -> None:
    """S-75, S-79: each volume has headers of its own; a file that goes on in the next is one file of its whole size."""
    volumes = cut(make, dragon, 100_000)
    contents = await listed(joined(*volumes), "rar volumes", parts=sizes(volumes))
    assert len(volumes) == 4
    assert (files(contents), contents.followed) == (inside, False)


@both
@pytest.mark.parametrize("end", [True, False], ids=["with its end", "without an end"])
async def test_a_volume_says_that_another_follows(make: Make, end: bool) -> None:
    """S-77: by its last block, or where that is missing because its last file goes on."""
    volumes = [
        make(held, Habits(followed=number < 4, end=end))
        for number, held in enumerate(in_volumes(dragon, 100_000), start=1)
    ]
    contents = await listed(joined(*volumes[:2]), "rar volumes", parts=sizes(volumes[:2]))
    assert (files(contents), contents.followed) == (inside[:1], True)


@both
async def test_pieces_of_a_rar_are_one_file(make: Make) -> None:
    """S-80: ``x.rar.001`` is cut anywhere; a header may lie in two pieces."""
    content = make(dragon).content
    for border in (5, 20, 60, 300_050, len(content) - 3):
        contents = await listed(content, "rar", parts=(border, len(content) - border))
        assert files(contents) == inside


@both
async def test_a_large_rar_is_listed_by_its_headers_alone(make: Make) -> None:
    """Forty files of a gibibyte each: a block is fetched for each header, and nothing in between."""
    archive = make([Stored(b"tower/%02d.stl" % number, GIB) for number in range(40)])
    contents = await listed(archive, "rar volumes")
    assert len(contents.files) == 40
    assert archive.fetched <= 42 * 64 * 1024


async def test_copies_of_the_headers_are_read_together() -> None:
    """Where the packer kept them for quick opening, a list of hundreds of large files costs a few reads."""
    archive = rar5([Stored(b"tower/%03d.stl" % number, GIB) for number in range(500)], Habits(copies=True))
    contents = await listed(archive, "rar volumes")
    assert (len(contents.files), contents.flags) == (500, [])
    assert len(archive.asked) <= 4


async def test_wrong_copies_are_not_believed() -> None:
    """A list of copies that makes no sense is left aside, and the headers are read where they stand."""
    archive = rar5(dragon, Habits(copies=True))
    place = max(start for start, piece in archive.pieces.items() if b"QO" in piece)
    archive.pieces[place] = bytes(len(archive.pieces[place]))
    assert (await listed(archive, "rar volumes")).flags == ["damaged"]  # for the walk comes there too
    archive = rar5(dragon, Habits(copies=True))
    piece = archive.pieces[place]
    archive.pieces[place] = piece[: piece.index(b"QO") + 2] + b"\xff" * (len(piece) - piece.index(b"QO") - 2)
    assert files(await listed(archive, "rar volumes")) == inside


@both
async def test_names_behind_a_password(make: Make) -> None:
    """S-41: encrypted headers leave an empty list; encrypted files alone are listed, with the flag."""
    assert (await listed(make(dragon, Habits(hidden=True)), "rar volumes")).flags == ["encrypted"]
    contents = await listed(make([Stored(b"secret.stl", 9, encrypted=True)]), "rar volumes")
    assert (files(contents), contents.flags) == ([("secret.stl", 9)], ["encrypted"])


@both
async def test_huge_sizes_are_told(make: Make) -> None:
    """Above 4 GiB the numbers are longer, and so is the way to the next header."""
    contents = await listed(make([Stored(b"huge.bin", 9 * GIB), Stored(b"last.txt", 3)]), "rar volumes")
    assert files(contents) == [("huge.bin", 9 * GIB), ("last.txt", 3)]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (b"plain.stl", "plain.stl"),
        ("größe.stl".encode(), "größe.stl"),
        ("größe.stl".encode("cp437"), "größe.stl"),
        (b"gr__e\x00\x04" + bytes([0b00001000]) + b"gr\x16\x04" + b"e", "grЖe"),
        (b"abcdef.stl\x00\x04" + bytes([0b11010000]) + b"\x04" + b"\x36" + b"x", "abcdefжx"),
        (b"abcdef.stl\x00\x04" + bytes([0b11000000]) + b"\x81\x10", "ѱѲѳ"),
    ],
    ids=["plain", "utf-8", "old alphabet", "single characters", "a copied stretch", "a moved stretch"],
)
async def test_names_of_the_old_generation(name: bytes, told: str) -> None:
    """Names were written in several ways; the Unicode one is a difference to the plain one."""
    contents = await listed(rar4([Stored(name, 1, flags=UNICODE if b"\x00" in name else 0)]), "rar volumes")
    assert files(contents) == [(told, 1)]


@both
async def test_names_do_not_lead_out(make: Make) -> None:
    """S-84: a path is one inside the archive, whatever it says."""
    contents = await listed(make([Stored(b"..\\..\\etc\\passwd", 1)]), "rar volumes")
    assert files(contents) == [("etc/passwd", 1)]


@both
async def test_a_walk_that_is_too_long_keeps_what_it_has(make: Make) -> None:
    """A list that lies all over the archive is cut at the limit and says so; nothing has failed."""
    archive = make([Stored(b"%d.stl" % number, GIB) for number in range(30)], Habits(followed=True))
    contents = await listed(archive, "rar volumes", limits=SandboxLimits(reads=10))
    assert 5 <= len(contents.files) < 30
    assert (contents.flags, contents.followed, len(archive.asked)) == (["contents_cut"], False, 10)
    contents = await listed(archive, "rar volumes", limits=SandboxLimits(fetched=64 * 1024 * 7))
    assert (len(contents.files) < 10, contents.flags) == (True, ["contents_cut"])


@both
@pytest.mark.parametrize("change", [b"", b"no rar", b"Rar!\x1a\x07\x01\x00", b"Rar!\x1a\x07\x00abc"])
async def test_what_is_no_rar_is_damaged(make: Make, change: bytes) -> None:
    """S-41: kept, flagged, with an empty list: nothing there, something else, cut short, a broken header."""
    assert (await listed(change + b"?" * 40, "rar volumes")).flags == ["damaged"]
    content = make(dragon).content
    for broken in (content[:-50_000], content.replace(b"tail", b"tale")):
        contents = await listed(broken, "rar volumes")
        assert (contents.files, contents.flags) == ([], ["damaged"])


@given(
    st.sampled_from([partial(rar4), partial(rar5), partial(rar5, policy=Habits(copies=True))]),
    st.integers(0, 400),
    st.binary(min_size=1, max_size=12),
    st.lists(st.integers(1, 200), max_size=3),
    st.sampled_from(["rar", "rar volumes", "whatever"]),
)
def test_noise_is_damaged_or_a_list(make: Make, place: int, noise: bytes, parts: list[int], form: str) -> None:
    """Whatever strangers write, reading it ends in a list or a flag and in nothing else."""
    content = bytearray(make([Stored(b"a/b.stl", 40), Stored(b"c.stl", 9)]).content)
    content[place : place + len(noise)] = noise
    rest = len(content) - sum(parts)
    found, flags = listed_here(bytes(content), form, (*parts, rest) if rest > 0 else ())
    assert not found or "damaged" not in flags


@given(st.binary(max_size=300), st.sampled_from([b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00"]))
def test_any_bytes_after_the_signature(noise: bytes, signature: bytes) -> None:
    """No traceback and no endless walk, however the first block lies about its length."""
    found, flags = listed_here(signature + noise, "rar volumes")
    assert found == [] or flags != ["damaged"]
