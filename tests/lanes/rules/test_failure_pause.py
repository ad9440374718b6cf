"""How long an account rests after sends that failed one after the other."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.failure_pause import FAILURES, LONGEST, SHORTEST, rest_after


def test_single_failures_are_the_groups_own() -> None:
    """Two failures in a row hold nobody else up."""
    assert [rest_after(failures) for failures in range(FAILURES)] == [None] * FAILURES
    assert rest_after(FAILURES) == SHORTEST


@given(st.integers(FAILURES, 10_000))
def test_a_rest_grows_and_ends(failures: int) -> None:
    """Never shorter than the one before, never longer than ten minutes: sends resume by themselves."""
    rest, longer = rest_after(failures), rest_after(failures + 1)
    assert rest is not None
    assert longer is not None
    assert timedelta() < rest <= longer <= LONGEST
