"""Types of fields in JSON documents and forms: instants as text, and texts that can be stored."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import BeforeValidator, Field

from tidegate.core.errors import Unstorable

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def instant(at: datetime | None) -> str | None:
    """An instant as text; None where there is none."""
    return None if at is None else at.isoformat()


class Document(Protocol):
    """A dataclass that is printed and returned as JSON."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


D = TypeVar("D", bound=Document)


def document_of(made: type[D], one: object, **shown: Any) -> D:
    """A document with the fields that *one* has under the same names; those in *shown* look different in JSON."""
    same = {name: getattr(one, name) for name in made.__dataclass_fields__ if name not in shown}
    return made(**same, **shown)


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(given: Any) -> Any:
    if isinstance(given, str) and _UNSTORABLE.search(given):
        raise Unstorable
    return given


STORABLE = BeforeValidator(_storable)
"""Looks first whether PostgreSQL's text can hold what is given; so every such text is refused in the same words."""

_NO_NUL = {"pattern": r"^[^\x00]*$"}
Words = Annotated[str, Field(json_schema_extra=_NO_NUL), STORABLE]
Named = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_NO_NUL), STORABLE]
_SHOWN = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"  # on one line of a terminal
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_SHOWN), STORABLE]
