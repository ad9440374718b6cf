"""What a search asks for, as people type it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import BadInput
from tidegate.search.rules.query_language import Query, read_query
from tidegate.search.rules.tokenizer import words_of

EAST = timezone(timedelta(hours=8))


def here(time: datetime) -> datetime:
    return time.replace(tzinfo=EAST)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("Red dragon", "'red':* & 'dragon':*"),
        ("red_dragon red", "'red':* & 'dragon':*"),
        ('"Red dragon" wing', "'red' <1> 'dragon' & 'wing':*"),
        ("tower -red", "'tower':* & !('red':*)"),
        ('tower -"red dragon"', "'tower':* & !('red' <1> 'dragon')"),
        ("red OR blue tower", "(('red':*) | ('blue':*)) & 'tower':*"),
        ('red OR "blue sky" OR green', "(('red':*) | ('blue' <1> 'sky') | ('green':*))"),
        ("cat OR wi-fi tower", "(('cat':*) | ('wi':* & 'fi':*)) & 'tower':*"),
        ("wi-fi OR cat", "(('wi':* & 'fi':*) | ('cat':*))"),
        ("tower -e-mail", "'tower':* & !('e' <1> 'mail':*)"),
        ("tower -東京都", "'tower':* & !('東京' <1> '京都')"),
        ("tower -猫", "'tower':* & !('猫':*)"),
        ("red or blue", "'red':* & 'or':* & 'blue':*"),
        ("from:Ada -has:poll", "'author:ada':* & !('has:poll')"),
        ("has:image has:link", "'has:image' & 'has:link'"),
        ("-tower from:Ada", "'author:ada':* & !('tower':*)"),
        ('"re:zero" note: 12:30', "'re' <1> 'zero' & 'note':* & '12':* & '30':*"),
        ('"red dragon', "'red' <1> 'dragon'"),
        ("東京都", "'東京' <1> '京都'"),
        ("猫", "'猫':*"),
        ("猫、犬", "'猫':* & '犬':*"),
        ('"iPhone手机 red"', "'iphone' <1> '手机' <2> 'red'"),
        ("has:file", "'has:file'"),
        ("tower author:Ada has:file", "'tower':* & 'author:ada':* & 'has:file'"),
        ('AUTHOR:"Ada L"', "'author:ada l':*"),
        ("author:12", "('author:12':* | 'by:12')"),
        ("author:-1007", "('author:-1007':* | 'by:-1007')"),
        ("author:o'hara", "'author:o''hara':*"),
        ("http://example", "'http':* & 'example':*"),
        ("c++ $1 & | !", "'c':* & '1':*"),
    ],
)
def test_words_phrases_and_filters(typed: str, asked: str) -> None:
    """Each as PostgreSQL looks it up; other signs are no operators."""
    assert read_query(typed, here).row_query == asked


def test_days_begin_where_the_reader_is() -> None:
    """A day from its beginning, before it or after; a month or a year as well, or an instant written out."""
    day = datetime(2026, 3, 1, tzinfo=EAST)
    assert read_query("after:2026-03-01 before:2026-03-02", here) == Query(after=day, before=day + timedelta(days=1))
    assert read_query("after:2026-03", here).after == day
    assert read_query("after:2026", here).after == datetime(2026, 1, 1, tzinfo=EAST)
    assert read_query("after:2026-03-01T00:00", here).after == day
    assert read_query("before:2026-03-01T00:00Z", here).before == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("", "There is no word"),
        ('""', "There is no word"),
        ("...", "There is no word"),
        ("x author:", "Nothing follows author:"),
        ('x author:" "', "Nothing follows author:"),
        ("author:a author:b", "author: twice"),
        ("x has:wings", "has: supports only image, video"),
        ("x author:a from:b", "from: twice"),
        ("x colour:red", "no filter colour:"),
        ("x -from:Ada", "cannot exclude by from:"),
        ("-tower", "There is no word"),
        ("-has:file", "There is no word"),
        ("OR tower", "cannot begin with OR"),
        ("tower OR OR red", "cannot begin with OR"),
        ("tower OR", "Nothing follows OR"),
        ("tower OR from:Ada", "OR joins words"),
        ('tower OR ""', "Nothing follows OR"),
        ("tower OR ... red", "Nothing follows OR"),
        ("tower OR -red", "OR joins words"),
        ("x before:soon", "before:soon is not a date"),
        ("x after:2026-02-30", "after:2026-02-30 is not a date"),
        ("x after:0000", "after:0000 is not a date"),
        ("x before:0001-01-01", "before:0001-01-01 is not a date"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(typed: str, sentence: str) -> None:
    """bad-input-gets-a-sentence: what was wrong and what to write instead."""
    with pytest.raises(BadInput, match=sentence):
        read_query(typed, here)


@given(st.text())
def test_any_text_is_a_search_or_a_sentence(typed: str) -> None:
    """Nothing a person types breaks it, and every word typed is asked for."""
    try:
        query = read_query(typed, here)
    except BadInput:
        return
    for word in (one for text in query.typed for one in words_of(text)):
        assert word.text in query.row_query


@given(text=st.text(alphabet="東京都の天気猫ไทยa ", min_size=1), start=st.integers(0, 20), length=st.integers(1, 6))
def test_what_stands_inside_a_run_is_asked_for_as_it_stands_there(text: str, start: int, length: int) -> None:
    """A word cut out of a text without spaces asks for pairs that the text has, at the same distance."""
    piece = text[start : start + length]
    if not piece.strip() or " " in piece or "a" in piece:
        return
    have = {(word.text, word.at) for word in words_of(text)}
    pairs = [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
    firsts = [at for word, at in have if word.startswith(pairs[0])]
    assert any(
        all(any(word.startswith(pair) and at == first + step for word, at in have) for step, pair in enumerate(pairs))
        for first in firsts
    )
    assert read_query(piece, here).row_query.count("<1>") == len(pairs) - 1
