"""What the platform's schema says about its objects: their arguments, types, and which of them go together.

Read from Telethon's classes, so nothing here has to change when the schema grows.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from telethon.tl import TLObject, types

_TOGETHER = re.compile(r"'([\w, ]+) parameters must all be")
_WIDE = re.compile(r"struct\.pack\('<q', (?:self\.(\w+)|x\) for x in self\.(\w+))")
_WIDER = re.compile(r"self\.(\w+)\.to_bytes\((\d+)")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an object. *kinds* are its classes, or one plain type; *bits* is the width of a number."""

    name: str
    kinds: tuple[type, ...]
    many: bool
    required: bool
    bits: int = 32
    partners: frozenset[str] = frozenset()  # optional arguments that are given together with this one, or not at all

    @property
    def plain(self) -> type | None:
        """The plain type of its values; None when they are objects of the schema."""
        return None if issubclass(self.kinds[0], TLObject) else self.kinds[0]


def class_named(name: str) -> type[TLObject] | None:
    """A class of the schema by its name without its family."""
    found = _names().get(name)
    return found if isinstance(found, type) and issubclass(found, TLObject) else None


def classes_like(prefix: str) -> list[type[TLObject]]:
    """Every class of the schema whose name begins with *prefix*, by name."""
    found = (class_named(name) for name in sorted(vars(types)) if name.startswith(prefix))
    return [kind for kind in found if kind is not None]


def arguments(kind: type[TLObject]) -> Mapping[str, Argument]:
    """The arguments of a class in their order; Telethon's own additions to messages are left out."""
    if kind not in _KNOWN:
        _KNOWN[kind] = _arguments(kind)
    return _KNOWN[kind]


_KNOWN: dict[type, Mapping[str, Argument]] = {}


def _arguments(kind: type[TLObject]) -> Mapping[str, Argument]:
    declared = _declared(kind)
    if "__init__" not in vars(declared):
        return {}
    hints = get_type_hints(declared.__init__, _names(), {})  # without {} Python gives what it found for another reader
    widths, partners = _widths(declared), _partners(declared)
    found = {}
    for name, parameter in list(inspect.signature(declared.__init__).parameters.items())[1:]:
        kinds, many = _kinds(hints[name])
        required = parameter.default is inspect.Parameter.empty
        found[name] = Argument(name, kinds, many, required, widths.get(name, 32), partners.get(name, frozenset()))
    return found


def inside(value: Any) -> Iterator[TLObject]:
    """Every object within a value, itself first, in the order of the schema."""
    if isinstance(value, list):
        for one in value:
            yield from inside(one)
    elif isinstance(value, TLObject):
        yield value
        for name, argument in arguments(type(value)).items():
            if argument.plain is None:
                yield from inside(getattr(value, name))


@cache
def _names() -> dict[str, Any]:
    """The names that annotations use. Telethon leaves out the union of a kind with one class in a family of its own."""
    families = [family for family in vars(types).values() if inspect.ismodule(family)]
    grouped = {name: kind for family in families for name, kind in vars(family).items() if isinstance(kind, type)}
    return {**{f"Type{name}": kind for name, kind in grouped.items()}, **grouped, **vars(types)}


def _declared(kind: type[TLObject]) -> type[TLObject]:
    return next(base for base in kind.__mro__ if base.__module__.startswith(types.__name__))


def _kinds(hint: Any) -> tuple[tuple[type, ...], bool]:
    if get_origin(hint) in (Union, UnionType):
        members = tuple(member for member in get_args(hint) if member is not type(None))
        return _kinds(members[0]) if len(members) == 1 else (members, False)
    if get_origin(hint) is list:
        kinds, _ = _kinds(get_args(hint)[0])
        return kinds, True
    return (hint,), False


def _widths(declared: type[TLObject]) -> dict[str, int]:
    source = inspect.getsource(declared._bytes)
    wide = {one or many: 64 for one, many in _WIDE.findall(source)}
    return wide | {name: int(size) * 8 for name, size in _WIDER.findall(source)}


def _partners(declared: type[TLObject]) -> dict[str, frozenset[str]]:
    groups = (group.split(", ") for group in _TOGETHER.findall(inspect.getsource(declared._bytes)))
    return {name: frozenset(group) - {name} for group in groups for name in group}
