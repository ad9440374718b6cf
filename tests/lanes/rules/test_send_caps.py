"""How many messages an account may send in an hour and a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.pace_bucket import MINUTE
from tidegate.lanes.rules.send_caps import DAY, HOUR, Caps, WarmUp, held_back_until, warm_up_cap, warm_up_since

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@given(
    offsets=st.lists(st.timedeltas(timedelta(), 3 * HOUR), max_size=60),
    cap=st.integers(1, 10),
)
def test_no_hour_holds_more_than_its_cap(offsets: list[timedelta], cap: int) -> None:
    """Rolling and exact: whoever obeys never has more than the cap in an hour, and waits no longer than needed."""
    sent: list[datetime] = []
    for now in sorted(NOON + offset for offset in offsets):
        until = held_back_until(sent, Caps(per_hour=cap), now)
        within = sum(one > now - HOUR for one in sent)
        assert (until is None) == (within < cap)
        if until is None:
            sent.append(now)
        else:
            assert sum(one > until - HOUR for one in sent) == cap - 1 or sent.count(until - HOUR) > 1


def test_the_longer_of_two_caps_decides() -> None:
    """An hour's cap that is free again does not open a day's that is not."""
    sent = [NOON, NOON + MINUTE]
    assert held_back_until(sent, Caps(per_hour=2, per_day=2), NOON + 2 * MINUTE) == NOON + DAY
    assert held_back_until(sent, Caps(), NOON + 2 * MINUTE) is None


def test_a_warm_up_lasts_a_week() -> None:
    """20 on the first day and 1.8 times more each day: the published schedule, and no cap from the eighth day on."""
    caps = [warm_up_cap(WarmUp(), NOON, NOON + day * DAY) for day in range(8)]
    assert caps == [20, 36, 65, 117, 210, 378, 680, None]


def test_a_warm_up_begins_anew_after_a_long_rest() -> None:
    """72 idle hours make an account look new again; a shorter rest does not, nor does a clock that goes back."""
    assert warm_up_since(WarmUp(), None, None, NOON) == NOON
    assert warm_up_since(WarmUp(), NOON - DAY, None, NOON) == NOON, "it never sent, so it is still new"
    assert warm_up_since(WarmUp(), NOON - 9 * DAY, NOON - 3 * DAY, NOON) == NOON
    assert warm_up_since(WarmUp(), NOON - 9 * DAY, NOON - 3 * DAY + SECOND, NOON) == NOON - 9 * DAY
    assert warm_up_since(WarmUp(), NOON + HOUR, NOON + HOUR, NOON) == NOON


# After a warning
