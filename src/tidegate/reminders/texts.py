"""Texts that people give: what can be stored of them, and how long names are."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tidegate.errors import Unstorable


def _storable(given: Any) -> Any:
    if isinstance(given, str) and any(one == "\x00" or "\ud800" <= one <= "\udfff" for one in given):
        raise Unstorable
    return given


STORABLE = BeforeValidator(_storable)
"""Looks first whether PostgreSQL's text can hold what is given; so every such text is refused in the same words."""

_NO_NUL = {"pattern": r"^[^\x00]*$"}
Words = Annotated[str, Field(json_schema_extra=_NO_NUL), STORABLE]
Named = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=_NO_NUL), STORABLE]
_SHOWN = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"  # on one line of a terminal
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_SHOWN), STORABLE]
