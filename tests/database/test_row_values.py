"""Rows of the database as values."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tidegate.database.pool import Database
from tidegate.database.row_values import from_row


@dataclass(frozen=True)
class Book:
    """A value with a default."""

    title: str
    pages: int
    lent: bool = False


async def test_fields_are_the_columns_of_their_names(database: Database) -> None:
    """A column without a field is left out, and a field without a column keeps its default."""
    async with database.connection() as connection:
        row = await connection.fetchrow("SELECT 'Sea' AS title, 9 AS pages, 'x' AS shelf")
    assert row is not None
    assert from_row(Book, row) == Book("Sea", 9)


def test_what_is_given_comes_before_the_column() -> None:
    """A field that needs more than its column is given."""
    assert from_row(Book, {"title": "Sea", "pages": "9", "lent": True}, pages=9) == Book("Sea", 9, lent=True)


def test_a_missing_column_is_an_error() -> None:
    """No value is made up for a field without a default."""
    with pytest.raises(TypeError, match="pages"):
        from_row(Book, {"title": "Sea"})
