"""How wide the columns of a table are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.rules.table_layout import GAP, NARROW, column_widths


def test_what_fits_is_as_wide_as_it_is() -> None:
    """Nothing is wrapped without need."""
    assert column_widths([10, 20], 32) == [10, 20]


def test_the_important_column_gives_way_last() -> None:
    """A name stays on its line while a long reason beside it is wrapped."""
    assert column_widths([30, 5, 60], 80, important=[0]) == [30, 5, 41]
    assert column_widths([30, 5, 60], 30, important=[0]) == [13, 5, 8]


def test_an_id_is_never_broken() -> None:
    """Even where the lines become too long for the terminal."""
    assert column_widths([20, 40], 10, whole=[0]) == [20, NARROW]


@given(
    natural=st.lists(st.integers(0, 100), min_size=1, max_size=8),
    room=st.integers(1, 200),
    whole=st.sets(st.integers(0, 7)),
)
def test_lines_fit_wherever_they_can(natural: list[int], room: int, whole: set[int]) -> None:
    """A line is too long only if every column that may be wrapped is narrow already."""
    widths = column_widths(natural, room, whole={one for one in whole if one < len(natural)})
    assert all(width <= wide for width, wide in zip(widths, natural, strict=True))
    if sum(widths) + GAP * (len(widths) - 1) > room:
        assert all(width <= NARROW for place, width in enumerate(widths) if place not in whole)
