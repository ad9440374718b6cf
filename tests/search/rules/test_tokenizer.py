"""Which words a text is found by: any script, any case, any width."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.search.rules.tokenizer import author_asked, author_tags, folded, quoted, vector, words_of


def spelled(text: str) -> list[str]:
    return [word.text for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Red_Dragon-v2/left.wing.STL", ["red", "dragon", "v2", "left", "wing", "stl"]),
        ("Привет, МИР!", ["привет", "мир"]),
        ("Straße", ["strasse"]),
        ("\uff26\uff55\uff4c\uff4c\u3000\uff57\uff49\uff44\uff54\uff48", ["full", "width"]),
        ("cafe\u0301 = caf\u00e9", ["café", "café"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("العَرَبِيَّة", ["العَرَبِيَّة"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("東京都", ["東京", "京都", "都"]),
        ("ラーメン", ["ラー", "ーメ", "メン", "ン"]),
        ("ﾗｰﾒﾝ", ["ラー", "ーメ", "メン", "ン"]),
        ("ไทย", ["ไท", "ทย", "ย"]),
        ("iPhone手机", ["iphone", "手机", "机"]),
        ("猫、犬", ["猫", "犬"]),
        ("... !? 👍", []),
    ],
)
def test_words_of_any_language(text: str, words: list[str]) -> None:
    """Letters, digits and the marks on them; what writes no spaces is cut into pairs."""
    assert spelled(text) == words


@given(st.text())
def test_every_letter_is_in_a_word(text: str) -> None:
    """Nothing that is written gets lost, and words stand in the order of the text."""
    found = words_of(text)
    joined = "".join(word.text for word in found)
    assert all(letter in joined for letter in folded(text) if letter.isalnum())
    assert [word.at for word in found] == sorted({word.at for word in found})


@given(st.text(), st.text())
def test_case_and_width_make_no_difference(text: str, other: str) -> None:
    """A text is found as it is typed in another case."""
    assert spelled(text) == spelled(folded(text))
    assert spelled(f"{text} {other}") == spelled(text) + spelled(other)


@given(st.lists(st.text(), max_size=4))
def test_a_word_is_short_enough_to_be_stored(texts: list[str]) -> None:
    """PostgreSQL takes words of up to 2,046 bytes; a text of any length has none longer."""
    assert all(len(word.text.encode()) <= 2_046 for text in texts for word in words_of(text * 1_000))


@pytest.mark.parametrize("text", ["-" * 300, "> " * 10_000, "\n" * 201])
def test_a_long_text_without_a_word_has_no_words(text: str) -> None:
    """A line of signs is a message like any other, and keeps no other from being stored."""
    assert vector([text]) == ""
    assert re.fullmatch(r"'by:1' 'tide':\d", vector([text, "tide"], ["by:1"]))


def test_a_phrase_does_not_reach_over_two_texts() -> None:
    """Between the text of a message and the name of its file there is a step too many."""
    assert vector(["red dragon", "", "wing"]) == "'red':1 'dragon':2 'wing':4"
    assert vector(["a b a"], ["has:file"]) == "'has:file' 'a':1 'b':2 'a':3"
    assert vector(["red\x01dragon", "wing"]) == "'red':1 'dragon':2 'wing':4"


ASCII = st.text("aB9 .'\\\x01\x7f\n_-", max_size=30) | st.just("x" * 201) | st.just("a b " * 600)


@given(st.lists(ASCII | st.text(max_size=8), max_size=5))
def test_a_row_is_found_by_every_word_of_its_texts(texts: list[str]) -> None:
    """Each word is in its order, and between two texts there is a step, however plain the texts are."""
    places = placed(vector(texts, ["has:file"]))
    said = [[word.text for word in words_of(text)] for text in texts]
    assert [places[place] for place in sorted(places)] == [word for words in said for word in words]
    at = 0
    for words in filter(None, said):
        assert not at or at + 1 not in places
        first = min(place for place in places if place > at)
        at = first + len(words) - 1
        assert [places[place] for place in range(first, at + 1)] == words


def placed(written: str) -> dict[int, str]:
    """The words of a vector by their places."""
    found = re.findall(r"'((?:[^']|'')*)'(?::([0-9,]+))?", written)
    return {int(place): word for word, places in found for place in places.split(",") if place}


@given(st.text(), st.text())
def test_no_text_makes_a_tag(text: str, name: str) -> None:
    """Whatever somebody writes, it cannot pass for an author or for a file."""
    assert not {word.text for word in words_of(text)} & {"has:file", *author_tags(name, 7)}


@given(st.text(min_size=1))
def test_an_author_is_found_by_the_beginning_of_any_word_of_the_name(name: str) -> None:
    """The whole name, a later word on, or only its first letters; in any case."""
    tags = author_tags(name, None)
    for part in name.replace("\x00", "").split()[:3]:
        asked = author_asked(part)
        assert not asked or any(tag.startswith(asked) for tag in tags)


def test_an_author_is_also_found_by_number() -> None:
    """The number as a whole, so that 12 is not 123."""
    assert author_tags("Ada Lovelace", 12) == ["author:ada lovelace", "author:lovelace", "by:12"]
    assert author_asked("  ") == ""


def test_signs_are_quoted() -> None:
    """A name may hold whatever ends a word elsewhere."""
    assert quoted("o'b\\") == r"'o''b\\'"
