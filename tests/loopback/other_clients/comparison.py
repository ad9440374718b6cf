"""What a client library says about messages beside the platform's own truth, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple


class Field(NamedTuple):
    """One fact about a message: how to find it in the truth of the control address, and in the library's object."""

    in_truth: Callable[[dict[str, Any]], Any]
    as_read: Callable[[Any], Any]


Table = Mapping[str, Field]
"""All facts that are compared, by name. A new kind of message needs a row here, and a post in the test's world."""

Facts = dict[int, dict[str, Any]]
"""The facts of each message, by its id."""


def facts_in_truth(table: Table, messages: Iterable[dict[str, Any]]) -> Facts:
    return {message["id"]: {name: field.in_truth(message) for name, field in table.items()} for message in messages}


def facts_as_read(table: Table, messages: Iterable[Any]) -> Facts:
    """A message that was read twice is a mistake of the reader."""
    read = [(int(message.id), {name: field.as_read(message) for name, field in table.items()}) for message in messages]
    facts = dict(read)
    assert len(facts) == len(read), "a message was read twice"
    return facts


def differences(truth: Facts, read: Facts) -> list[str]:
    """Each fact that was read otherwise, in a line of its own: a comparison of whole worlds could not be read."""
    found = [f"{number}: only in {'the truth' if number in truth else 'the reading'}" for number in truth.keys() ^ read]
    for number in truth.keys() & read:
        pairs = ((name, fact, read[number][name]) for name, fact in truth[number].items())
        found += [f"{number}.{name}: is {fact!r}, read {seen!r}" for name, fact, seen in pairs if fact != seen]
    return sorted(found)


def never_told(facts: Facts) -> set[str]:
    """The names of facts that no message has: a comparison of them would prove nothing."""
    names = {name for row in facts.values() for name in row}
    return {name for name in names if not any(row[name] for row in facts.values())}


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
