"""A refused value is shown at its field: the response names the field, and the page's script links the two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.core.byte_sizes import parse_size
from tidegate.core.errors import BadInput, NotThere

FIELD_HEADER = "Tidegate-Field"
"""The header that names the field of a form whose value was refused."""


class RefusedField(BadInput):
    """Bad input in one *field* of a form."""

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        super().__init__(sentence)


@contextmanager
def of_field(field: str) -> Iterator[None]:
    """What is refused inside was wrong in this field of the form."""
    try:
        yield
    except BadInput as problem:
        sentence = f"There is no {problem.what}." if isinstance(problem, NotThere) else str(problem)
        raise RefusedField(field, sentence) from problem


def require_size(field: str, written: str) -> None:
    """Refuse what is no size; an empty field says nothing."""
    try:
        parse_size(int(written) if written.isdecimal() else written or None)
    except ValueError as problem:
        raise RefusedField(field, f'"{written}" is not a size. Write one such as 20MB or 4GB.') from problem
