"""Spans as operators write them."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.durations import parse_span, span_text

spans = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=36_500))


@given(spans)
def test_a_span_that_is_shown_can_be_written_back(span: timedelta) -> None:
    """What `tidegate settings` prints is understood where settings are read."""
    assert parse_span(span_text(span)) == span


@given(st.integers(0, 10**9))
def test_a_bare_number_is_seconds(seconds: int) -> None:
    """A number without a unit counts seconds, as a number and as text."""
    assert parse_span(seconds) == parse_span(str(seconds)) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("written", "span"),
    [
        ("15s", timedelta(seconds=15)),
        (" 10M ", timedelta(minutes=10)),
        ("4h", timedelta(hours=4)),
        ("30d", timedelta(days=30)),
        ("250ms", timedelta(milliseconds=250)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("PT15S", timedelta(seconds=15)),
        ("P1DT12H", timedelta(hours=36)),
        (0.5, timedelta(milliseconds=500)),
    ],
)
def test_the_ways_to_write_a_span(written: object, span: timedelta) -> None:
    """Units, several units in a row, ISO 8601 and plain seconds all name the same spans."""
    assert parse_span(written) == span


@given(st.text())
def test_anything_else_is_refused_as_a_bad_value(text: str) -> None:
    """No text makes the reader fail in another way than by refusing it."""
    with contextlib.suppress(ValueError):
        parse_span(text)


@pytest.mark.parametrize(
    "written",
    ["", "soon", "15 parsecs", "s", "1h30", "nan", "inf", "P", "15:30", "9" * 400, "9" * 30 + "d", True, None, []],
)
def test_what_is_no_span_is_refused(written: object) -> None:
    """Words, half a span, switches and spans longer than time itself are refused, not guessed."""
    with pytest.raises(ValueError, match="not a span"):
        parse_span(written)
