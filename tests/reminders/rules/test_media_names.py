"""Which names of files are plain, whoever gave them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.rules.media_names import LONGEST_NAME, MOST_BYTES, plain_file_name, sent_file_name


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", ".ssh", "/etc/passwd", "a/b.png", "../b.png", "a\\b.png", "\\\\host\\share\\b.png", "C:b.png",
        "c:\\b.png", "a\x00.png", "a\nb.png", "a\x1b[2J.png", "a\x9b.png", "gnp\u202e.exe", "a\u2066b.png",
        "a\u200bb.png", "a\u2028.png", " a.png", "a.png ", "a\ud800.png", "x" * (LONGEST_NAME + 1), "名" * 90,
        "a\uff0fb.png", "\u2024\u2024", "a\uff3cb", "\uff23\uff1ab.png", "\ufe52env", "\u2100.png",
    ],
)  # fmt: skip
def test_a_name_that_is_not_plain_is_refused_with_a_reason(name: str) -> None:
    """Paths, drives, hidden files, invisible characters and look-alikes of them never become the name of a file."""
    with pytest.raises(ValueError, match="The file needs a plain name"):
        plain_file_name(name)


@pytest.mark.parametrize("name", ["poster.png", "Menü 12:30.jpg", "価格表.pdf", "a..b.png", "très bon.png", "x" * 200])
def test_ordinary_names_of_any_language_are_plain(name: str) -> None:
    """Nobody has to rename a file because of its language or a dot in it."""
    assert plain_file_name(name) == unicodedata.normalize("NFC", name)


def test_two_ways_to_write_one_name_are_one_name() -> None:
    """A Mac writes é as two characters, a form as one; both mean the same file."""
    assert plain_file_name("cafe\u0301.png") == plain_file_name("caf\u00e9.png")


@given(st.text(max_size=300))
def test_what_is_taken_stays_in_its_folder(name: str) -> None:
    """Whatever is taken has no step to another folder in it, is bounded, and is taken again as it is."""
    try:
        plain = plain_file_name(name)
    except ValueError:
        return
    assert not set("/\\\x00") & set(unicodedata.normalize("NFKC", plain))
    assert plain.isprintable()
    assert plain[0] != "."
    assert len(plain.encode()) <= MOST_BYTES
    assert plain_file_name(plain) == plain


@given(st.text(max_size=300))
def test_what_is_sent_is_named_without_its_folder(name: str) -> None:
    """A stored path tells the groups nothing of the disk it came from."""
    sent = sent_file_name(name)
    assert sent
    assert not set("/\\") & set(sent)
    assert sent.isprintable()


def test_the_name_that_is_sent_is_the_last_step() -> None:
    """The groups see poster.png, wherever the operator keeps it."""
    assert [sent_file_name(one) for one in ("poster.png", "/home/me/poster.png", "a\\poster.png", "..")] == [
        "poster.png", "poster.png", "poster.png", "file",
    ]  # fmt: skip
