"""How a reminder or a saved list is found: by its name, or by its number."""

from __future__ import annotations


def by_name_or_number(row: str, *, lock: bool) -> str:
    """The end of a query for one *row*, an alias; its arguments are ``wanted(name)``.

    A text is a name first, since a name may look like another row's number. A number is never taken for a name.
    """
    where = f"WHERE {row}.id::text = $1 OR ({row}.name = $1 AND $2) ORDER BY $2 AND {row}.name = $1 DESC LIMIT 1"
    return f"{where} FOR UPDATE OF {row}" if lock else where


def wanted(name: str | int) -> tuple[str, bool]:
    """The arguments of ``by_name_or_number``."""
    return str(name), isinstance(name, str)
