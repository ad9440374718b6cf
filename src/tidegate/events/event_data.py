"""The base of all event kinds: a frozen dataclass whose fields are the JSON data that is stored with an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError


class Absent(Enum):
    """The value of a key that was not stored, where null has a meaning of its own."""

    ABSENT = "absent"


class TimeMissing(ValueError):
    """Stored data that lacks a time which every event of its kind has in this release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventData:
    """What one kind of event says beyond its kind and its subject. Its class is decorated with ``event_kind``.

    A field with a default is optional: it is stored only when its value differs from the default.
    """

    kind: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """The data as it is stored; times are in ISO 8601."""
        values = ((one, getattr(self, one.name)) for one in fields(self))
        return {one.name: _stored(value) for one, value in values if not is_optional(one) or value != one.default}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read stored data. Keys this release does not know are ignored.

        A key that is missing, or whose value does not fit, reads as its default or as the empty value of its type:
        another release may have stored it. A list loses only those of its items that do not fit. A time has no empty
        value, so ``TimeMissing`` is raised.
        """
        hints = field_types(cls)
        return cls(**{one.name: _read(one, hints[one.name], data) for one in fields(cls)})


E = TypeVar("E", bound=EventData)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event_kind(name: str) -> Callable[[type[E]], type[E]]:
    """Make a class the data of one kind of event, which is stored under *name*."""

    def decorated(cls: type[E]) -> type[E]:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        made.kind = name
        return made

    return decorated


def is_optional(one: Field[Any]) -> bool:
    """Whether a key may be missing from the stored data."""
    return one.default is not MISSING


def field_types(cls: type[EventData]) -> dict[str, Any]:
    """The type of each field, by its name."""
    hashable: Any = cls  # mypy takes the hash of an instance for that of its class
    return _type_hints(hashable)


_type_hints = cache(get_type_hints)


def _stored(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _read(one: Field[Any], hint: Any, data: Mapping[str, Any]) -> Any:
    if one.name in data:
        value = data[one.name]
        try:
            return _adapter(hint).validate_python(value)
        except ValidationError:
            if isinstance(value, list) and (item := _item_type(hint)) is not None:
                return _fitting(item, value)
    return one.default if is_optional(one) else _empty(hint)


def _item_type(hint: Any) -> Any:
    """The type of the items of a list; None where a value is no list."""
    lists = [one for one in (hint, *get_args(hint)) if get_origin(one) is list]
    return get_args(lists[0])[0] if lists else None


def _fitting(item: Any, values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        with suppress(ValidationError):
            found.append(_adapter(item).validate_python(value))
    return found


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def _empty(hint: Any) -> Any:
    if type(None) in get_args(hint):
        return None
    if hint is datetime:
        raise TimeMissing
    plain = getattr(hint, "__supertype__", hint)  # a NewType stands for the type it was made of
    return (get_origin(plain) or plain)()
