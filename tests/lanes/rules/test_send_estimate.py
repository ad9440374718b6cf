"""Whether a run fits, and when it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.pace_bucket import Pace, PaceBucket, PaceGranted, charge, empty
from tidegate.lanes.rules.send_caps import Caps, WarmUp, held_back_until
from tidegate.lanes.rules.send_estimate import QueuedSends, SendSupply, ahead_at, estimate
from tidegate.lanes.rules.send_hours import SendWindow, WindowDay

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAYLONG = SendWindow(6, 18, ZoneInfo("UTC"))
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)


def an_hour(now: datetime = NOON) -> list[WindowDay]:
    return [WindowDay(now, now + HOUR)]


def test_what_does_not_fit_is_counted_before_anything_is_sent():
    """D-43: 2,000 parts at 20 a minute in one hour: 1,190 fit and 810 are short."""
    found = estimate(2_000, SendSupply(Pace(20)), an_hour(), now=NOON)
    assert (found.windows[0].sends, found.short_by, found.fits) == (1_190, 810, False)
    assert found.accounts == 2


def test_a_thousand_groups_at_forty_a_minute_take_twenty_five_minutes():
    """The figure of the design: the limit itself, with half a second of slack a minute."""
    found = estimate(1_000, SendSupply(Pace(40)), an_hour(), now=NOON)
    assert found.fits
    assert (found.starts_at, found.accounts) == (NOON + Pace(40).interval, 1)
    assert found.finishes_at is not None
    assert found.finishes_at - NOON == timedelta(seconds=1_512.5)


def test_what_the_account_has_queued_goes_first():
    """An estimate that forgets the run in front promises what it cannot keep."""
    alone = estimate(100, SendSupply(Pace(40)), an_hour(), now=NOON)
    behind = estimate(100, SendSupply(Pace(40)), an_hour(), now=NOON, queued=1_000)
    assert alone.finishes_at is not None
    assert behind.finishes_at == alone.finishes_at + 1_000 * Pace(40).interval
    assert estimate(100, SendSupply(Pace(40)), an_hour(), now=NOON, queued=2_350).short_by == 70


def test_a_run_that_goes_on_next_day_tells_each_days_share():
    """resume_next: the rest is laid into the windows that follow."""
    found = estimate(40_000, SendSupply(Pace(40)), DAYLONG.openings(NOON), now=NOON)
    assert found.fits
    assert [share.sends for share in found.windows] == [14_280, 25_720]
    assert found.windows[1].opening.opens == datetime(2026, 11, 16, 6, tzinfo=UTC)


def test_caps_and_a_warm_up_count():
    """A new account that may send 20 on its first day needs days, whatever its pace."""
    warming = SendSupply(Pace(4), warm_up=WarmUp(), warm_since=NOON)
    found = estimate(100, warming, DAYLONG.openings(NOON), now=NOON)
    assert [share.sends for share in found.windows] == [20, 20, 36, 24]
    assert estimate(500, SendSupply(Pace(40), Caps(per_hour=200)), an_hour(), now=NOON).short_by == 300


def test_an_account_without_any_window_is_told_so():
    """Nothing fits where nothing opens, and no division by it."""
    found = estimate(5, SendSupply(Pace(40)), [], now=NOON)
    assert (found.fits, found.short_by, found.accounts, found.finishes_at) == (False, 5, 0, None)


@given(
    sends=st.integers(1, 400),
    rate=st.integers(1, 60),
    per_hour=st.none() | st.integers(1, 300),
    minutes=st.integers(1, 600),
)
def test_the_estimate_is_what_the_pace_then_does(sends, rate, per_hour, minutes):
    """Played through with the pace's own rules, no run ends later than was said, and none sends more than fits."""
    pace, caps = Pace(rate), Caps(per_hour=per_hour)
    opening = WindowDay(NOON, NOON + timedelta(minutes=minutes))
    found = estimate(sends, SendSupply(pace, caps), [opening], now=NOON)
    made = play(sends, pace, caps, opening)
    assert len(made) >= sends - found.short_by
    if found.fits and found.finishes_at is not None:
        assert made[sends - 1] <= found.finishes_at


def play(sends: int, pace: Pace, caps: Caps, opening: WindowDay) -> list[datetime]:
    bucket: PaceBucket = empty(pace, opening.opens)
    made: list[datetime] = []
    now = opening.opens
    while len(made) < sends and now < opening.closes + pace.interval:
        held = held_back_until(made, caps, now)
        if held is not None and held > now:
            now = held
            continue
        answer = charge(bucket, pace, now)
        if isinstance(answer, PaceGranted):
            bucket = answer.bucket
            made.append(now)
        else:
            now = answer.until
    return made


@given(sends=st.integers(1, 5_000), queued=st.integers(0, 5_000), rate=st.integers(1, 100), days=st.integers(1, 5))
def test_every_send_has_a_place_or_is_told_to_be_short(sends, queued, rate, days):
    """Nothing is lost between the windows: what is laid out and what is short make up the whole."""
    openings = list(islice(DAYLONG.openings(NOON), days))
    found = estimate(sends, SendSupply(Pace(rate)), openings, now=NOON, queued=queued)
    assert sum(share.sends for share in found.windows) + found.short_by == sends
    assert all(share.opening.opens <= share.opening.closes for share in found.windows)


queues = st.lists(
    st.builds(
        QueuedSends,
        st.integers(0, 5_000),
        st.builds(
            lambda opens, lasts: WindowDay(NOON + opens, NOON + opens + lasts),
            st.timedeltas(-12 * HOUR, 12 * HOUR),
            st.timedeltas(HOUR, 12 * HOUR),
        ),
        ends=st.booleans(),
    ),
    max_size=4,
)


@given(queue=queues, sooner=st.timedeltas(timedelta(), 48 * HOUR), later=st.timedeltas(timedelta(), 48 * HOUR))
def test_what_is_queued_now_gets_less_and_never_more(queue, sooner, later):
    """A later firing finds no more ahead of it than a sooner one, and at once it finds all that can still be sent."""
    sooner, later = sorted((sooner, later))
    supply = SendSupply(Pace(40))
    now, then, after = (ahead_at(queue, supply, now=NOON, at=NOON + wait) for wait in (timedelta(), sooner, later))
    assert now == sum(one.sends for one in queue if not (one.ends and one.opening.closes <= NOON))
    assert 0 <= after <= then <= now


def test_what_a_window_ends_by_then_is_not_ahead():
    """Today's run does not stand before tomorrow's; one that goes on next day does, with what it could not send."""
    today = WindowDay(NOON, NOON + HOUR)
    queue = [
        QueuedSends(5_000, today, ends=True),
        QueuedSends(300, today, ends=False),
    ]
    assert ahead_at(queue, SendSupply(Pace(40)), now=NOON, at=NOON + HOUR / 2) == 5_000 - 1_190 + 300
    assert ahead_at(queue, SendSupply(Pace(40)), now=NOON, at=NOON + 24 * HOUR) == 300


def test_what_was_sent_today_counts_until_it_is_a_day_old():
    """A daily cap of 100 of which 60 are spent leaves 40; from the instant on at which they age out, all of it."""
    supply = SendSupply(Pace(40), Caps(per_day=100), spent=60, spent_until=NOON + HOUR)
    assert supply.within(WindowDay(NOON, NOON + HOUR)) == 40
    assert supply.within(WindowDay(NOON + HOUR - SECOND, NOON + 2 * HOUR)) == 40
    assert supply.within(WindowDay(NOON + HOUR, NOON + 2 * HOUR)) == 100
    assert SendSupply(Pace(40), Caps(per_day=100), spent=60).within(WindowDay(NOON, NOON + HOUR)) == 100
    assert SendSupply(Pace(40), Caps(per_day=50), spent=60, spent_until=NOON + HOUR).within(an_hour()[0]) == 0


def test_a_window_longer_than_a_day_has_a_cap_for_each_day_begun():
    """24 hours are one day, a second more are two."""
    supply = SendSupply(Pace(40), Caps(per_day=100))
    assert supply.within(WindowDay(NOON, NOON + 24 * HOUR)) == 100
    assert supply.within(WindowDay(NOON, NOON + 24 * HOUR + SECOND)) == 200
    assert supply.within(WindowDay(NOON, NOON - HOUR)) == 0


def test_an_hourly_cap_fills_hour_by_hour():
    """30 an hour: 75 minutes hold 30, and of the next 30 as many as the pace allows in a quarter of an hour."""
    supply = SendSupply(Pace(1), Caps(per_hour=30))
    assert supply.within(WindowDay(NOON, NOON + HOUR)) == 30
    assert supply.within(WindowDay(NOON, NOON + 75 * MINUTE)) == 44
    assert supply.within(WindowDay(NOON, NOON + 119 * MINUTE)) == 60
    assert supply.last_of(1, NOON) == NOON + Pace(1).interval
    assert supply.last_of(30, NOON) == NOON + 30 * Pace(1).interval
    assert supply.last_of(31, NOON) == NOON + HOUR + Pace(1).interval


def test_an_estimate_looks_a_year_ahead():
    """One send a day: 366 fit into the windows that are looked at, one more is short."""
    supply = SendSupply(Pace(40), Caps(per_day=1))
    assert estimate(366, supply, DAYLONG.openings(NOON), now=NOON).fits
    assert estimate(367, supply, DAYLONG.openings(NOON), now=NOON).short_by == 1
