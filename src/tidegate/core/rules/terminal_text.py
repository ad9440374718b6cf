r"""Text from outside made safe to print: it cannot control the terminal, hide, or change the direction of other text.

What is dangerous follows from a character's Unicode category. It is made visible as an escape (``\x1b``, ``\u202e``)
and never dropped. Everything that people write comes through as it is: letters of every script, marks, emoji.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

_DANGEROUS = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Controls, format characters, private use, lone surrogates, and line ends that only some programs know."""

_SIGNS_OF_NUMBERS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Format characters by category that are drawn: Arabic, Syriac and Kaithi signs written around numbers."""

_JOINERS = frozenset("\u200c\u200d")
"""Persian, the scripts of India and emoji cannot be written without them. After ASCII they only hide."""

_SELECTOR = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Chooses how the character before it looks. A second one chooses nothing: such runs carry hidden messages."""

_PIECE = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f|[ -~]+|.", re.DOTALL)
"""A flag such as England's, which is spelt with characters that hide elsewhere; printable ASCII; or one character."""

_UNASSIGNED_AND_INVISIBLE = re.compile(
    "[\u2065\ufdd0-\ufdef\ufff0-\ufff8\U000e0000-\U000e0fff]"  # Unicode reserves these for invisible characters
)


def one_line(text: str) -> str:
    r"""A text that stays on its line: line ends and tabs are shown as ``\n`` and ``\t`` too."""
    return _visible(text, kept="", escape=_as_python)


def many_lines(text: str) -> str:
    """A text that may have lines and tabs of its own."""
    return _visible(text, kept="\n\t", escape=_as_python)


def json_text(document: object, *, indent: int | None = None) -> str:
    r"""A JSON document that is safe to print and reads back equal: only dangerous characters are ``\uXXXX``."""
    written = json.dumps(document, ensure_ascii=False, indent=indent, default=str)
    return _visible(written, kept="\n", escape=_as_json)


def toml_text(document: str) -> str:
    r"""A TOML document without literal strings, safe to print and equal when read: ``\uXXXX`` within its strings."""
    return _visible(document, kept="\n\t", escape=_as_toml)


def _visible(text: str, *, kept: str, escape: Callable[[str], str]) -> str:
    if "\n" not in kept:
        return _visible_line(text, kept, escape)
    # Line by line: most lines of a long document need no look at each character.
    return "\n".join(_visible_line(line, kept, escape) for line in text.split("\n"))


def _visible_line(text: str, kept: str, escape: Callable[[str], str]) -> str:
    if text.isprintable() and not _SELECTOR.search(text):
        return text
    pieces: list[str] = []
    before = ""
    for found in _PIECE.finditer(text):
        piece = found[0]
        if len(piece) > 1 or piece in kept or _is_harmless(piece, before):
            pieces.append(piece)
            before = piece[-1]
        else:
            pieces.append(escape(piece))
            before = ""
    return "".join(pieces)


def _is_harmless(letter: str, before: str) -> bool:
    """Whether a character may be printed after the one *before*, which is empty when that one was escaped."""
    if letter in _JOINERS:
        return before > "\x7f" and before not in _JOINERS and not before.isspace()
    if _SELECTOR.match(letter):
        return bool(before) and not before.isspace() and not _SELECTOR.match(before)
    category = unicodedata.category(letter)
    if category == "Cn":  # most likely an emoji that is younger than this Python
        return not _UNASSIGNED_AND_INVISIBLE.match(letter) and ord(letter) & 0xFFFE != 0xFFFE
    return category not in _DANGEROUS or letter in _SIGNS_OF_NUMBERS


def _as_python(letter: str) -> str:
    return ascii(letter)[1:-1]


def _as_json(letter: str) -> str:
    return json.dumps(letter)[1:-1]


def _as_toml(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if letter <= "\uffff" else f"\\U{ord(letter):08x}"
