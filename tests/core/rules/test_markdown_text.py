"""Markdown as it is shown."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.message_content import SpanKind, TextSpan
from tidegate.core.rules.markdown_text import MarkdownReader, formatted

NAMES = {"<@5>": "Ada", "<#6>": "general", "<@&7>": "crew"}
MARKS = "*_~|`<>[]()\\\n#-: "


def shown(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """The shown text, and each stretch as kind, text and target."""
    said, spans = formatted(text, NAMES)
    return said, [(span.kind.value, said[span.start : span.end], span.target) for span in spans]


@pytest.mark.parametrize(
    ("text", "said", "stretches"),
    [
        ("**a**", "a", [("bold", "a", "")]),
        ("*a* _b_", "a b", [("italic", "a", ""), ("italic", "b", "")]),
        ("__a__", "a", [("underline", "a", "")]),
        ("~~a~~", "a", [("strike", "a", "")]),
        ("||a||", "a", [("spoiler", "a", "")]),
        ("***a***", "a", [("bold", "a", ""), ("italic", "a", "")]),
        ("___a___", "a", [("underline", "a", ""), ("italic", "a", "")]),
        ("**a *b* c**", "a b c", [("bold", "a b c", ""), ("italic", "b", "")]),
        ("**a****b**", "ab", [("bold", "a", ""), ("bold", "b", "")]),
        ("||a||||b||", "ab", [("spoiler", "a", ""), ("spoiler", "b", "")]),
        ("`**a**`", "**a**", [("code", "**a**", "")]),
        ("``a`b``", "a`b", [("code", "a`b", "")]),
        ("```py\na = 1\n```", "a = 1", [("code block", "a = 1", "py")]),
        ("```py```", "py", [("code block", "py", "")]),
        ("> a\n> **b**\nc", "a\nb\nc", [("quote", "a\nb", ""), ("bold", "b", "")]),
        ("> ```\n> a\n> ```", "a", [("quote", "a", ""), ("code block", "a", "")]),
        (">>> a\n# b", "a\nb", [("quote", "a\nb", ""), ("heading", "b", "1")]),
        ("# a\n## b\n### c", "a\nb\nc", [("heading", "a", "1"), ("heading", "b", "2"), ("heading", "c", "3")]),
        ("-# *a*", "a", [("small", "a", ""), ("italic", "a", "")]),
        ("- a\n  * *b*\n1. c", "• a\n  • b\n1. c", [("italic", "b", "")]),
        ("[a **b**](https://c.example/x)", "a b", [("link", "a b", "https://c.example/x"), ("bold", "b", "")]),
        ("[a](<https://c.example>)", "a", [("link", "a", "https://c.example")]),
        ("[a](https://c.example/B_(d))", "a", [("link", "a", "https://c.example/B_(d)")]),
        (
            "see https://a.example/b.",
            "see https://a.example/b.",
            [("link", "https://a.example/b", "https://a.example/b")],
        ),
        ("(https://a.example)", "(https://a.example)", [("link", "https://a.example", "https://a.example")]),
        ("<https://a.example>", "https://a.example", [("link", "https://a.example", "https://a.example")]),
        ("<@5> <@!5>", "@Ada @Ada", [("mention", "@Ada", "5")] * 2),
        ("<#6> <@&7>", "#general @crew", [("mention", "#general", "#6"), ("mention", "@crew", "&7")]),
        ("<@8> <#9>", "@8 #9", [("mention", "@8", "8"), ("mention", "#9", "#9")]),
        ("@everyone, @here", "@everyone, @here", [("mention", "@everyone", "everyone"), ("mention", "@here", "here")]),
        ("<:wave:8><a:run:9>", ":wave::run:", [("custom emoji", ":wave:", "8"), ("custom emoji", ":run:", "9")]),
        ("<t:0>", "01 January 1970 00:00 UTC", [("date", "01 January 1970 00:00 UTC", "0")]),
        ("<t:60:t>", "00:01 UTC", [("date", "00:01 UTC", "60")]),
        ("</play now:5>", "/play now", [("command", "/play now", "")]),
        (r"\*a\*", "*a*", []),
    ],
)
def test_what_is_shown(text: str, said: str, stretches: list[tuple[str, str, str]]) -> None:
    """Each mark of the language; outer stretches stand before those inside them."""
    assert shown(text) == (said, stretches)


@pytest.mark.parametrize(
    "text",
    [
        "", "plain", "2 * 3 * 4", "snake_case_name", "**a", "a**", "*a", "||a|", "~a~", "`a", "```", "```\n```", "````",
        "#a", "# ", "-", ">a", "[a]", "[a](b)", "[a](javascript:alert(1))", "<@>", "<@x>", "<t:x>",
        "<t:9999999999999>", "http://", "https://.", "****", "||||", "a\\b", "<script>", "<:a:>", "*a *",
    ],
)  # fmt: skip
def test_a_mark_without_its_counterpart_is_shown(text: str) -> None:
    """What only looks like a mark stays as it was written."""
    assert formatted(text) == (text, ())


def test_a_link_is_never_within_another() -> None:
    """A label that is an address itself could lie about where it leads: both are shown."""
    said, spans = formatted("[https://a.example](https://b.example)")
    assert said == "[https://a.example](https://b.example)"
    assert [span.target for span in spans] == ["https://a.example", "https://b.example"]


def test_an_address_ends_where_its_stretch_does() -> None:
    """The mark after an address closes the stretch and is no part of it."""
    assert shown("**https://a.example/b_c**") == (
        "https://a.example/b_c",
        [("bold", "https://a.example/b_c", ""), ("link", "https://a.example/b_c", "https://a.example/b_c")],
    )


hostile = st.one_of(
    st.text(alphabet=MARKS + "ab", max_size=200),
    st.lists(
        st.sampled_from([
            "**", "*", "__", "_", "~~", "||", "`", "``", "```", "```py\n", "[", "](https://a.b)", "](", ")", "https://a.b",
            "<@5>", "<#6>", "<:w:8>", "<t:1:R>", "<", ">",
            "\n", "> ", ">>> ", "# ", "- ", "-# ", "\\", "x", " ", "é", "🎉",
        ]),
        max_size=80,
    ).map("".join),
)  # fmt: skip


@given(hostile)
def test_no_visible_character_is_lost(text: str) -> None:
    """Every letter of the text is shown, in order, or is what a stretch leads to or was written for."""
    said, spans = formatted(text)
    letters = Counter(one for one in text if one.isalnum())
    beside = Counter("".join(span.target for span in spans if span.target != said[span.start : span.end]))
    dates = "".join(said[span.start : span.end] for span in spans if span.kind is SpanKind.DATE)
    written = Counter("t1R" * sum(span.kind is SpanKind.DATE for span in spans))
    assert letters - beside - written <= Counter(said) - Counter(dates)


@given(st.text(alphabet=MARKS, max_size=200))
def test_marks_alone_make_no_letters(text: str) -> None:
    """Nothing is shown that was not written, but for the points of a list."""
    said, _ = formatted(text)
    assert Counter(said.replace("•", "")) <= Counter(text)


@given(hostile)
def test_stretches_lie_within_the_text_and_in_each_other(text: str) -> None:
    """So that a page can open and close them in order."""
    said, spans = formatted(text)
    assert list(spans) == sorted(spans, key=lambda span: (span.start, -span.end))
    ends: list[int] = []
    for span in spans:
        assert 0 <= span.start < span.end <= len(said)
        while ends and ends[-1] <= span.start:
            ends.pop()
        assert not ends or span.end <= ends[-1]
        ends.append(span.end)


def steps_of(text: str) -> int:
    reader = MarkdownReader(text, {})
    reader.read()
    return reader.steps


@pytest.mark.parametrize(
    "piece",
    [
        "[a](https://", "[a](<https://a", "**http://", "||**http://", "`` ` ```", "```a", "``` ````", "[", "[**", "]",
        "<", "<@", "</a", "<t:1", "_*", "*_ ", "> \n", "> # \n", "\n", "(((", "http://.", ".", "- ", "#", "\\", "~~||",
        "h", "https://a)", "[https://a](https://b)", "**http://a**", "**[a](https://a**",
    ],
)  # fmt: skip
def test_what_is_repeated_without_end_is_read_in_linear_time(piece: str) -> None:
    """100,000 characters, and fewer after a mark or an address that never ends."""
    for start in ("", "https://a", "[a](https://", "```", "||", "**", "> "):
        length = 10_000 if start else 100_000
        assert steps_of((start + piece * length)[:length]) <= 12 * length, start


@given(hostile.filter(bool), hostile)
def test_any_long_text_is_read_in_linear_time(piece: str, start: str) -> None:
    """Whatever is repeated, however the text begins: each character is looked at a few times."""
    text = (start + piece * 5_000)[:5_000]
    assert steps_of(text) <= 12 * len(text)


def test_a_stretch_is_counted_in_characters() -> None:
    """Code points, as all stretches are, and not the units of some encoding."""
    assert formatted("🎉 **é**") == ("🎉 é", (TextSpan(SpanKind.BOLD, 2, 3),))
