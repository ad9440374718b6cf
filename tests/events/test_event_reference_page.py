"""docs/events.md, which is written from the event kinds."""

from __future__ import annotations

import re

from tidegate.events.event_reference_page import page
from tidegate.events.kinds import KINDS


def test_every_kind_is_on_the_page() -> None:
    """Each has its heading once, so that a link to it finds it."""
    assert sorted(re.findall(r"^### `(.+)`$", page(), flags=re.MULTILINE)) == sorted(KINDS)


def test_types_are_in_words() -> None:
    """An optional field says so; null is named only where it is stored."""
    [filed] = re.findall(r"### `archive\.filed`.*?(?=###)", page(), flags=re.DOTALL)
    assert "| `flags` | list of text |" in filed
    assert "| `contents` | number; may be missing |" in filed
    assert "| `duplicate_of` | number or null; may be missing |" in filed
