"""The content of a message is stored as JSON and read back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.stored_json import JSON, places, put, with_unknown_keys
from tidegate.core.message_content import (
    NO_COUNTS,
    PLAIN,
    Forward,
    MessageContent,
    MessageCounts,
    OriginKind,
    Reply,
    SpanKind,
    TextSpan,
)
from tidegate.history.content_json import answered_channel, content_json, counts_json, read_content, read_counts
from tidegate.search.rules.searchable_content import content_texts

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


SPAN = TextSpan(SpanKind.BOLD, 0, 3)
WITH_KINDS = MessageContent(
    formatting=(SPAN, SPAN),
    reply=Reply(quote="that", formatting=(SPAN,)),
    forward=Forward(OriginKind.CHANNEL, name="News", text="forwarded"),
)
UNKNOWN_KINDS = st.text(min_size=1).filter(lambda text: text not in {*SpanKind, *OriginKind})


def kinds_in(stored: Any, at: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Where the kinds are that only some values are allowed for."""
    return (place for place in places(stored, at) if place and place[-1] == "kind")


class TestAnotherVersion:
    @given(content=CONTENTS, unknown=UNKNOWN_KINDS | JSON, data=st.data())
    def test_a_kind_of_a_later_version_fails_nothing(self, content: MessageContent, unknown: Any, data: Any) -> None:
        """In every field that has a kind, whatever stands there; all other fields are read as they are."""
        stored = content_json(content)
        known = [place for place in kinds_in(stored) if place[0] in ("formatting", "reply", "forward")]
        if known:
            put(stored, data.draw(st.sampled_from(known)), unknown)
        found = read_content(stored)
        others = ("poll", "preview", "service", "details", "mentions", "texts", "marks", "via", "expires_at")
        assert [getattr(found, name) for name in others] == [getattr(content, name) for name in others]

    @pytest.mark.parametrize("place", [("formatting", 1), ("reply", "formatting", 0)])
    def test_an_unknown_formatting_is_unsupported(self, place: tuple[int | str, ...]) -> None:
        """Its place in the text stays, and the message says what it has."""
        stored = content_json(WITH_KINDS)
        put(stored, (*place, "kind"), "marquee")
        found = read_content(stored)
        assert found.reply is not None
        spans = [*found.formatting, *found.reply.formatting]
        assert [one.kind for one in spans].count(SpanKind.UNSUPPORTED) == 1
        assert (len(spans), found.unsupported) == (3, "marquee")

    def test_an_unknown_origin_keeps_what_was_forwarded(self) -> None:
        """The text of a forward can be all that a message has."""
        stored = content_json(WITH_KINDS)
        put(stored, ("forward", "kind"), "story")
        assert read_content(stored).forward == Forward(OriginKind.HIDDEN, name="News", text="forwarded")

    @given(content=CONTENTS, keys=st.dictionaries(st.text(), JSON, max_size=3))
    def test_unknown_keys_are_left_out_at_any_depth(self, content: MessageContent, keys: dict[str, Any]) -> None:
        """A later version may store more about anything."""
        later = {f"later {name}": value for name, value in keys.items()}
        assert read_content(with_unknown_keys(content_json(content), later, free=("details", "mentions"))) == content

    @given(content=CONTENTS, value=JSON, data=st.data())
    def test_anything_anywhere_fails_nothing(self, content: MessageContent, value: Any, data: Any) -> None:
        """A field may change its form; what does not fit is left out, and search reads the same row."""
        stored = deepcopy(content_json(content))
        found = list(places(stored))
        if found:
            put(stored, data.draw(st.sampled_from(found)), value)
        assert isinstance(read_content(stored), MessageContent)
        assert all(isinstance(text, str) for text in content_texts(stored))
        answered_channel(stored)

    @given(value=JSON)
    def test_a_document_that_is_something_else_fails_nothing(self, value: Any) -> None:
        """Not even an object."""
        assert isinstance(read_content(value), MessageContent)
        assert isinstance(read_counts(value), MessageCounts)
        assert isinstance(content_texts(value), list)

    def test_a_number_that_is_none_is_not_known(self) -> None:
        """The others stay."""
        assert read_counts({"views": "many", "forwards": 3}) == MessageCounts(forwards=3)
        assert read_counts({"votes": {"1": "most"}}) == NO_COUNTS
