"""Words of strangers within our own: no name turns the sentence around it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.template_filters import apart, brief, steady, timed

TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
names = st.text(st.sampled_from(f'{TURNS}abc שלום"7 .,'), max_size=30)


@given(name=names)
def test_no_name_turns_a_sentence(name: str) -> None:
    """Whatever a name is made of: of all marks that turn the writing only our own are left, one pair around a name."""
    told = steady(f'There is no account named "{name}"; it may have been removed.')
    assert re.fullmatch('([^\u2068\u2069]|"\u2068[^\u2068\u2069]+\u2069")*', told)
    assert not set(told) & set(TURNS) - {"\u2068", "\u2069"}


@given(name=names)
def test_nothing_else_of_a_name_is_lost(name: str) -> None:
    """Letters, signs and their order stay; only what nobody sees is added or taken."""
    plain = "".join(sign for sign in name if sign not in TURNS)
    for told in (apart(name), steady(name), brief(name)):
        assert "".join(sign for sign in told if sign not in TURNS) == plain


@pytest.mark.parametrize("sentence", ['"shop" works again.', "3 groups, 1 message", 'a "b" c "d"', "Zürich, Ω", ""])
def test_a_sentence_without_such_names_stays_as_it_is(sentence: str) -> None:
    """Most sentences: nothing is added that somebody would copy along."""
    assert steady(sentence) == sentence


def test_each_name_keeps_to_itself() -> None:
    """What stands between two names is ours, and reads as the sentence does."""
    assert steady('"א" and "ب" are the same group') == '"\u2068א\u2069" and "\u2068ب\u2069" are the same group'


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("until 2026-03-01 12:00:05 UTC, <b>", 'until <time datetime="2026-03-01T12:00:05+00:00"'),
        ("It starts 2026-03-01 12:00 UTC.", 'It starts <time datetime="2026-03-01T12:00:00+00:00"'),
        ("2026-99-01 12:00 UTC", "2026-99-01 12:00 UTC"),
        ("a <time>", "a &lt;time&gt;"),
    ],
)
def test_times_in_a_sentence_are_shown_in_the_readers_zone(sentence: str, shown: str) -> None:
    """They become elements that the page's script knows; the rest of the sentence is escaped."""
    made = timed(sentence)
    assert made.startswith(shown)
    assert "<b>" not in made
