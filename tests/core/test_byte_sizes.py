"""Sizes as operators write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.byte_sizes import parse_size


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("700MB", 700_000_000),
        ("4GiB", 4 << 30),
        ("1.5 TB", 1_500_000_000_000),
        ("200kib", 200 << 10),
        ("1b", 1),
        (12, 12),
        (None, None),
    ],
)
def test_a_size_has_a_unit_or_counts_bytes(written: object, size: int | None) -> None:
    """Decimal and binary units are told apart as everywhere: MB is a million bytes, MiB is 2 to the 20."""
    assert parse_size(written) == size


@given(st.integers(0, 1 << 50))
def test_a_plain_number_is_a_number_of_bytes(size: int) -> None:
    """Written as text or as a number, it means the same."""
    assert parse_size(str(size)) == parse_size(size) == size


@pytest.mark.parametrize("written", ["much", "4 GiBs", "-1", "", True, 1.5, "1e9", "4G"])
def test_what_is_no_size_is_refused(written: object) -> None:
    """A guess could be off by a factor of a thousand, so there is none."""
    with pytest.raises(ValueError, match="not a size"):
        parse_size(written)
