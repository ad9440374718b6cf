"""The content of a message as JSON, as it is stored: fields with their default value are left out.

Another version may have stored it. What this version does not know is left out or marked as unsupported when it is
read, so that no row can make a page fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tidegate.core.ids import ChannelId
from tidegate.core.message_content import MessageContent, MessageCounts, OriginKind, SpanKind

_CONTENT = TypeAdapter(MessageContent)
_COUNTS = TypeAdapter(MessageCounts)

_UNKNOWN_KINDS = {"formatting": SpanKind.UNSUPPORTED, "reply": SpanKind.UNSUPPORTED, "forward": OriginKind.HIDDEN}
"""What stands in place of a kind that this version does not know, by the field of the content that has it."""

_LONGEST_NAME = 100
_LARGEST = 2**63

T = TypeVar("T")
Place = tuple[int | str, ...]
"""Where a value is in a JSON document: the keys and indexes that lead to it."""


def content_json(content: MessageContent) -> dict[str, Any]:
    """What is stored of a message's content."""
    found: dict[str, Any] = _CONTENT.serializer.to_python(content, mode="json", exclude_defaults=True)
    return found


def counts_json(counts: MessageCounts) -> dict[str, Any]:
    """What is stored of a message's numbers."""
    found: dict[str, Any] = _COUNTS.serializer.to_python(counts, mode="json", exclude_defaults=True)
    return found


def read_content(stored: Mapping[str, Any] | None) -> MessageContent:
    """The content that was stored; *unsupported* names the first thing in it that this version does not know.

    A field with a name that this version does not know is left out without a word.
    """
    content, unknown = _read(_CONTENT, stored or {})
    return replace(content, unsupported=content.unsupported or unknown) if unknown else content


def read_counts(stored: Mapping[str, Any] | None) -> MessageCounts:
    """The numbers that were stored; one that is none is not known."""
    return _read(_COUNTS, stored or {})[0]


def read_mentions(stored: object) -> dict[str, str]:
    """The names that mentions stand for, by how the text writes them."""
    given = stored if isinstance(stored, Mapping) else {}
    return {written: name for written, name in given.items() if isinstance(name, str)}


def answered_channel(stored: object) -> ChannelId | None:
    """The other chat that a message of this stored content answers in, read without the rest of it."""
    reply = stored.get("reply") if isinstance(stored, Mapping) else None
    number = reply.get("channel") if isinstance(reply, Mapping) else None
    if not isinstance(number, int) or isinstance(number, bool) or not -_LARGEST <= number < _LARGEST:
        return None
    return ChannelId(number)


# What another version stored


def _read(adapter: TypeAdapter[T], stored: object) -> tuple[T, str]:
    """A stored value, and the name of the first thing in it that this version does not know."""
    try:
        return adapter.validate_python(stored), ""
    except ValidationError as problem:
        left = deepcopy(dict(stored)) if isinstance(stored, Mapping) else {}
        unknown = _name(left, problem) if left else type(stored).__name__
        while left:
            try:
                return adapter.validate_python(left), unknown
            except ValidationError as found:
                _repair(left, found)
        return adapter.validate_python({}), unknown


def _name(stored: Mapping[str, Any], problem: ValidationError) -> str:
    """What is not known: the name of a kind, else the field."""
    first = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    kind = _at(stored, first["loc"]) if first["type"] == "enum" else None
    return kind[:_LONGEST_NAME] if isinstance(kind, str) and kind else str(first["loc"][0])


def _repair(stored: dict[str, Any], problem: ValidationError) -> None:
    """Replace unknown kinds, and remove all else that does not fit: an item of a list, or else the whole field."""
    dropped: set[Place] = set()
    for error in problem.errors(include_url=False, include_input=False, include_context=False):
        place = error["loc"]
        if error["type"] == "enum" and place[0] in _UNKNOWN_KINDS:
            _at(stored, place[:-1])[place[-1]] = _UNKNOWN_KINDS[str(place[0])].value
        else:
            dropped.add(_droppable(place))
    for place in _last_first(dropped):
        del _at(stored, place[:-1])[place[-1]]


def _droppable(place: Place) -> Place:
    """The outermost item of a list on the way to a place, else its field."""
    index = next((number for number, step in enumerate(place) if isinstance(step, int)), 0)
    return place[: index + 1]


def _last_first(places: Iterable[Place]) -> list[Place]:
    """Places in an order in which they can be removed: a later item of a list before an earlier one, parts first."""
    fields = {place[0] for place in places if len(place) == 1}
    inner = [place for place in places if len(place) == 1 or place[0] not in fields]
    return sorted(inner, key=lambda place: [(isinstance(step, int), step) for step in place], reverse=True)


def _at(stored: Any, place: Place) -> Any:
    for step in place:
        stored = stored[step]
    return stored
