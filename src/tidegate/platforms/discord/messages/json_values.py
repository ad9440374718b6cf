"""Values out of Discord's JSON, whatever stands there: a value of another type counts as absent. Pure."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from tidegate.platforms.discord.permissions import Json

_LONGEST_NUMBER, _LONGEST_LABEL = 20, 50
_LARGEST = (1 << 63) - 1  # that a column holds
_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


def text_in(value: Any) -> str:
    return value if isinstance(value, str) else ""


def label_in(value: Any) -> str:
    """A number or a short name, to call something by that this version does not know."""
    return str(value)[:_LONGEST_LABEL] if isinstance(value, str | int) else "not readable"


def object_in(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def number_in(value: Any) -> int | None:
    """A whole number, also one that is written as text."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.isascii() and value.isdigit():
        return int(value)
    return None


def whole_in(value: Any) -> int:
    """A number of at least zero, such as a size, a count or flags."""
    return min(max(0, number_in(value) or 0), _LARGEST)


def id_in(value: Any) -> int | None:
    """A snowflake, as Discord numbers everything."""
    number = number_in(value)
    return number if number is not None and 0 < number <= _LARGEST else None


def seconds_in(value: Any) -> float | None:
    """A duration; it is at least zero and ends."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and 0 <= value < math.inf else None


def instant_in(value: Any) -> datetime | None:
    """An instant as Discord writes it, converted to UTC."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def made_at(number: int) -> datetime:
    """When Discord gave out a snowflake."""
    return _EPOCH + timedelta(milliseconds=number >> 22)
