"""Groups by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platforms.whatsapp.group_ids import address_of, number_of

names = st.from_regex(r"[0-9]{5,20}(-[0-9]{8,12})?", fullmatch=True)


def test_a_new_group_keeps_its_number() -> None:
    """With the rest of its address or without."""
    assert number_of("120363025246125486@g.us") == 120363025246125486
    assert number_of("120363025246125486") == 120363025246125486


def test_an_old_group_gets_one_that_stays() -> None:
    """Stored numbers outlive releases, so this one is written down."""
    assert number_of("6281200000001-1500000000@g.us") == number_of("6281200000001-1500000000")
    assert number_of("6281200000001-1500000000@g.us") == 8_309_596_964_502_070_126


@given(names)
def test_a_number_is_one_a_database_takes_and_names_its_group(name: str) -> None:
    """63 bits; and where WhatsApp has a number of its own, the way back is exact."""
    number = number_of(f"{name}@g.us")
    assert 0 < number < 1 << 63
    assert address_of(number) in (None, f"{name}@g.us")
    assert (address_of(number) is None) == (number >= 1 << 62)


@given(st.lists(names, unique=True, max_size=50))
def test_two_groups_never_share_a_number(group: list[str]) -> None:
    """Neither two of ours, nor one of ours with one of WhatsApp's."""
    assert len({number_of(name) for name in group}) == len(group)


@pytest.mark.parametrize("name", ["0123456@g.us", "9999999999999999999@g.us", "٣٤٥@g.us"])
def test_what_only_looks_like_a_number_is_not_taken_for_one(name: str) -> None:
    """Leading zeros, more than fits, and digits of other scripts would lead back to another address."""
    assert address_of(number_of(name)) is None
