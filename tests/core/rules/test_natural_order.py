"""Names in the order people expect."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.rules.natural_order import natural_key

NAMES = st.lists(st.text(alphabet="aAb 019²٣"))


def test_numbers_in_names_count() -> None:
    """Customers 2 comes before Customers 10, and capitals do not come first."""
    names = ["Customers 10", "customers 9", "Customers 2", "apple", "Zoo", "2 cats", "10 cats"]
    assert sorted(names, key=natural_key) == [
        "2 cats", "10 cats", "apple", "Customers 2", "customers 9", "Customers 10", "Zoo",
    ]  # fmt: skip


@given(names=NAMES, data=st.data())
def test_any_names_have_one_order(names: list[str], data: st.DataObject) -> None:
    """Whatever people write can be sorted, and in the same way from any order."""
    mixed = data.draw(st.permutations(names))
    assert sorted(names, key=natural_key) == sorted(mixed, key=natural_key)


@given(low=st.integers(0, 10**30), high=st.integers(0, 10**30))
def test_the_value_decides(low: int, high: int) -> None:
    """However many digits a number has."""
    assert (natural_key(f"no {low}") < natural_key(f"no {high}")) is (low < high)
