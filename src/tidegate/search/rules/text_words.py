"""Which words a text is found by, in any language.

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
_LONGEST_WORD = 200
_NAME_WORDS = 5
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\uaa60-\uaa7f\u1780-\u17d3"  # Burmese, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
)

_ASCII_WORD = re.compile("[a-z0-9]+")


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


def author_tags(name: str, number: UserId | None) -> list[str]:
    """What an author is found by: the name from any of its words on, or the whole number."""
    words = _spelled(name)
    tags = [f"author:{' '.join(words[first:])[:_LONGEST_WORD]}" for first in range(min(len(words), _NAME_WORDS))]
    return tags if number is None else [*tags, f"by:{number}"]


def author_asked(name: str) -> str:
    """The prefix of the tags of the author meant by *name*; empty when it names none."""
    words = _spelled(name)
    return f"author:{' '.join(words)[:_LONGEST_WORD]}" if words else ""


def vector(texts: Iterable[str], tags: Iterable[str] = ()) -> str:
    """What is stored to find a row by, as PostgreSQL reads a ``tsvector``. A phrase never reaches over two texts."""
    places: dict[str, str] = {}
    offset = 0
    for text in texts:
        if text.isascii():  # as words_of reads it, and without a value for each word
            found = _ASCII_WORD.findall(text[:_LONGEST_TEXT].lower())
            words: Iterable[tuple[int, str]] = enumerate(found, start=offset + 1)
            last = len(found)
        else:
            read = words_of(text)
            words = ((one.at + offset, one.text) for one in read)
            last = read[-1].at if read else 0
        for at, word in words:
            places[word] = f"{places[word]},{at}" if word in places else f"{at}"
        offset += last + 1 if last else 0
    return " ".join([*map(quoted, tags), *(f"'{word[:_LONGEST_WORD]}':{at}" for word, at in places.items())])


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
