"""What may be printed of a text from outside: nothing that steers a terminal, and everything that people write."""

from __future__ import annotations

import json
import tomllib
import unicodedata
from typing import Any

import pytest
import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st

from tests.hostile_text import dangers_in
from tidegate.core.rules.terminal_text import json_text, many_lines, one_line, toml_text

HOSTILE = {
    "\x1b[2J": r"\x1b[2J",
    "\x1b]52;c;ZXZpbA==\x07": r"\x1b]52;c;ZXZpbA==\x07",
    "\x9b31m": r"\x9b31m",
    "\x90q\x9c": r"\x90q\x9c",
    "safe\rEVIL": r"safe\rEVIL",
    "abc\b\b\bxyz": r"abc\x08\x08\x08xyz",
    "\x00\x7f\x85": r"\x00\x7f\x85",
    "gpj.\u202efdp": r"gpj.\u202efdp",
    "\u2066\u2067\u2068\u2069\u200e\u200f\u061c": r"\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "a\u2028b\u2029c": r"a\u2028b\u2029c",
    "pay\u200bpal \ufeff\u00ad\u2060": r"pay\u200bpal \ufeff\xad\u2060",
    "pay\u200dpal": r"pay\u200dpal",
    "\ufff9note\ufffa\ufffb": r"\ufff9note\ufffa\ufffb",
    "hi\U000e0068\U000e0069": r"hi\U000e0068\U000e0069",
    "\U0001f3f4\U000e0068": "\U0001f3f4" + r"\U000e0068",
    "x\ufe00\ufe01\U000e0120": "x\ufe00" + r"\ufe01\U000e0120",
    "\ud800 \udc9b": r"\ud800 \udc9b",
    "\ue000\uffff\ufdd0": r"\ue000\uffff\ufdd0",
}
HARMLESS = [
    "Plain ASCII, \\backslashes\\ and 100 % ~ of it",
    "Příliš žluťoučký kůň",
    "e\u0301 n\u0303 q\u0323\u0307",
    "العربية مُشَكَّلَة \u06dd ١٢٣",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "עִבְרִית",
    "हिन्दी क्\u200dष",
    "中文 日本語\u3000葛\U000e0101飾 한국어",
    "ไทย",
    "non\u00a0breaking",
    "👩🏽\u200d🚀 👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f 🇨🇿",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U0001fae8 \U0001fae9 \U0001f6d8",  # younger than the Unicode of Python 3.11
]
MIXED = "ab é\u0301\u200c\u200d\ufe0f\U0001f3f4🙂\n\t\r\x1b\x9b\u202e\U000e0067\U000e007f\ud83d"
any_text = st.text(st.characters()) | st.text(st.sampled_from(MIXED))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("given", "shown"), HOSTILE.items())
def test_what_steers_hides_or_turns_is_made_visible(given: str, shown: str) -> None:
    """Each way to fool a terminal or its reader is shown as an escape, and nothing is dropped."""
    assert one_line(given) == many_lines(given) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_people_write_is_unchanged(text: str) -> None:
    """Scripts, marks, joiners where writing needs them, and emoji of every kind."""
    assert one_line(text) == many_lines(text) == text


def test_lines_and_tabs_only_where_they_are_meant() -> None:
    """A value cannot begin a line of its own; a text of several lines keeps them."""
    assert one_line("a\n\tb") == r"a\n\tb"
    assert many_lines("a\n\tb") == "a\n\tb"


@given(any_text)
@example("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\u200d\ufe0f\ufe0f")
def test_nothing_dangerous_comes_out(text: str) -> None:
    """Whatever goes in; and a second pass finds nothing left to do."""
    assert not dangers_in(many_lines(text))
    assert not dangers_in(one_line(text), allowed="")
    assert one_line(one_line(text)) == one_line(text)
    assert many_lines(one_line(text)) == one_line(text)


SELECTORS = "".join(chr(code) for code in (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"], exclude_characters=SELECTORS)))
def test_letters_marks_digits_signs_and_spaces_are_unchanged(text: str) -> None:
    """By category: no script is left out."""
    assert one_line(text) == text


def test_every_control_and_format_character_is_judged_by_its_category() -> None:
    """All of Unicode: only what is drawn, or what writing cannot do without, is let through."""
    through = {
        letter
        for letter in map(chr, range(0x110000))
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        and letter in one_line(f"\u0628{letter}")
    }
    assert {ascii(letter)[1:-1] for letter in through} == {
        r"\u0600", r"\u0601", r"\u0602", r"\u0603", r"\u0604", r"\u0605", r"\u06dd", r"\u070f", r"\u0890", r"\u0891",
        r"\u08e2", r"\U000110bd", r"\U000110cd", r"\u200c", r"\u200d",
    }  # fmt: skip


@given(documents, st.sampled_from([None, 2]))
def test_json_is_safe_and_reads_back_equal(document: Any, indent: int | None) -> None:
    """Valid JSON without a dangerous character; without an indent it is one line."""
    written = json_text(document, indent=indent)
    assert not dangers_in(written, allowed="\n" if indent else "")
    if "\ud83d" not in json.dumps(document, ensure_ascii=False):  # halves that meet become a pair in any JSON
        assert json.loads(written) == json.loads(json.dumps(document))


def test_json_stays_readable() -> None:
    """Only the dangerous is escaped; astral characters as the pair that JSON has for them."""
    assert json_text({"čaj": "茶🍵\x7f\x9b\u202e\u2028\ud800\U000e0041"}) == (
        r'{"čaj": "茶🍵\u007f\u009b\u202e\u2028\ud800\udb40\udc41"}'
    )


@given(st.dictionaries(any_text, any_text.filter(lambda text: not _has_half(text)), max_size=3))
def test_toml_is_safe_and_reads_back_equal(document: dict[str, str]) -> None:
    """A reminder that is shown can be given back as it is."""
    document = {name: text for name, text in document.items() if not _has_half(name)}
    written = toml_text(tomli_w.dumps(document))
    assert not dangers_in(written)
    assert tomllib.loads(written) == document


def _has_half(text: str) -> bool:
    """Whether it has a lone surrogate, which TOML cannot hold."""
    return any(unicodedata.category(letter) == "Cs" for letter in text)
