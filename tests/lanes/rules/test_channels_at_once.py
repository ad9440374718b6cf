"""How many channels are read at once: by what limits leave room for, and never by a number somebody chose."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.channels_at_once import STORED_AT_ONCE, ReadingLoad, may_begin

_counts = st.integers(0, 40)
loads = st.builds(ReadingLoad, _counts, _counts, _counts, _counts, st.integers(1, 40))


@given(load=loads, ceiling=st.none() | st.integers(1, 40))
def test_a_channel_is_begun_only_where_it_could_be_read_at_once(load: ReadingLoad, ceiling: int | None) -> None:
    """Beside others, one more begins only while no read waits, a slot is free and the database keeps up."""
    if may_begin(load, ceiling=ceiling) and load.running:
        assert load.queued == 0
        assert load.in_flight < load.at_once
        assert load.storing < STORED_AT_ONCE


@given(load=loads, ceiling=st.integers(1, 40))
def test_the_operator_s_ceiling_holds(load: ReadingLoad, ceiling: int) -> None:
    """A number that was set is never exceeded, and it never makes reading wider than without it."""
    if may_begin(load, ceiling=ceiling):
        assert load.running < ceiling
        assert may_begin(load)


@given(load=loads)
def test_reading_never_stands_still(load: ReadingLoad) -> None:
    """One channel is always read, also while the whole account is asked to wait: its call waits in the lane."""
    if load.running == 0:
        assert may_begin(load)
