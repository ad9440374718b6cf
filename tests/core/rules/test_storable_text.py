"""Texts that PostgreSQL cannot hold as they are: replaced visibly, and read back from what is kept beside them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.rules.storable_text import NUL_SIGN, originals, storable, storable_json

ANY = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY, inner, max_size=4),
    max_leaves=8,
)


@given(text=ANY)
def test_whatever_comes_can_be_stored(text: str) -> None:
    """No NUL and no half of a pair is left, so that UTF-8 can hold it; doing it again changes nothing."""
    kept = storable(text)
    assert "\x00" not in kept
    kept.encode()
    assert storable(kept) == kept


@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00")))
def test_what_can_be_stored_is_not_touched(text: str) -> None:
    """Every other character of every language comes through as it is."""
    assert storable(text) == text
    assert originals({"text": text}) == {}


@given(text=ANY)
def test_the_original_can_be_read_back(text: str) -> None:
    """What was replaced is kept as JSON in plain ASCII, which any database holds."""
    kept = originals({"text": text})
    if storable(text) == text:
        assert kept == {}
    else:
        assert kept["text"].isascii()
        assert json.loads(kept["text"]) == text


@given(value=JSON)
def test_json_can_be_stored_down_to_its_names(value: object) -> None:
    """Names of fields come from outside as well."""
    text = json.dumps(storable_json(value), ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()


def test_what_is_replaced_is_seen() -> None:
    """By a sign in its place; two halves that belong together are the character they stand for."""
    assert storable("a\x00b") == f"a{NUL_SIGN}b"
    assert storable("a\ud83db\udc00") == "a\ufffdb\ufffd"
    assert storable("\ud83d\ude00") == "😀"
