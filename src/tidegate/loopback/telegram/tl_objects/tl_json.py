"""Objects of the platform's schema as JSON and back: the shape of Telethon's ``to_dict``, with ``_`` as the class.

Bytes are base64 and instants ISO text. What is unset is left out; the way back also takes it as null or false.
"""

from __future__ import annotations

import binascii
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from telethon.extensions import BinaryReader
from telethon.tl import TLObject

from tidegate.core.errors import BadInput
from tidegate.loopback.telegram.tl_objects.tl_schema import Argument, arguments, class_named

SECRETS = frozenset({"access_hash", "file_reference"})
"""What belongs to one account and one time, and is no content."""

Fill = Callable[[type[TLObject], Argument], Any]
"""Gives a required argument that was left out; None when it has to be given."""


def as_plain(value: Any, *, without: Collection[str] = ()) -> Any:
    """A value as JSON, leaving out arguments with the names in *without* at any depth."""
    if isinstance(value, TLObject):
        plain: dict[str, Any] = {"_": type(value).__name__}
        for name, argument in arguments(type(value)).items():
            held = getattr(value, name)
            unset = held is None or (held is False and not argument.required)
            if not unset and name not in without:
                plain[name] = as_plain(held, without=without)
        return plain
    if isinstance(value, list):
        return [as_plain(one, without=without) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value


def from_plain(plain: Any, *, place: str = "raw", fill: Fill | None = None) -> TLObject:
    """The object that JSON describes, as a client will read it; BadInput says what cannot be, and where."""
    return checked(_read_object(plain, place, fill), place)


def read_arguments(
    kind: type[TLObject], plain: Mapping[str, Any], *, place: str = "raw", fill: Fill | None = None
) -> dict[str, Any]:
    """The given arguments of a class, without making an object of it: those that are unset are left out."""
    known = arguments(kind)
    for name in plain:
        if name != "_" and name not in known:
            raise BadInput(f"{place}.{name}: {kind.__name__} has no such field.")
    given = {name: value for name, value in plain.items() if name != "_" and _is_given(known[name], value, plain)}
    return {name: _read(value, known[name], f"{place}.{name}", fill) for name, value in given.items()}


def checked(value: TLObject, place: str = "raw") -> TLObject:
    """The object as it arrives at a client; BadInput when it cannot be sent."""
    try:
        found: TLObject = BinaryReader(bytes(value)).tgread_object()
    except AssertionError as problem:
        raise BadInput(f"{place}: {problem}.") from problem
    except (struct.error, OverflowError, UnicodeError, TypeError, AttributeError) as problem:
        raise BadInput(f"{place}: {type(value).__name__} cannot be sent ({problem}).") from problem
    return found


def _is_given(argument: Argument, value: Any, plain: Mapping[str, Any]) -> bool:
    """Telethon writes an unset list as an empty one, so an empty one counts only beside its partners."""
    if value is None or (value is False and not argument.required):
        return False
    if value == [] and not argument.required:
        return any(plain.get(partner) not in (None, False, []) for partner in argument.partners)
    return True


def _read_object(plain: Any, place: str, fill: Fill | None) -> TLObject:
    if not isinstance(plain, dict) or not isinstance(plain.get("_"), str):
        raise BadInput(f'{place}: an object with its class as "_" is needed.')
    kind = class_named(plain["_"])
    if kind is None:
        raise BadInput(f"{place}: the schema has no {plain['_']}.")
    given = read_arguments(kind, plain, place=place, fill=fill)
    for name, argument in arguments(kind).items():
        if name not in given and argument.many and not argument.partners.isdisjoint(given):
            given[name] = []
        if name in given or not argument.required:
            continue
        given[name] = fill(kind, argument) if fill else None
        if given[name] is None and datetime not in argument.kinds:
            raise BadInput(f"{place}.{name}: {kind.__name__} needs it.")
    return kind(**given)


def _read(value: Any, argument: Argument, place: str, fill: Fill | None) -> Any:
    if not argument.many:
        return _read_one(value, argument, place, fill)
    if not isinstance(value, list):
        raise BadInput(f"{place}: a list is needed.")
    return [_read_one(one, argument, f"{place}.{number}", fill) for number, one in enumerate(value)]


def _read_one(value: Any, argument: Argument, place: str, fill: Fill | None) -> Any:
    if (plain := argument.plain) is not None:
        return _READERS[plain](value, place)
    found = _read_object(value, place, fill)
    if not isinstance(found, argument.kinds):
        raise BadInput(f"{place}: {type(found).__name__} does not belong here.")
    return found


def _number(value: Any, place: str) -> int:
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return int(value)  # numbers of 64 bits are text for programs that know only doubles
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadInput(f"{place}: a number is needed.")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{place}: a text is needed.")
    return value


def _bytes(value: Any, place: str) -> bytes:
    try:
        return b64decode(_text(value, place), validate=True)
    except (binascii.Error, ValueError) as problem:
        raise BadInput(f"{place}: bytes are given as base64.") from problem


def _fraction(value: Any, place: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadInput(f"{place}: a number is needed.")
    return float(value)


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{place}: true or false is needed.")
    return value


def _instant(value: Any, place: str) -> datetime:
    try:
        found = datetime.fromisoformat(_text(value, place))
    except ValueError as problem:
        raise BadInput(f"{place}: an instant is given as ISO 8601.") from problem
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_READERS: Mapping[type, Callable[[Any, str], Any]] = {
    int: _number,
    str: _text,
    bytes: _bytes,
    float: _fraction,
    bool: _truth,
    datetime: _instant,
}
