"""What a file's name says, and what it may be called on our disk."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.archives.rules.file_names import (
    HEAD,
    LONGEST_NAME,
    MEBIBYTE,
    ArchiveKind,
    ArchivePartName,
    FilePiece,
    ending,
    largest_piece,
    pieces,
    position,
    read_name,
    safe_name,
)

NORMAL, PREMIUM = largest_piece(premium=False), largest_piece(premium=True)
DOCUMENTS = ["pdf", "stl", "obj", "3mf", "step", "stp", "blend", "gcode", "svg", "dxf", "ai", "eps", "psd"]
MULTI = [kind for kind in ArchiveKind if not kind.is_single]
hostile = st.text(st.characters(), max_size=300) | st.lists(
    st.sampled_from(
        [
            "..",
            "/",
            "\\",
            ".",
            "C:",
            "\0",
            "\n",
            "con",
            "NUL",
            ".zip",
            "é",
            "\u202e",
            "\ud800",
            " ",
            "~",
            "\U0001f409" * 90,
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("name", "kind", "base", "number"),
    [
        ("Model.zip.001", ArchiveKind.SPLIT_ZIP, "model", 1),
        ("Model.7z.012", ArchiveKind.SPLIT_7Z, "model", 12),
        ("model.rar.003", ArchiveKind.SPLIT_RAR, "model", 3),
        ("model.part1.rar", ArchiveKind.RAR_PARTS, "model", 1),
        ("model.part01.rar", ArchiveKind.RAR_PARTS, "model", 1),
        ("model.part001.rar", ArchiveKind.RAR_PARTS, "model", 1),
        ("model.rar", ArchiveKind.RAR, "model", HEAD),
        ("model.r00", ArchiveKind.RAR, "model", 1),
        ("model.r01", ArchiveKind.RAR, "model", 2),
        ("model.z01", ArchiveKind.ZIP, "model", 1),
        ("model.zip", ArchiveKind.ZIP, "model", HEAD),
        ("model.001", ArchiveKind.SPLIT, "model", 1),
        ("model.7z", ArchiveKind.SEVEN_ZIP, "model.7z", HEAD),
        ("a.tar", ArchiveKind.TAR, "a.tar", HEAD),
        ("a.tar.gz", ArchiveKind.TAR, "a.tar.gz", HEAD),
        ("a.tgz", ArchiveKind.TAR, "a.tgz", HEAD),
        ("a.tar.xz", ArchiveKind.TAR, "a.tar.xz", HEAD),
        ("a.tar.zst", ArchiveKind.TAR, "a.tar.zst", HEAD),
        ("plan.PDF", ArchiveKind.DOCUMENT, "plan.pdf", HEAD),
        ("dragon.3mf", ArchiveKind.DOCUMENT, "dragon.3mf", HEAD),
        ("x.part1.rar.001", ArchiveKind.SPLIT_RAR, "x.part1", 1),
        ("../../x.part2.rar", ArchiveKind.RAR_PARTS, "x", 2),
        ("x.zip\u202e\n", ArchiveKind.ZIP, "x", HEAD),
    ],
)
def test_every_style_of_name_is_read(name: str, kind: ArchiveKind, base: str, number: int) -> None:
    """The ten patterns, first match first: case ignored, numbers as numbers."""
    assert read_name(name) == ArchivePartName(kind, base, number)


@pytest.mark.parametrize("extension", DOCUMENTS)
def test_every_kind_of_document_is_kept(extension: str) -> None:
    """Documents people collect are archives of one file."""
    read = read_name(f"part.{extension}")
    assert read is not None
    assert read.kind is ArchiveKind.DOCUMENT


@pytest.mark.parametrize(
    "name", ["", "photo.jpg", "x.zip.000", "x.part0.rar", "x.z00", "x.01", "zip", "x.zip.1", "x.\u0660\u0660\u0661"]
)
def test_other_files_are_left_alone(name: str) -> None:
    """Numbers start at 1 and are written in plain digits."""
    assert read_name(name) is None


@given(name=hostile)
def test_reading_a_name_never_fails(name: str) -> None:
    """A name is a stranger's word."""
    read = read_name(name)
    assert read is None or read.number >= read.kind.first


@given(kind=st.sampled_from(MULTI), number=st.integers(0, 99))
def test_an_ending_is_read_as_the_part_it_names(kind: ArchiveKind, number: int) -> None:
    """What a person is told to look for is what would be accepted."""
    number = max(number, kind.first)
    assert read_name(f"model{ending(kind, number)}") == ArchivePartName(kind, "model", number)


@given(kind=st.sampled_from(ArchiveKind), numbers=st.lists(st.integers(1, 400), unique=True))
def test_only_a_spanned_zip_ends_with_its_head(kind: ArchiveKind, numbers: list[int]) -> None:
    """S-79: rar, r00, r01 but z01, z02, zip."""
    ordered = sorted([HEAD, *numbers], key=lambda number: position(kind, number))
    assert ordered.index(HEAD) == (len(numbers) if kind is ArchiveKind.ZIP else 0)


class TestSafeNames:
    @pytest.mark.parametrize(
        ("name", "safe"),
        [
            ("../../x.zip", "x.zip"),
            ("..\\..\\x.zip", "x.zip"),
            ("/etc/passwd", "passwd"),
            ("C:\\x.zip", "x.zip"),
            ("C:x.zip", "C_x.zip"),
            ("..", "file"),
            ("", "file"),
            ("x/", "file"),
            ("\0\n\x7f", "file"),
            ("x\0.zip", "x.zip"),
            ("gpj\u202epiz.zip", "gpjpiz.zip"),
            ("x.zip. . ", "x.zip"),
            ("NUL.zip", "_NUL.zip"),
            ("con", "_con"),
            ("a<b>|c?.zip", "a_b__c_.zip"),
            ("Dragon Größe 7.part01.rar", "Dragon Größe 7.part01.rar"),
        ],
    )
    def test_s84_a_hostile_name_stays_in_its_folder(self, name: str, safe: str) -> None:
        """S-84: directories, controls and reserved words go; a decent name stays as it is."""
        assert safe_name(name) == safe

    def test_a_long_name_keeps_the_ending_of_its_part(self) -> None:
        """Two parts of a set with a long name must not end up under one name."""
        names = [safe_name("d" * 400 + f".part{number}.rar") for number in (1, 2)]
        assert names[0].endswith(".part1.rar")
        assert len(set(names)) == 2

    @given(name=hostile)
    def test_no_name_leaves_its_folder(self, name: str) -> None:
        """Whatever a stranger writes: one component, printable, short enough, and not a word of any system."""
        safe = safe_name(name)
        assert posixpath.normpath(f"folder/{safe}") == f"folder/{safe}"
        assert safe.isprintable()
        assert not set(safe) & set('/\\<>:"|?*')
        assert len(safe.encode()) <= LONGEST_NAME
        assert safe.split(".")[0].strip().lower() not in {"con", "nul", "aux", "prn", "com1", "lpt9"}
        assert safe_name(safe) == safe


class TestPieces:
    def test_s54_the_limit_is_one_piece_and_a_byte_more_is_two(self) -> None:
        """S-54: 1950 MiB for a normal account, 3950 MiB for a premium one."""
        for mebibytes, largest in ((1950, NORMAL), (3950, PREMIUM)):
            exact = mebibytes * MEBIBYTE
            assert pieces("x.rar", exact, largest) == [FilePiece("x.rar", 0, exact)]
            assert pieces("x.rar", exact + 1, largest) == [
                FilePiece("x.rar.001", 0, exact),
                FilePiece("x.rar.002", exact, 1),
            ]

    @given(size=st.integers(0, 5_000), largest=st.integers(1, 700))
    def test_pieces_are_the_file_without_a_gap(self, size: int, largest: int) -> None:
        """Joined in order they are the file again, none above the limit, all equal but the last."""
        cut = pieces("x", size, largest)
        assert sum(piece.size for piece in cut) == size
        assert [piece.offset for piece in cut] == [number * largest for number in range(len(cut))]
        assert all(piece.size == largest for piece in cut[:-1])
        assert cut[-1].size <= largest
        assert len({piece.name for piece in cut}) == len(cut)

    @given(size=st.integers(1_001, 9_000))
    def test_pieces_are_found_again_as_one_set(self, size: int) -> None:
        """A mirror that reads our destination sees one archive, in the right order."""
        read = [read_name(piece.name) for piece in pieces("x.part3.rar", size, 500)]
        assert read == [ArchivePartName(ArchiveKind.SPLIT_RAR, "x.part3", number) for number in range(1, len(read) + 1)]
