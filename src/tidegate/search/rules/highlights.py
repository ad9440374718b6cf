"""Which pieces of a text a search has found, to be highlighted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tidegate.search.rules.tokenizer import folded, words_of

Piece = tuple[str, bool]
"""A piece of a text, and whether it is a match."""

_WORD = re.compile(r"[^\W_]+|\s+|[\W_]", re.DOTALL)


def highlighted(text: str, typed: Iterable[str]) -> list[Piece]:
    """*text* in pieces, those that begin with a word of *typed* marked; joined they are the text again."""
    looked_for = _looked_for(typed)
    pieces: list[Piece] = []
    for match in _WORD.finditer(text):
        for piece, found in _in_word(match[0], looked_for):
            if pieces and pieces[-1][1] == found:
                pieces[-1] = (pieces[-1][0] + piece, found)
            else:
                pieces.append((piece, found))
    return pieces


def around_first(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """About *most* characters of a highlighted text: those around its first match, or its beginning."""
    whole = "".join(piece for piece, _ in pieces)
    if len(whole) <= most:
        return list(pieces)
    first = 0
    for piece, found in pieces:
        if found:
            break
        first += len(piece)
    start = 0 if first >= len(whole) else max(0, min(first - most // 3, len(whole) - most))
    return [
        *([("…", False)] if start else []),
        *_cut(pieces, start, start + most),
        *([("…", False)] if start + most < len(whole) else []),
    ]


def _cut(pieces: Iterable[Piece], low: int, high: int) -> list[Piece]:
    shown: list[Piece] = []
    at = 0
    for piece, found in pieces:
        part = piece[max(0, low - at) : max(0, high - at)]
        at += len(piece)
        if part:
            shown.append((part, found))
    return shown


def _looked_for(typed: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words, and the runs of a script without spaces, which are found inside a word too."""
    words: list[str] = []
    runs: list[str] = []
    for text in typed:
        for piece in re.findall(r"[^\W_]+", folded(text)):
            (runs if any(word.pair for word in words_of(piece)) else words).append(piece)
    return tuple(words), tuple(runs)


def _in_word(word: str, looked_for: tuple[tuple[str, ...], tuple[str, ...]]) -> list[Piece]:
    words, runs = looked_for
    plain = folded(word)
    if plain.startswith(words) and words:
        return [(word, True)]
    if not any(run in plain for run in runs):
        return [(word, False)]
    if len(plain) != len(word):  # folding changed the length: no place in it can be named
        return [(word, True)]
    pieces: list[Piece] = []
    at = 0
    for match in re.finditer("|".join(map(re.escape, sorted(runs, key=len, reverse=True))), plain):
        pieces += [(word[at : match.start()], False)] if match.start() > at else []
        pieces.append((word[match.start() : match.end()], True))
        at = match.end()
        if plain.startswith(words, at) and words:
            return [*pieces, (word[at:], True)]
    return [*pieces, (word[at:], False)] if at < len(word) else pieces
