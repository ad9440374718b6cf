"""The text of docs/events.md, made from the event kinds; ``./dev docs`` writes it."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from types import ModuleType, NoneType
from typing import Any, Literal, get_args, get_origin

from tidegate.events.event_data import EventData, field_types, is_optional
from tidegate.events.kinds import SUBJECTS, kinds_of

_INTRODUCTION = """\
# Events

<!-- Written by ./dev docs from the code. Do not edit. -->

An event is something that happened, recorded in the same transaction as the change itself. `tidegate feed --json` and
`GET /api/feed` give each event as one JSON object:

| field | type | meaning |
|---|---|---|
| `cursor` | text | its place in the feed; read on after it |
| `at` | time | when it happened |
| `kind` | text | what happened: one of the kinds on this page |
| `subject` | text | what it happened to; each section says what that is |
| `data` | object | the fields of its kind |

Times are in ISO 8601 with their offset from UTC. Kinds and fields keep their names and meaning in later releases. A
later release may add some, so ignore those you do not know. An event of an earlier release may lack a field.
"""
_WIDTH = 118
_WORDS: dict[Any, str] = {bool: "true or false", int: "number", float: "number", str: "text", datetime: "time"}


def page() -> str:
    """The page."""
    return "\n".join([_INTRODUCTION, *(_section(subject) for subject in SUBJECTS)])


def _section(subject: ModuleType) -> str:
    parts = [f"## {subject.__name__.rpartition('.')[2].capitalize()}\n", _prose(subject)]
    return "\n".join([*parts, *(_kind(one) for one in kinds_of(subject))])


def _kind(one: type[EventData]) -> str:
    return "\n".join([f"### `{one.kind}`\n", _prose(one), *_table(one)])


def _prose(documented: ModuleType | type[EventData]) -> str:
    """A docstring as Markdown; names of fields and values become code."""
    text = re.sub(r"\*(\w+)\*|``(.+?)``", lambda found: f"`{found[1] or found[2]}`", inspect.getdoc(documented) or "")
    return "\n\n".join(textwrap.fill(part, _WIDTH) for part in text.split("\n\n")) + "\n"


def _table(one: type[EventData]) -> Iterator[str]:
    if not fields(one):
        return
    yield "| field | type |\n|---|---|"
    for field in fields(one):
        words = _type_words(field_types(one)[field.name])
        if is_optional(field):  # where null is the default, the key is missing instead
            words = (words.removesuffix(" or null") if field.default is None else words) + "; may be missing"
        yield f"| `{field.name}` | {words} |"
    yield ""


def _type_words(hint: Any) -> str:
    plain = getattr(hint, "__supertype__", hint)
    inner = get_args(plain)
    if plain in _WORDS:
        return _WORDS[plain]
    if get_origin(plain) is list:
        return f"list of {_type_words(inner[0])}"
    if get_origin(plain) is dict:
        return f"object of {_type_words(inner[1])}"
    known = [_type_words(one) for one in inner if one is not NoneType and get_origin(one) is not Literal]
    return " or ".join([*known, "null"])
