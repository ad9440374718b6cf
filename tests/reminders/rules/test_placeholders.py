"""A text with its placeholder, worked out from what each group was to get."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.rules.placeholders import template_of

titles = st.lists(st.text(min_size=3, max_size=12), min_size=1, max_size=5, unique=True)
pieces = st.lists(st.sampled_from(["Good morning ", "{group}", "{{", "}}", "!", "new prices"]), max_size=6)


@given(titles=titles, pieces=pieces)
def test_what_is_found_gives_every_group_its_own_text(titles: list[str], pieces: list[str]) -> None:
    """Filled in for each title it is the text again, braces and all."""
    text = "".join(pieces)
    filled = [(title, text.format(group=title)) for title in titles]
    found = template_of(filled)
    if found is not None:
        assert [found.format(group=title) for title in titles] == [wanted for _, wanted in filled]


def test_the_groups_name_becomes_its_placeholder() -> None:
    """Two groups, one text; and no text is made up for what differs in another way."""
    assert template_of([("A", "Hi A {x}"), ("B", "Hi B {x}")]) == "Hi {group} {{x}}"
    assert template_of([("North", "same"), ("South", "same")]) == "same"
    assert template_of([("North", "one"), ("South", "two")]) is None
