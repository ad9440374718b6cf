"""Requests in a row and a second."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.rules.request_rate import BURST_FOR, charge_request

PAUSES = st.lists(st.floats(0, 20), min_size=1, max_size=200)


@given(PAUSES, st.integers(1, 50))
def test_no_span_has_more_than_its_burst_and_its_rate(pauses: list[float], rate: int) -> None:
    """Whenever requests come, those granted since any of them are within ten seconds' worth and the rate."""
    paid, now, granted = 0.0, 100.0, list[float]()
    for pause in pauses:
        now += pause
        paid, wait = charge_request(paid, now, per_second=rate)
        granted += [] if wait else [now]
    for place, first in enumerate(granted):
        assert len(granted) - place <= (BURST_FOR + now - first) * rate + 1e-6


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 1_000))
def test_who_waits_as_told_is_answered(paid: float, now: float, rate: int) -> None:
    """A refused request costs nothing, and the wait is as long as it has to be."""
    told = charge_request(paid, now, per_second=rate)
    if told.wait:
        assert told.paid_until == paid
        assert not charge_request(paid, now + told.wait + 1e-6, per_second=rate).wait
        assert charge_request(paid, now + told.wait / 2, per_second=rate).wait
