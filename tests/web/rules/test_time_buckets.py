"""Hours and days of charts follow the reader's own clock, also on the days on which it changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.charts.rules.browser_time_zone import zone_of
from tidegate.web.charts.rules.time_buckets import ChartRange, buckets_of, by_hour_of_day, hour_of, summed

HOUR = timedelta(hours=1)

zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
     "America/Sao_Paulo", "Africa/Cairo", "Asia/Kolkata"]
).map(ZoneInfo)  # fmt: skip
instants = st.integers(1_300_000_000, 1_900_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


@given(st.sampled_from(ChartRange), instants, zones)
def test_buckets_follow_each_other_without_a_gap(span: ChartRange, now: datetime, zone: ZoneInfo) -> None:
    """Each begins where the one before ends, now is in the last, and there are as many as the range says."""
    buckets = buckets_of(span, now, zone)
    assert len(buckets) == {"24h": 24, "7d": 7, "30d": 30}[span.value]
    assert all(before.end == after.start for before, after in pairwise(buckets))
    assert all(bucket.start <= bucket.end for bucket in buckets)
    assert buckets[-1].start <= now < buckets[-1].end


@given(
    st.sampled_from(ChartRange), instants, zones, st.lists(st.tuples(st.integers(-60 * 24, 60 * 24), st.integers(0)))
)
def test_each_hour_counts_once(span: ChartRange, now: datetime, zone: ZoneInfo, hours: list[tuple[int, int]]) -> None:
    """What lies between the first and the last bucket is in exactly one of them; nothing else is."""
    buckets = buckets_of(span, now, zone)
    stored = [(hour_of(now) + number * HOUR, value) for number, value in hours]
    inside = [value for hour, value in stored if buckets[0].start <= hour < buckets[-1].end]
    assert sum(summed(buckets, stored)) == sum(inside)


@given(zones, st.lists(st.tuples(instants.map(hour_of), st.integers(0, 99))))
def test_hours_of_the_day_add_up(zone: ZoneInfo, hours: list[tuple[datetime, int]]) -> None:
    """Every hour has its place on the clock of the reader, also one that the clock shows twice."""
    sums = by_hour_of_day(hours, zone)
    assert len(sums) == 24
    assert sum(sums) == sum(value for _, value in hours)


@pytest.mark.parametrize(("day", "hours"), [(29, 23), (30, 24)])
def test_a_day_of_a_clock_change_is_shorter(day: int, hours: int) -> None:
    """In Berlin, 29 March 2026 has 23 hours."""
    now = datetime(2026, 3, day, 12, tzinfo=UTC)
    last = buckets_of(ChartRange.WEEK, now, ZoneInfo("Europe/Berlin"))[-1]
    assert last.end - last.start == hours * HOUR
    assert last.words == f"{now:%A}, {day} March"


@pytest.mark.parametrize("cookie", ["", "Nowhere/Land", "../../etc/passwd", "\x00", "a" * 5_000])
def test_a_strange_zone_is_utc(cookie: str) -> None:
    """A cookie can hold anything."""
    assert str(zone_of(cookie)) == "UTC"


def test_a_zone_is_the_readers() -> None:
    """A name that exists is taken."""
    assert str(zone_of("Asia/Tokyo")) == "Asia/Tokyo"
