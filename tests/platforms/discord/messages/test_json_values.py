"""Values out of JSON that may hold anything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.platforms.discord.messages.json_values import (
    id_in,
    instant_in,
    label_in,
    number_in,
    seconds_in,
    whole_in,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5), ("5", 5), (-5, -5), (True, None), (5.0, None), ("-5", None), ("\u0665", None), ("", None), (None, None),
        ("9" * 21, None), ([5], None),
    ],
)  # fmt: skip
def test_numbers(value: Any, number: int | None) -> None:
    """Whole ones, also as text in plain digits."""
    assert number_in(value) == number


def test_an_id_fits_its_column() -> None:
    """One that does not is none, so that the message can be stored."""
    assert [id_in(value) for value in ("5", 0, -1, 1 << 63, str((1 << 63) - 1))] == [5, None, None, None, (1 << 63) - 1]
    assert [whole_in(value) for value in ("5", -1, None, 1 << 70)] == [5, 0, 0, (1 << 63) - 1]


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-01-02T05:04:05+02:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("0001-01-01T00:00:00+23:59", None),
        ("soon", None),
        (5, None),
    ],
)
def test_instants(value: Any, at: datetime | None) -> None:
    """In UTC; one that no calendar has is none."""
    assert instant_in(value) == at


def test_durations_end() -> None:
    """And do not begin in the future."""
    assert [seconds_in(value) for value in (1.5, 2, -1, float("inf"), float("nan"), True, "1")] == [
        1.5, 2.0, None, None, None, None, None,
    ]  # fmt: skip


def test_what_is_not_known_is_called_by_a_short_name() -> None:
    """Whatever its type is."""
    assert [label_in(value) for value in (99, "gift", {"a": 1}, None)] == ["99", "gift", "not readable", "not readable"]
    assert len(label_in("x" * 1000)) == 50
