"""Sentences of the engine on a page: no command is left in them, and the rest stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.rules.command_removal import without_commands


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Nothing of it says more.", "Nothing of it says more."),
        (
            "Every run is paused, so nothing is fired. Go on with: tidegate runs resume --all",
            "Every run is paused, so nothing is fired.",
        ),
        (
            'There is a reminder named "a" already; change it with: tidegate reminder edit',
            'There is a reminder named "a" already.',
        ),
        (
            'The account sees no group "x". See them with: tidegate channel list; new ones: tidegate channel sync.',
            'The account sees no group "x".',
        ),
        ("Run 7 is not there. See them with: tidegate runs list", "Run 7 is not there."),
    ],
)
def test_a_command_is_left_out(written: str, shown: str) -> None:
    """What is wrong stays; what to type does not."""
    assert without_commands(written) == shown


@given(st.lists(st.sampled_from(["It is so", "go on with: tidegate runs list", "a; tidegate web", "Yes"]), max_size=6))
def test_no_command_is_ever_left(pieces: list[str]) -> None:
    """However sentences are put together."""
    assert "tidegate " not in without_commands(". ".join(pieces))
