"""Splits a text into the words it is found by, in any language: the tokenizer of the search.

Words are made here and not by the database, whose notion of a letter and of upper case depends on its setup. Chinese,
Japanese, Thai and others write no spaces. A run of such characters is found by each two neighbours, and a word inside
it is a phrase of such pairs.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from tidegate.core.ids import UserId

_LONGEST_TEXT = 20_000
_LONGEST_TEXTS = 100_000
"""Characters of all texts of a row together. PostgreSQL's limit is a megabyte, and one text may grow when folded."""

_LONGEST_WORD = 200
_NAME_WORDS = 5
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\uaa60-\uaa7f\u1780-\u17d3"  # Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
)

_ASCII_WORD = re.compile("[a-z0-9]+")
_MARK = "\x01"
_STEP = f" {_MARK} "
"""Stands between two texts and takes a place, so that no phrase reaches over it."""

_PLAIN = bytes(code if chr(code) in f"abcdefghijklmnopqrstuvwxyz0123456789{_MARK}" else 32 for code in range(256))
_PLAIN = _PLAIN[:65] + _PLAIN[97:123] + _PLAIN[91:]  # capitals become small
"""What becomes of each ASCII character: a letter or digit of a word, or a space."""

_PLACES = [f"':{at} '" for at in range(1, 1_001)]
"""What stands between two words of a vector: the place of the first."""


class Word(NamedTuple):
    """A word as it is looked up, and where it stands. A *pair* is cut out of a run that has no spaces."""

    text: str
    at: int
    pair: bool = False


def words_of(text: str) -> list[Word]:
    """The words of a text in their order: letters and digits of any script, whatever their case and width."""
    plain = folded(text[:_LONGEST_TEXT])
    if plain.isascii():  # five times as fast, and most texts are
        return [Word(word[:_LONGEST_WORD], at) for at, word in enumerate(_ASCII_WORD.findall(plain), start=1)]
    found: list[Word] = []
    at = 1
    for match in _pattern().finditer(plain):
        run = match[1]
        if run is None:
            found.append(Word(match[2][:_LONGEST_WORD], at))
            at += 1
        else:
            found += [Word(run[here : here + 2], at + here, pair=True) for here in range(len(run))]
            at += len(run)
    return found


def folded(text: str) -> str:
    """The text as a search compares it: one width, one case, one spelling of each character."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def folded_title(title: str) -> str:
    """A title as a search compares it, however it is spaced."""
    return " ".join(folded(title).split())


def author_tags(name: str, number: UserId | None) -> list[str]:
    """What an author is found by: the name from any of its words on, or the whole number."""
    tags = _name_tags(name)
    return [*tags] if number is None else [*tags, f"by:{number}"]


@functools.lru_cache(maxsize=1_000)  # the messages of a page have few authors
def _name_tags(name: str) -> tuple[str, ...]:
    words = _spelled(name)
    return tuple(f"author:{' '.join(words[first:])[:_LONGEST_WORD]}" for first in range(min(len(words), _NAME_WORDS)))


def author_asked(name: str) -> str:
    """The prefix of the tags of the author meant by *name*; empty when it names none."""
    words = _spelled(name)
    return f"author:{' '.join(words)[:_LONGEST_WORD]}" if words else ""


def vector(texts: Iterable[str], tags: Iterable[str] = ()) -> str:
    """What is stored to find a row by, as PostgreSQL reads a ``tsvector``. A phrase never reaches over two texts.

    A word may be in it several times, each with one place: PostgreSQL puts these together.
    """
    said = [text[:_LONGEST_TEXT] for text in texts if text]
    whole = _STEP.join(said)
    is_plain = whole.isascii() and len(whole) <= _LONGEST_TEXT and whole.count(_MARK) == len(said) - 1
    placed = _placed(whole, len(said) - 1) if is_plain else _placed_in_any(said)
    marks = " ".join([quoted(tag) for tag in tags])
    return f"{marks} {placed}" if marks and placed else marks or placed


def _placed(text: str, steps: int) -> str:
    """The words of an ASCII text with their places, all in one go: there are very many texts."""
    words = text.encode().translate(_PLAIN).decode().split()
    if len(words) > len(_PLACES) or (len(text) > _LONGEST_WORD and max(map(len, words), default=0) > _LONGEST_WORD):
        return _placed_in_any(text.split(_STEP))
    parts = [""] * (2 * len(words))
    parts[::2], parts[1::2] = words, _PLACES[: len(words)]
    at = -1
    for _ in range(steps):
        at = words.index(_MARK, at + 1)
        parts[2 * at] = parts[2 * at + 1] = ""
    joined = "".join(parts)
    return f"'{joined[:-2]}" if joined else ""


def _placed_in_any(texts: Iterable[str]) -> str:
    """The words of texts in any language with their places, up to a number of characters."""
    places: dict[str, str] = {}
    offset, room = 0, _LONGEST_TEXTS
    for text in texts:
        read = words_of(text[:room])
        room -= len(text[:room])
        for word, at, _ in read:
            places[word] = f"{places[word]},{at + offset}" if word in places else f"{at + offset}"
        offset += read[-1].at + 1 if read else 0
    return " ".join(f"'{word}':{at}" for word, at in places.items())


@functools.lru_cache(maxsize=1_000)  # most are tags, which many messages share
def quoted(word: str) -> str:
    """A word as it stands in a ``tsvector`` or ``tsquery``, whatever is in it."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _spelled(name: str) -> list[str]:
    return folded(name.replace("\x00", "")).split()


@functools.cache
def _pattern() -> re.Pattern[str]:
    """A run without spaces, or a word. Combining marks belong to the word, but ``\\w`` does not match them."""
    marks = [
        chr(code)
        for block in (range(0x300, 0x1E00), range(0xA66F, 0xAC00))
        for code in block
        if unicodedata.category(chr(code)).startswith("M") and not re.match(f"[{_UNSPACED}]", chr(code))
    ]
    return re.compile(f"([{_UNSPACED}]+)|((?:[^\\W_{_UNSPACED}]++|[{''.join(marks)}]++)++)")
