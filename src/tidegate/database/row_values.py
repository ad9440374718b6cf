"""Makes dataclasses from rows of the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

E = TypeVar("E", bound=StrEnum)


def from_row(kind: type[T], row: asyncpg.Record | Mapping[str, Any], /, **given: Any) -> T:
    """A dataclass whose fields are the columns of the same names, but for those *given*.

    A field without a column keeps its default.
    """
    return kind(**{name: row[name] for name in _names(kind) if name not in given and name in row}, **given)


def known_or(kind: type[E], stored: str, otherwise: E) -> E:
    """A stored value of *kind*; *otherwise* for one that another version stored and this one does not know."""
    try:
        return kind(stored)
    except ValueError:
        return otherwise


@cache
def _names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
