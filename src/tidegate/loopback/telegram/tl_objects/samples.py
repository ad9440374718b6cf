"""Samples of the schema's objects: arguments are filled from their types, in words and numbers that fit their names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from telethon.tl import TLObject

from tidegate.loopback.telegram.tl_objects.tl_schema import Argument, arguments, class_named

_BEGINS = datetime(2025, 6, 1, 12, tzinfo=UTC)
_DEEPEST = 4
_MOST_LEVELS = 9
_WORDS = ("harbour", "lantern", "dragon", "tower", "bridge", "knight", "gear", "tile", "goblin", "anchor")
_TEXTS = {
    "currency": "EUR",
    "crypto_currency": "TON",
    "emoticon": "👍",
    "alt": "👍",
    "url": "https://example.com/page",
    "mime_type": "application/octet-stream",
    "phone_number": "10000000009",
    "type": "m",
    "domain": "example.com",
    "slug": "harbour-lantern",
}
_NUMBERS = {"dc_id": 2, "size": 4096, "offset": 0, "length": 4, "days": 90, "months": 3, "w": 320, "h": 240}


class Samples:
    """Makes objects from dice. *full* fills optional arguments too, down to a few levels; else only required ones.

    *people* are the ids that stand where a user's is wanted.
    """

    def __init__(self, dice: Random, *, full: bool = False, people: Iterable[int] = ()) -> None:
        self._dice = dice
        self._full = full
        self._people = list(people)

    def of(self, kind: type[TLObject], depth: int = 0, **given: Any) -> TLObject:
        """One object of this class; *given* are arguments to be taken as they are."""
        filled = {
            name: self._value(argument, depth)
            for name, argument in arguments(kind).items()
            if name not in given and (argument.required or (self._full and depth < _DEEPEST))
        }
        return kind(**filled, **given)

    def _value(self, argument: Argument, depth: int) -> Any:
        if argument.many:
            return [self._one(argument, depth) for _ in range(2 if depth < 2 else 1)]
        return self._one(argument, depth)

    def _one(self, argument: Argument, depth: int) -> Any:
        if argument.plain is not None:
            return self._plain(argument, argument.plain)
        return self.of(_choice(argument.kinds, simple=not self._full or depth >= _DEEPEST - 1), depth + 1)

    def _plain(self, argument: Argument, kind: type) -> Any:
        if kind is str:
            return _TEXTS.get(argument.name) or f"{self._dice.choice(_WORDS)} {self._dice.choice(_WORDS)}"
        if kind is bytes:
            return self._dice.randbytes(8)
        if kind is bool:
            return True
        if kind is float:
            return self._dice.randrange(1, 80) / 4
        if kind is datetime:
            return _BEGINS + timedelta(minutes=self._dice.randrange(100_000))
        return self._number(argument)

    def _number(self, argument: Argument) -> int:
        name = argument.name
        if self._people and argument.bits == 64 and (name.endswith(("user_id", "users", "inviter_id", "creator_id"))):
            return self._dice.choice(self._people)
        if name in _NUMBERS:
            return _NUMBERS[name]
        return self._dice.randrange(1, 1 << (argument.bits - 16)) if argument.bits > 32 else self._dice.randrange(1, 99)


def _choice(kinds: tuple[type[TLObject], ...], *, simple: bool) -> type[TLObject]:
    """The class that stands for its kind: one that says something, or at the bottom the one that needs least."""
    telling = [kind for kind in kinds if arguments(kind) and not kind.__name__.endswith("Empty")]
    candidates = telling or list(kinds)
    finite = [kind for kind in candidates if math.isfinite(_cost(kind))]
    return min(finite or kinds, key=_cost) if simple else (finite or candidates)[0]


def _cost(kind: type[TLObject]) -> float:
    """How many levels an object of this class needs at least; infinite when it would never end."""
    return next((float(levels) for levels in range(1, _MOST_LEVELS) if _fits(kind.__name__, levels)), math.inf)


@cache
def _fits(name: str, levels: int) -> bool:
    """Whether an object of this class can be made with so many levels."""
    kind = class_named(name)
    assert kind is not None
    return levels > 0 and all(
        any(_fits(one.__name__, levels - 1) for one in argument.kinds)
        for argument in arguments(kind).values()
        if argument.required and argument.plain is None
    )
