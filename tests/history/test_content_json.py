"""The content of a message is stored as JSON and read back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.message_content import PLAIN, MessageContent, MessageCounts
from tidegate.history.content_json import content_json, counts_json, read_content, read_counts

DETAILS = st.none() | st.dictionaries(st.text(), st.text() | st.integers(), min_size=1, max_size=3)
CONTENTS = st.builds(
    MessageContent, formatting=..., details=DETAILS, embeds=..., forward=..., reply=..., poll=..., preview=...
)


@given(content=CONTENTS)
def test_content_comes_back(content: MessageContent) -> None:
    """Every field, however it is filled."""
    assert read_content(content_json(content)) == content


@given(
    counts=st.builds(MessageCounts, views=..., voters=..., votes=st.none() | st.dictionaries(st.text(), st.integers()))
)
def test_numbers_come_back(counts: MessageCounts) -> None:
    """None stays apart from zero."""
    assert read_counts(counts_json(counts)) == counts


def test_a_plain_text_has_none() -> None:
    """Most messages are plain, and nothing is stored for them."""
    assert content_json(PLAIN) == {}
    assert read_content(None) == PLAIN


def test_a_field_of_a_later_version_is_left_out() -> None:
    """An older program reads what a newer one has stored."""
    assert read_content({"service": "joined", "hologram": {"depth": 3}}) == MessageContent(service="joined")
