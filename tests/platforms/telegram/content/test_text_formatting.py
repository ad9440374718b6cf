"""Formatting: Telegram's UTF-16 units as characters of our text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from tests.platforms.telegram.content.posted import NOON, message, read
from tests.platforms.telegram.sample_objects import ENTITIES, sample
from tidegate.core.message_content import MessageKind, SpanKind, TextSpan
from tidegate.platforms.telegram.content.text_formatting import formatting_of, unheld

TEXTS = st.text(st.sampled_from("aé漢😀\u200f\n👍🏽"), max_size=30)
NUMBERS = st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 70)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def bold(offset: int, length: int) -> types.MessageEntityBold:
    return types.MessageEntityBold(offset, length)


def spans(text: str, *entities: Any) -> list[str]:
    """What of a text is formatted."""
    return [text[one.start : one.end] for one in formatting_of(text, entities)]


class TestOffsets:
    def test_a_character_of_two_units_counts_once(self) -> None:
        """Telegram counts an emoji as two, so every later offset is higher than our character's."""
        assert spans("😀😀 bold", bold(5, 4)) == ["bold"]
        assert formatting_of("😀😀 bold", [bold(5, 4)]) == (TextSpan(SpanKind.BOLD, 3, 7),)

    @given(before=TEXTS, inside=TEXTS.filter(bool), after=TEXTS)
    def test_every_span_covers_the_characters_it_was_made_for(self, before: str, inside: str, after: str) -> None:
        """Whatever stands before and behind it."""
        assert spans(before + inside + after, bold(units(before), units(inside))) == [inside]

    @given(text=TEXTS, offset=NUMBERS, length=NUMBERS)
    def test_a_broken_offset_never_leaves_the_text(self, text: str, offset: int, length: int) -> None:
        """Each span lies in the text and has a length, whatever the sender claims."""
        for one in formatting_of(text, [bold(offset, length)]):
            assert 0 <= one.start < one.end <= len(text)

    @given(text=TEXTS, offset=NUMBERS, length=NUMBERS)
    def test_a_span_that_says_less_is_kept_as_it_came(self, text: str, offset: int, length: int) -> None:
        """Either the span leads back to the very entity, or the entity stays in what Telegram sent."""
        found = formatting_of(text, [bold(offset, length)])
        back = [(units(text[: one.start]), units(text[one.start : one.end])) for one in found]
        assert (unheld(text, [bold(offset, length)]) == []) == (back == [(offset, length)])

    @pytest.mark.parametrize(
        ("offset", "length", "formatted"),
        [(0, 99, ["ab😀c"]), (-5, 6, ["a"]), (3, 1, ["😀"]), (2, 1, ["😀"]), (9, 1, []), (1, 0, []), (1, -1, [])],
    )
    def test_what_leaves_the_text_is_cut_or_dropped(self, offset: int, length: int, formatted: list[str]) -> None:
        """Half an emoji is taken as the whole one."""
        assert spans("ab😀c", bold(offset, length)) == formatted

    def test_ten_thousand_entities_are_read(self) -> None:
        """As many as a hostile sender likes, over one long text, each as small as it came."""
        text = "😀" * 4_096
        found = read(message(message=text, entities=[types.MessageEntityUrl(0, units(text))] * 10_000))
        assert len(found.content.formatting) == 10_000
        assert {one.target for one in found.content.formatting} == {""}


class TestKinds:
    @pytest.mark.parametrize("kind", ENTITIES, ids=lambda kind: kind.__name__)
    def test_every_kind_of_the_schema_is_found_again(self, kind: Any) -> None:
        """Its stretch is kept, and all that it says is in the span or in what Telegram sent."""
        entity = sample(kind, offset=0, length=4)
        found = read(message(message="harbour", entities=[entity]))
        [span] = found.content.formatting
        assert (span.start, span.end) == (0, 4)
        assert span.kind is not SpanKind.UNSUPPORTED or kind is types.MessageEntityUnknown
        told = [value for name, value in vars(entity).items() if name not in ("offset", "length")]
        kept = span.target + str(found.raw.get("entities", ""))
        assert all(str(getattr(value, "isoformat", lambda value=value: value)()) in kept for value in told)

    @pytest.mark.parametrize(
        ("entity", "kind", "target"),
        [
            (types.MessageEntityTextUrl(0, 1, "https://a.example"), SpanKind.LINK, "https://a.example"),
            (types.MessageEntityPre(0, 1, "python"), SpanKind.CODE_BLOCK, "python"),
            (types.MessageEntityMentionName(0, 1, 7), SpanKind.MENTION, "7"),
            (types.MessageEntityCustomEmoji(0, 1, 2**62), SpanKind.CUSTOM_EMOJI, str(2**62)),
            (types.MessageEntityFormattedDate(0, 1, NOON), SpanKind.DATE, str(int(NOON.timestamp()))),
            (types.MessageEntityDiffReplace(0, 1, "old"), SpanKind.REPLACED, "old"),
        ],
    )
    def test_a_span_says_what_it_stands_for(self, entity: Any, kind: SpanKind, target: str) -> None:
        """Addresses, languages, people and emoji come along."""
        assert formatting_of("x", [entity]) == (TextSpan(kind, 0, 1, target),)
        assert unheld("x", [entity]) == []

    def test_a_kind_nobody_knows_is_named(self) -> None:
        """The text stays a text; the stretch and the message say what is not understood, and it is kept."""

        class MessageEntityGlitter(types.MessageEntityBold):
            pass

        found = read(message(entities=[MessageEntityGlitter(0, 2)]))
        assert found.kind is MessageKind.TEXT
        assert found.content.formatting == (TextSpan(SpanKind.UNSUPPORTED, 0, 2, "MessageEntityGlitter"),)
        assert found.content.unsupported == "MessageEntityGlitter"
        assert found.raw == {"entities": [{"_": "MessageEntityGlitter", "offset": 0, "length": 2}]}

    def test_a_collapsed_quotation_is_kept_as_it_came(self) -> None:
        """A span does not say that it is collapsed; a plain one is held by its span."""
        collapsed = read(message(entities=[types.MessageEntityBlockquote(0, 2, collapsed=True)]))
        plain = read(message(entities=[types.MessageEntityBlockquote(0, 2)]))
        assert collapsed.content == plain.content
        assert collapsed.raw["entities"][0]["collapsed"] is True
        assert plain.raw == {}
