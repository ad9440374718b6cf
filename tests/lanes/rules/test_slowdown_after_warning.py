"""How many messages an account may send a minute, before and after a warning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.pace_bucket import MICROSECOND, MINUTE
from tidegate.lanes.rules.send_caps import HOUR
from tidegate.lanes.rules.slowdown_after_warning import LONGEST_BACK_OFF, Allowance, SendRate, climb, cut

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)

allowances = st.integers(1, 60).flatmap(
    lambda floor: st.builds(Allowance, floor=st.just(floor), ceiling=st.integers(floor, 120))
)


def test_one_warning_halves_the_rate_once() -> None:
    """D-34: 40 becomes 20 and nothing is sent for a minute, or as long as the platform says."""
    tempo, not_before = cut(SendRate(40), Allowance(40), timedelta(seconds=17), NOON)
    assert (tempo.rate, not_before) == (20, NOON + MINUTE)
    again, not_before = cut(tempo, Allowance(40), 2 * HOUR, NOON + timedelta(seconds=59))
    assert (again.rate, not_before) == (20, NOON + timedelta(seconds=59) + 2 * HOUR)
    _, not_before = cut(SendRate(40, cut_at=NOON + HOUR), Allowance(40), timedelta(), NOON)
    assert not_before == NOON + MINUTE, "also when the clock went back and the last pause is forgotten"


def test_pauses_double_up_to_half_an_hour() -> None:
    """An account that is warned again and again waits 1, 2, 4, 8, 16 and then 30 minutes each time."""
    tempo, now, pauses = SendRate(40), NOON, []
    for _ in range(7):
        tempo, not_before = cut(tempo, Allowance(40), timedelta(), now)
        pauses.append((not_before - now) // MINUTE)
        now = not_before
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert tempo.rate == 1


def test_forty_clean_minutes_bring_twenty_back_to_forty() -> None:
    """D-35: one a minute more after each two clean minutes, and never above the ceiling."""
    tempo, _ = cut(SendRate(40), Allowance(40), timedelta(), NOON)
    rates = []
    for minute in range(1, 61):
        now = NOON + minute * MINUTE
        tempo = climb(tempo, Allowance(40), now - SECOND, now)
        rates.append(tempo.rate)
    assert rates[38] == 39
    assert rates[39] == 40
    assert set(rates[39:]) == {40}
    assert tempo.back_off == timedelta(), "back at the ceiling the next warning starts from a minute again"


def test_idle_minutes_earn_nothing() -> None:
    """Whoever sends nothing proves nothing: the rate climbs only for stretches with a send."""
    tempo, _ = cut(SendRate(40), Allowance(40), timedelta(), NOON)
    for minute in range(1, 61):
        tempo = climb(tempo, Allowance(40), NOON - SECOND, NOON + minute * MINUTE)
    assert tempo.rate == 20


@given(
    allowance=allowances,
    start=st.integers(1, 200),
    happenings=st.lists(st.tuples(st.timedeltas(-HOUR, HOUR), st.sampled_from(["warning", "clean"])), max_size=60),
)
def test_rates_stay_between_floor_and_ceiling(
    allowance: Allowance, start: int, happenings: list[tuple[timedelta, str]]
) -> None:
    """Whatever happens, and whichever way the clock goes, no cut is below the floor, no climb above the ceiling."""
    tempo, now = SendRate(max(allowance.floor, min(start, allowance.ceiling))), NOON
    for step, what in happenings:
        now += step
        if what == "warning":
            tempo, not_before = cut(tempo, allowance, timedelta(), now)
            assert MINUTE <= not_before - now <= LONGEST_BACK_OFF
        else:
            tempo = climb(tempo, allowance, now, now)
        assert allowance.floor <= tempo.rate <= allowance.ceiling
        assert tempo.clean_since is not None
        assert tempo.clean_since <= now


@given(allowance=allowances, gaps=st.lists(st.timedeltas(timedelta(), MINUTE - MICROSECOND), max_size=20))
def test_the_rate_is_halved_at_most_once_a_minute(allowance: Allowance, gaps: list[timedelta]) -> None:
    """Many calls in flight are all told the same: that is one warning, not many."""
    tempo, now = SendRate(allowance.ceiling), NOON
    cuts = []
    for gap in gaps:
        now += gap
        before = tempo
        tempo, _ = cut(tempo, allowance, timedelta(), now)
        if tempo.cut_at != before.cut_at:
            cuts.append(now)
    assert all(later - earlier >= MINUTE for earlier, later in pairwise(cuts))


def test_an_allowance_without_room_is_refused() -> None:
    """A floor above the ceiling leaves no rate to choose."""
    with pytest.raises(ValueError, match="an allowance needs"):
        Allowance(ceiling=3, floor=4)
