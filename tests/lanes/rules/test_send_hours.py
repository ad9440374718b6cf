"""When a run may send."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.send_hours import GRACE, SendWindow, WindowDay

KL = ZoneInfo("Asia/Kuala_Lumpur")
NY = ZoneInfo("America/New_York")
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)

hours = st.tuples(st.integers(0, 23), st.integers(1, 24)).filter(lambda pair: pair[0] < pair[1])
zones = st.sampled_from(sorted(available_timezones() - {"localtime", "Factory"})).map(ZoneInfo)
windows = st.builds(lambda pair, zone: SendWindow(*pair, zone), hours, zones)
instants = st.datetimes(datetime(1950, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def local(zone: ZoneInfo, *when: int) -> datetime:
    return datetime(*when, tzinfo=zone)


def length(opening: WindowDay | None) -> timedelta:
    return timedelta() if opening is None else opening.closes - opening.opens


def test_a_window_holds_its_first_instant_and_not_its_last():
    """D-01: from six in the morning on, and no more at eighteen o'clock sharp."""
    window = SendWindow(6, 18, KL)
    assert window.is_open(local(KL, 2026, 11, 15, 6))
    assert window.is_open(local(KL, 2026, 11, 15, 17, 59, 59))
    assert not window.is_open(local(KL, 2026, 11, 15, 18))
    assert not window.is_open(local(KL, 2026, 11, 15, 5, 59, 59))


def test_what_is_fired_too_early_waits_for_the_start():
    """D-02: a firing at four begins at six."""
    opening = SendWindow(6, 18, KL).next(local(KL, 2026, 11, 15, 4))
    assert opening.opens == local(KL, 2026, 11, 15, 6)
    assert opening.opens == datetime(2026, 11, 14, 22, tzinfo=UTC)


def test_an_end_of_24_is_the_midnight_that_ends_the_day():
    """D-03: a window up to 24 is open until the last second of the day, and one that begins at 6 is shut then."""
    window = SendWindow(6, 24, KL)
    assert window.is_open(local(KL, 2026, 11, 15, 23, 59, 59))
    assert not window.is_open(local(KL, 2026, 11, 16, 0))


@pytest.mark.parametrize(("day", "long"), [(date(2026, 3, 8), 23), (date(2026, 11, 1), 25), (date(2026, 7, 1), 24)])
def test_the_whole_day_is_as_long_as_the_day_is(day, long):
    """D-04, D-05: where the clock is changed a day has 23 or 25 hours, and so has its window."""
    assert length(SendWindow(0, 24, NY).on(day)) == long * HOUR


def test_hours_that_the_clock_jumps_over_are_no_window():
    """D-06: from 2 to 3 does not exist on that night, so the next day's window is used."""
    window = SendWindow(2, 3, NY)
    assert window.on(date(2026, 3, 8)) is None
    assert window.next(local(NY, 2026, 3, 8, 1)).opens == local(NY, 2026, 3, 9, 2)


def test_a_day_that_a_country_left_out_has_no_window():
    """Samoa had no 30th of December 2011: nobody is written to on a day that never was."""
    apia = ZoneInfo("Pacific/Apia")
    window = SendWindow(6, 18, apia)
    assert window.on(date(2011, 12, 30)) is None
    assert window.next(local(apia, 2011, 12, 29, 19)).opens == local(apia, 2011, 12, 31, 6)


def test_an_hour_that_comes_twice_is_meant_the_first_time():
    """On the night of 1 November 2026 a window up to 1 o'clock closes when it is one for the first time."""
    assert length(SendWindow(0, 1, NY).on(date(2026, 11, 1))) == HOUR
    assert length(SendWindow(1, 2, NY).on(date(2026, 11, 1))) == 2 * HOUR


@pytest.mark.parametrize(("start", "end"), [(18, 6), (6, 6), (6, 25), (-1, 5), (24, 24)])
def test_hours_that_make_no_window_are_refused(start, end):
    """D-07: the sentence says what hours are possible."""
    with pytest.raises(ValueError, match="at most 24"):
        SendWindow(start, end, KL)


@given(window=windows, now=instants)
def test_windows_come_in_order_apart_and_none_is_missed(window, now):
    """Whatever the zone did in its history: openings never overlap, and the first ends after now."""
    found = list(islice(window.openings(now), 5))
    assert found[0].closes > now
    assert all(opening.opens < opening.closes for opening in found)
    assert all(earlier.closes <= later.opens for earlier, later in pairwise(found))
    assert found[0].opens - now < timedelta(days=4)


@given(window=windows, now=instants)
def test_inside_a_window_the_clock_shows_its_hours(window, now):
    """Open means: the wall clock shows an hour from the start up to the end, or the hour it repeats."""
    opening = window.next(now)
    shown = max(now, opening.opens).astimezone(window.zone)
    repeated = (shown - HOUR).astimezone(window.zone).hour == shown.hour
    assert window.start_hour <= shown.hour < window.end_hour or repeated or _changes(window, shown)


def _changes(window: SendWindow, shown: datetime) -> bool:
    """Whether the zone's offset changed within a day, which moves what the clock shows by any amount."""
    around = [(shown + timedelta(hours=hour)).astimezone(window.zone).utcoffset() for hour in range(-26, 27)]
    return len(set(around)) > 1


def test_a_begun_target_has_a_minute_of_grace():
    """D-10: what operators are told of a window that closes between two parts."""
    assert timedelta(minutes=1) == GRACE
