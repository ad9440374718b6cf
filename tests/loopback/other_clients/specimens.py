"""One object of each constructor of Telethon's schema, with every field filled."""

from __future__ import annotations

import inspect
from collections import defaultdict
from datetime import UTC, datetime
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from zlib import crc32

from telethon.tl import TLObject, functions
from telethon.tl.alltlobjects import tlobjects

_PLAIN = {int: 7, str: "tide", bytes: b"tide", float: 1.5, bool: True, datetime: datetime(2025, 5, 5, tzinfo=UTC)}
_ANY = "TypeX"
_OWN = "telethon.tl.patched"
"""Where Telethon's own classes of messages are, which let every field be left out."""

_MADE_UP = "random_id"
"""Where it is left out, Telethon makes up a number, also where the schema wants bytes."""


class Endless(Exception):
    """The object cannot be made without another of its own kind."""


def specimen(kind: type[TLObject], *, full: bool = True, around: tuple[type[TLObject], ...] = ()) -> TLObject:
    """An object of this constructor: with its optional fields when *full*; those it contains are as small as can be."""
    if kind in around:
        raise Endless(kind.__name__)
    hints = get_type_hints(kind.__init__, localns=_Types())
    fields = [field for field in inspect.signature(kind.__init__).parameters.values() if field.name in hints]
    wanted = [
        field.name
        for field in fields
        if full or field.default is inspect.Parameter.empty or kind.__module__ == _OWN or field.name == _MADE_UP
    ]
    return kind(**{name: _value(hints[name], (*around, kind)) for name in wanted})


class _Types(dict[str, Any]):
    """What stands for the types in annotations, which Telethon imports for type checkers only."""

    def __missing__(self, name: str) -> Any:
        if name == _ANY:
            return functions.help.GetConfigRequest
        if not name.startswith("Type"):
            raise KeyError(name)
        for family in ("", *_families()):
            if kinds := _by_type().get(crc32(f"{family}{name.removeprefix('Type')}".encode())):
                return reduce(or_, kinds)
        raise KeyError(name)


@cache
def _by_type() -> dict[int, list[type[TLObject]]]:
    """The constructors of each type: Telethon names a type by the checksum of its name."""
    found: dict[int, list[type[TLObject]]] = defaultdict(list)
    for kind in tlobjects.values():
        if not issubclass(kind, _request()):
            found[kind.SUBCLASS_OF_ID].append(kind)
    return found


@cache
def _request() -> type[TLObject]:
    return functions.help.GetConfigRequest.__mro__[1]


@cache
def _families() -> list[str]:
    """The first halves of names such as ``auth.SentCode``."""
    modules = {kind.__module__.partition("telethon.tl.types.")[2] for kind in tlobjects.values()}
    return sorted(f"{module}." for module in modules if module)


def _value(hint: Any, around: tuple[type[TLObject], ...]) -> Any:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if get_origin(hint) is list:
        return [_value(get_args(hint)[0], around)]
    if get_origin(hint) in (Union, UnionType):
        return _first([one for one in get_args(hint) if one is not NoneType], around)
    return specimen(hint, full=False, around=around)


def _first(kinds: list[Any], around: tuple[type[TLObject], ...]) -> Any:
    for kind in kinds:
        try:
            return _value(kind, around)
        except Endless:
            continue
    raise Endless(str(kinds))
