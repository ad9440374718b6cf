"""CSV that is safe to open: no cell is taken for a formula by a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV with a byte order mark, so that spreadsheets read it as UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL)
    writer.writerow(head)
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return f"\ufeff{written.getvalue()}"


def safe_cell(value: object) -> object:
    """A value as a cell: text that a spreadsheet would run begins with an apostrophe; a number stays one."""
    if value is None:
        return ""
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return value
