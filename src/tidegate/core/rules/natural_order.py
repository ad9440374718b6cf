"""The order in which people expect names: "Customers 2" before "Customers 10", whatever the case of their letters."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[tuple[int, int, str], ...], str]


def natural_key(name: str) -> NaturalKey:
    """The key to sort a name by. Runs of digits count as numbers; names that differ only in case stay apart."""
    pieces = _NUMBER.split(name.casefold())
    return tuple(_piece(piece) for piece in pieces if piece), name


def _piece(piece: str) -> tuple[int, int, str]:
    """A number sorts by its value, before text, as its first digit would."""
    return (0, int(piece), piece) if piece[0] in "0123456789" else (1, 0, piece)
