"""Which pieces of a text a search has found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.search.rules.highlights import around_first, highlighted


@pytest.mark.parametrize(
    ("text", "typed", "marked"),
    [
        ("The red dragon", ["Red"], ["red"]),
        ("Dragons, dragon-like; no undragon", ["dragon"], ["Dragons", "dragon"]),
        ("a red, red rose", ["red rose"], ["red", "red", "rose"]),
        ("我们明天去北京大学", ["北京"], ["北京"]),
        ("北京 和 北京", ["北京"], ["北京", "北京"]),
        ("北京北京大学 abc", ["北京", "大"], ["北京北京大"]),
        ("北京abc京", ["北京", "abc"], ["北京abc京"]),
        ("猫" * 20_000, ["猫"], ["猫" * 20_000]),
        ("猫犬" * 10_000, ["猫"], ["猫"] * 10_000),
        ("nothing here", ["tower"], []),
        ("\uff37\uff49\uff44\uff45 letters", ["wide"], ["\uff37\uff49\uff44\uff45"]),
    ],
)
def test_words_are_marked_as_they_are_found(text: str, typed: list[str], marked: list[str]) -> None:
    """From the beginning of a word, whatever its case and width; inside a run without spaces anywhere."""
    assert [piece for piece, found in highlighted(text, typed) if found] == marked


@given(text=st.text(), typed=st.lists(st.text(), max_size=3))
def test_the_pieces_are_the_text(text: str, typed: list[str]) -> None:
    """Nothing is lost or added, whatever was typed."""
    assert "".join(piece for piece, _ in highlighted(text, typed)) == text


@given(
    before=st.text(alphabet="ab ", max_size=300), after=st.text(alphabet="ab ", max_size=300), most=st.integers(9, 90)
)
def test_an_excerpt_shows_the_first_match(before: str, after: str, most: int) -> None:
    """However far back in a long text it stands."""
    pieces = highlighted(f"{before} tide {after}", ["tide"])
    assert ("tide", True) in around_first(pieces, most)
