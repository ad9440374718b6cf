"""Messages as a bot reads them: one line each, within its limits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.history.rules.context_lines import AnsweredMessage, ContextLine, age, line_of, within

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=14))
HELLO = ContextLine(NOW - timedelta(minutes=5), "Ada", 77, "hello")


def here(at: datetime) -> datetime:
    return at.astimezone(EAST)


def line(told: ContextLine) -> str:
    return line_of(told, now=NOW, here=here)


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        ({"seconds": -90}, "now"),
        ({"seconds": 59}, "now"),
        ({"seconds": 60}, "1m ago"),
        ({"minutes": 59, "seconds": 59}, "59m ago"),
        ({"hours": 1}, "1h ago"),
        ({"hours": 23, "minutes": 59}, "23h ago"),
        ({"days": 1}, "1d ago"),
        ({"days": 7}, "7d ago"),
        ({"days": 7, "seconds": 1}, "2026-03-03"),
        ({"days": 400}, "2025-02-03"),
    ],
)
def test_an_age_is_told_as_people_say_it(since: dict[str, int], shown: str) -> None:
    """Minutes, hours, days; beyond seven days the date with its year, where the reader is."""
    assert age(NOW - timedelta(**since), now=NOW, here=here) == shown


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (HELLO, "Ada(77): hello"),
        (replace(HELLO, author_id=None), "Ada: hello"),
        (replace(HELLO, author=""), "Somebody(77): hello"),
        (replace(HELLO, edited=True), "Ada(77): hello (edited)"),
        (replace(HELLO, deleted=True, hidden=True), "Ada(77): (deleted)"),
        (replace(HELLO, deleted=True), "Ada(77): hello (deleted)"),
        (replace(HELLO, answers=AnsweredMessage("Bob", "what is\nit?")), "Ada(77): ↪ Bob: what is ⏎ it? | hello"),
        (replace(HELLO, answers=AnsweredMessage("Bob", "word " * 20)), f"Ada(77): ↪ Bob: {'word ' * 7}word… | hello"),
        (replace(HELLO, answers=AnsweredMessage(None, None)), "Ada(77): ↪ a message that is not stored | hello"),
        (replace(HELLO, text="", holds=("file a.zip", "photo")), "Ada(77): [file a.zip] [photo]"),
        (replace(HELLO, forwarded="forwarded from Bob"), "Ada(77): [forwarded from Bob] hello"),
        (replace(HELLO, text="", service="joined"), "Ada(77): (joined)"),
    ],
)
def test_a_message_is_a_line(told: ContextLine, shown: str) -> None:
    """Who, what, to whom, and what became of it."""
    assert line(told) == f"[5m ago] {shown}"


def test_what_is_answered_is_told_with_its_first_forty_characters() -> None:
    """Forty are told whole; of more, the words that fit."""
    for text, shown in (
        ("x" * 40, "x" * 40),
        ("x" * 41, "x" * 40 + "…"),
        ("word " * 9, "word word word word word word word word…"),
    ):
        assert f"↪ Ada: {shown} |" in line(replace(HELLO, answers=AnsweredMessage("Ada", text)))


@given(text=st.text(), name=st.text(), file=st.text(), quoted=st.text())
def test_no_text_makes_a_second_line(text: str, name: str, file: str, quoted: str) -> None:
    """Nobody can write what looks like the line of somebody else."""
    told = replace(
        HELLO, text=text, author=name, holds=(file,), forwarded=quoted, service=file,
        answers=AnsweredMessage(name, quoted),
    )  # fmt: skip
    assert len(line(told).splitlines()) == 1


@given(lines=st.lists(st.text(max_size=20), max_size=12), most=st.integers(1, 100))
def test_a_budget_of_characters_is_kept(lines: list[str], most: int) -> None:
    """The newest that fit, and no more: the next older one would not have fitted."""
    kept = within(lines, most)
    assert sum(len(one) + 1 for one in kept) <= most
    whole = [] if kept and kept[-1] != lines[-1] else kept
    assert whole == lines[len(lines) - len(whole) :]
    if len(whole) < len(lines):
        assert sum(len(one) + 1 for one in lines[len(lines) - len(whole) - 1 :]) > most
    assert within(lines, None) == lines


def test_a_newest_line_that_is_too_long_is_cut() -> None:
    """Rather the beginning of the newest message than nothing."""
    assert within(["old", "a long line"], 7) == ["a lon…"]
    assert within([], 7) == []
