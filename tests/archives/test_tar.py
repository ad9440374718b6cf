"""Lists of contents of tars that the standard library wrote, plain and packed, and of such as strangers would."""

from __future__ import annotations

import gzip
import lzma
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.archive_reading import Sparse, files, listed, listed_here
from tests.archives.tar_writer import checked, header, noisy, tarred
from tidegate.archives.formats.sandbox import SandboxLimits

GIB = 1 << 30
LONG = "very/" * 40 + "long.stl"
FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
DRAGON = [("dragon/head.stl", 2_000), ("größe 中文.stl", 5), (LONG, 7), ("empty.bin", 0)]


@pytest.mark.parametrize("how", FORMATS, ids=["ustar", "gnu", "pax"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
async def test_a_tar_is_listed_by_the_child(how: int, pack: object) -> None:
    """Names of any length and alphabet, and sizes, in every format and packing; folders are no files."""
    assert callable(pack)
    contents = await listed(pack(tarred(DRAGON, how)), "tar")
    assert (files(contents), contents.flags) == (DRAGON, [])


async def test_a_large_tar_is_listed_by_its_headers_alone() -> None:
    """Forty files of 9 GiB each: a block is fetched for each header, and nothing in between."""
    archive = Sparse()
    for number in range(40):
        archive.write(header(f"tower/{number}.stl", 9 * GIB))
        archive.skip(9 * GIB)
    archive.write(bytes(1024))
    contents = await listed(archive, "tar")
    assert (len(contents.files), contents.files[0].size) == (40, 9 * GIB)
    assert archive.fetched <= 41 * 64 * 1024


async def test_a_packed_tar_is_listed_as_far_as_may_be_fetched() -> None:
    """It has to be inflated from its start; beyond the limit the list is cut and says so, and nothing has failed."""
    archive = Sparse.of(gzip.compress(noisy(files=40, size=40_000)))
    contents = await listed(archive, "tar", limits=SandboxLimits(fetched=300 * 1024))
    assert 0 < len(contents.files) < 40
    assert contents.flags == ["contents_cut"]
    assert archive.fetched <= 300 * 1024
    assert len((await listed(archive, "tar")).files) == 40


async def test_a_packed_tar_is_fetched_in_growing_runs() -> None:
    """Calls are what is scarce: where all bytes are wanted, a call brings up to half a mebibyte of them."""
    archive = Sparse.of(gzip.compress(noisy(files=5, size=1_000_000)))
    await listed(archive, "tar")
    lengths = [length for _, length in archive.asked]
    assert lengths[:6] == [65_536, 65_536, 65_536, 131_072, 262_144, 524_288]
    assert max(lengths) == 524_288
    assert len(lengths) <= 15


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
async def test_a_bomb_is_inflated_only_so_far(pack: object) -> None:
    """A small file that inflates to very much is cut where the limit is."""
    assert callable(pack)
    bomb = pack(header("first.stl", 30 * 1024 * 1024) + bytes(30 * 1024 * 1024) + header("second.stl", 0))
    assert len(bomb) < 100_000
    contents = await listed(bomb, "tar", limits=SandboxLimits(inflated=4 * 1024 * 1024))
    assert (files(contents), contents.flags) == ([("first.stl", 30 * 1024 * 1024)], ["contents_cut"])


async def test_zstd_is_not_listed_and_says_so() -> None:
    """There is no reader of zstd in the standard library: kept, with an empty list and a flag of its own."""
    contents = await listed(b"\x28\xb5\x2f\xfd" + bytes(600), "tar")
    assert (contents.files, contents.flags) == ([], ["not_listed"])


async def test_sparse_files_have_their_real_size() -> None:
    """Holes are not stored; the size is that of the file with them, in the old way and the new."""
    old = bytearray(header("old.img", 512, kind=tarfile.GNUTYPE_SPARSE))
    old[482:483] = b"\x01"
    old[483:495] = b"%011o " % (5 * GIB)
    new = tarfile.TarInfo("GNUSparseFile.0/new.img")
    new.size = 512
    new.pax_headers = {"GNU.sparse.name": "new.img", "GNU.sparse.realsize": str(7 * GIB)}
    content = checked(old) + bytes(512) + bytes(512) + new.tobuf(tarfile.PAX_FORMAT) + bytes(512 + 1024)
    assert files(await listed(content, "tar")) == [("old.img", 5 * GIB), ("new.img", 7 * GIB)]


async def test_a_link_with_long_names_keeps_its_own() -> None:
    """Where it leads is told in a header of its own, before or after that with its name."""
    name, leads = f"{LONG}\x00".encode(), b"elsewhere/" * 20
    told = header("././@LongLink", len(name), kind=tarfile.GNUTYPE_LONGNAME) + name.ljust(512, b"\x00")
    target = header("././@LongLink", len(leads), kind=tarfile.GNUTYPE_LONGLINK) + leads.ljust(512, b"\x00")
    for order in (told + target, target + told):
        content = order + header("short", 0, kind=tarfile.LNKTYPE) + bytes(1024)
        assert files(await listed(content, "tar")) == [(LONG, 0)]


async def test_a_packed_tar_may_be_of_several_streams() -> None:
    """Packers that work in parallel write stream after stream."""
    content = tarred(DRAGON)
    for pack in (gzip.compress, lzma.compress):
        packed = pack(content[:700]) + pack(content[700:2_000]) + pack(content[2_000:])
        assert files(await listed(packed, "tar")) == DRAGON


async def test_a_tar_may_lack_its_end() -> None:
    """Some writers leave the empty records out."""
    content = tarred(DRAGON)
    end = len(content.rstrip(b"\x00")) + 511 & ~511
    for pack in (bytes, gzip.compress):
        assert files(await listed(pack(content[:end]), "tar")) == DRAGON


@pytest.mark.parametrize(
    "content",
    [
        b"no tar at all" * 90,
        tarred(DRAGON)[:1_500],
        gzip.compress(tarred(DRAGON))[:200],
        lzma.compress(tarred(DRAGON))[:150],
        b"\x1f\x8b" + b"?" * 90,
        header("big.stl", 1 << 40),
        checked(bytearray(header("a.stl", 0)[:124] + b"\xff" * 12 + header("a.stl", 0)[136:])),
        header("x", 1 << 30, kind=tarfile.XHDTYPE) + bytes(4_096),
    ],
    ids=["text", "cut off", "gz cut off", "xz cut off", "no gz", "beyond the end", "below zero", "endless name"],
)
async def test_a_damaged_tar_is_flagged(content: bytes) -> None:
    """S-41: what contradicts itself is no failure; nothing is believed of it."""
    contents = await listed(content, "tar")
    assert (contents.files, contents.flags) == ([], ["damaged"])


async def test_a_list_of_holes_that_never_ends_is_damaged() -> None:
    """A record that says that another follows, at the end of the bytes."""
    endless = bytearray(header("holes.img", 0, kind=tarfile.GNUTYPE_SPARSE))
    endless[482:483] = b"\x01"
    for pack in (bytes, gzip.compress):
        assert (await listed(pack(checked(endless)), "tar")).flags == ["damaged"]


@given(st.sampled_from(FORMATS), st.integers(0, 4_000), st.binary(min_size=1, max_size=12), st.booleans())
def test_noise_is_damaged_or_a_list(how: int, place: int, noise: bytes, packed: bool) -> None:
    """Whatever strangers write, reading it ends in a list or a flag and in nothing else."""
    content = bytearray(tarred([("a.stl", 9), (LONG, 600)], how))
    start = place // 512 * 512
    content[place : place + len(noise)] = noise
    content[start : start + 512] = checked(content[start : start + 512])
    found, flags = listed_here(gzip.compress(content) if packed else bytes(content), "tar")
    assert not found or "damaged" not in flags


@given(st.binary(max_size=1_200), st.sampled_from([b"", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"]))
def test_any_bytes_end(noise: bytes, start: bytes) -> None:
    """No traceback and no endless reading."""
    found, flags = listed_here(start + noise, "tar")
    assert found == [] or flags != ["damaged"]
