"""When a reminder fires."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.rules.schedule import Cron, Every, Once, last_missed, next_firing, repeat

KL = ZoneInfo("Asia/Kuala_Lumpur")
NY = ZoneInfo("America/New_York")
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

LINES = [
    "0 9 * * FRI",
    "30 1 * * *",
    "45 1 * * *",
    "*/7 * * * *",
    "30 2 * * *",
    "0 0 1 * *",
    "59 23 31 12 *",
    "0 9 * * 1-5",
]
instants = st.datetimes(datetime(2020, 1, 1), datetime(2036, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
changes = st.builds(  # around instants at which one of the zones turns its clock back
    lambda change, off: change + off,
    st.sampled_from(
        [
            datetime(2026, 11, 1, 6, tzinfo=UTC),
            datetime(2026, 10, 25, 1, tzinfo=UTC),
            datetime(2026, 4, 4, 15, tzinfo=UTC),
        ]
    ),
    st.timedeltas(timedelta(hours=-2), timedelta(hours=2)),
)
zones = st.sampled_from([KL, NY, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")])


def test_once_fires_once():
    """A reminder with a date fires at that reading of its own zone's clock, and never again."""
    once = Once(datetime(2026, 12, 1, 9))  # noqa: DTZ001 - a reading of the wall clock
    fires = datetime(2026, 12, 1, 1, tzinfo=UTC)
    assert next_firing(once, KL, NOON) == fires
    assert next_firing(once, KL, fires) is None


def test_a_repeat_without_a_time_fires_at_nine():
    """The contract: 09:00 when no time is given."""
    assert repeat(Every.DAY) == Cron("0 9 * * *")
    assert next_firing(repeat(Every.DAY), KL, NOON) == datetime(2026, 11, 16, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "line"),
    [
        (repeat(Every.HOUR, at=time(0, 15)), "15 * * * *"),
        (repeat(Every.WEEKDAY, at=time(7, 30)), "30 7 * * MON-FRI"),
        (repeat(Every.WEEK, on="FRI"), "0 9 * * FRI"),
        (repeat(Every.WEEK), "0 9 * * MON"),
        (repeat(Every.WEEK, on="Friday"), "0 9 * * FRI"),
        (repeat(Every.WEEK, on=0), "0 9 * * 0"),
        (repeat(Every.MONTH, on=15), "0 9 15 * *"),
    ],
)
def test_a_simple_repeat_is_the_cron_line_it_means(cron, line):
    """Whoever outgrows the simple words finds the same thing in cron's."""
    assert cron == Cron(line)


@pytest.mark.parametrize("line", ["", "0 9 * *", "* * * * * *", "0 25 * * *", "0 9 * * XYZ", "0 9 31 2 *"])
def test_a_line_that_cannot_be_read_gets_a_sentence(line):
    """The operator is told what is wrong when the reminder is saved, not when it should have fired."""
    with pytest.raises(ValueError, match="cron line"):
        Cron(line)


@pytest.mark.parametrize(
    ("every", "more", "said"),
    [
        (Every.DAY, {"on": "FRI"}, 'takes no "on"'),
        (Every.HOUR, {"on": 3}, 'takes no "on"'),
        (Every.WEEKDAY, {"on": "MON"}, 'takes no "on"'),
        (Every.WEEK, {"on": 8}, "A week has no day"),
        (Every.MONTH, {"on": 0}, "A month has no day"),
        (Every.MONTH, {"on": 32}, "A month has no day"),
        (Every.DAY, {"at": time(9, 0, 1)}, "an hour and a minute"),
        (Every.DAY, {"at": time(9, 0, 0, 1)}, "an hour and a minute"),
        (Every.DAY, {"at": time(9, tzinfo=UTC)}, "an hour and a minute"),
    ],
)
def test_a_repeat_that_cannot_be_gets_a_sentence(every, more, said):
    """A day that a week or month has not, a day where none belongs, and a time finer than the clock on the wall."""
    with pytest.raises(ValueError, match=said):
        repeat(every, **more)
    assert repeat(Every.MONTH, on=31) == Cron("0 9 31 * *")


def test_a_time_that_the_clock_jumps_over_fires_right_after_the_jump():
    """Half past two does not exist on 8 March 2026 in New York: the reminder is late, not lost."""
    after = datetime(2026, 3, 8, 5, tzinfo=UTC)
    assert next_firing(Cron("30 2 * * *"), NY, after) == datetime(2026, 3, 8, 7, tzinfo=UTC)


def test_a_time_that_comes_twice_fires_once():
    """Half past one comes twice on 1 November 2026 in New York."""
    first = next_firing(Cron("30 1 * * *"), NY, datetime(2026, 11, 1, 4, tzinfo=UTC))
    assert first == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert next_firing(Cron("30 1 * * *"), NY, first) == datetime(2026, 11, 2, 6, 30, tzinfo=UTC)
    again = datetime(2026, 11, 1, 6, 10, tzinfo=UTC)  # ten past one for the second time
    assert next_firing(Cron("30 1 * * *"), NY, again) == datetime(2026, 11, 2, 6, 30, tzinfo=UTC)


def test_firings_missed_over_a_weekend_are_made_up_for_once():
    """Nobody wants Monday morning to begin with Saturday's and Sunday's reminders too."""
    daily = repeat(Every.DAY)
    saturday = datetime(2026, 11, 14, 1, tzinfo=UTC)
    assert last_missed(daily, KL, saturday, saturday + timedelta(days=2, hours=3)) == saturday + timedelta(days=2)
    assert last_missed(daily, KL, saturday, saturday + timedelta(days=2)) == saturday + timedelta(days=2)
    assert last_missed(daily, KL, saturday, saturday) == saturday


@given(line=st.sampled_from(LINES), zone=zones, after=instants | changes)
def test_the_next_firing_lies_ahead_and_nothing_lies_between(line, zone, after):
    """A firing is after the instant asked for, on a whole minute, and asking just before it finds it again."""
    fires = next_firing(Cron(line), zone, after)
    assert fires is not None
    assert fires > after
    assert fires.second == fires.microsecond == 0
    assert next_firing(Cron(line), zone, max(after, fires - MINUTE)) == fires


@given(
    line=st.sampled_from(LINES),
    zone=zones,
    due=instants | changes,
    late=st.timedeltas(timedelta(), timedelta(days=40)),
)
def test_what_is_made_up_for_is_the_newest_that_was_due(line, zone, due, late):
    """After any outage: never before the one that was due, never in the future, and none between it and now."""
    due_at = next_firing(Cron(line), zone, due)
    assert due_at is not None
    now = due_at + late
    made_up = last_missed(Cron(line), zone, due_at, now)
    following = next_firing(Cron(line), zone, made_up)
    assert due_at <= made_up <= now
    assert following is None or following > now
