"""A schedule in words says the same as the schedule."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.reminders.rules.schedule import Cron, Every, Once, next_firing, repeat
from tidegate.reminders.rules.schedule_text import BY_HAND, schedule_in_words

times = st.times().map(lambda at: time(at.hour, at.minute))
ZONE = ZoneInfo("UTC")
MARCH = datetime.fromisoformat("2026-03-01")
instants = st.datetimes(MARCH, MARCH.replace(year=2028)).map(lambda at: at.replace(tzinfo=UTC))
WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 9 * * *", "Every day at 09:00"),
        ("30 8 * * MON-FRI", "Every weekday (Monday to Friday) at 08:30"),
        ("0 9 * * FRI", "Every Friday at 09:00"),
        ("0 9 * * 0", "Every Sunday at 09:00"),
        ("0 9 * * 6,7", "Every Saturday and Sunday at 09:00"),
        ("0 9 * * FRI-7,1", "Every Monday, Friday, Saturday and Sunday at 09:00"),
        ("5 7 1 * *", "On the 1st of every month at 07:05"),
        ("5 7 31 * *", "On the 31st of every month that has one at 07:05"),
        ("0 9 L * *", "On the last day of every month at 09:00"),
        ("15 * * * *", "Every hour at minute 15"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("*/5 * * * FRI", "Every 5 minutes, every Friday"),
        ("0 */6 * * *", "Every 6 hours from 00:00"),
        ("*/7 * * * *", "By the cron expression */7 * * * *"),
        ("0 9 13 * FRI", "By the cron expression 0 9 13 * FRI"),
        ("0 9 * 1 *", "By the cron expression 0 9 * 1 *"),
    ],
)
def test_a_line_is_put_into_words(line: str, words: str) -> None:
    """Common lines as people say them; what words would twist is quoted."""
    assert schedule_in_words(Cron(line)) == words


def test_other_schedules() -> None:
    """Once, with its weekday; and by hand."""
    assert (
        schedule_in_words(Once(datetime.fromisoformat("2026-12-04T09:00")))
        == "Once, on Friday, 4 December 2026 at 09:00"
    )
    assert schedule_in_words(None) == BY_HAND


@given(
    every=st.sampled_from(Every),
    at=times,
    after=st.datetimes(MARCH, MARCH.replace(year=2028)).map(lambda at: at.replace(tzinfo=UTC)),
)
def test_a_repeat_is_never_quoted_and_its_time_is_said(every: Every, at: time, after: datetime) -> None:
    """The words name the hour and minute, or the minute, of the firing that follows."""
    schedule = repeat(every, at=at)
    fires = next_firing(schedule, ZONE, after)
    assert fires is not None
    words = schedule_in_words(schedule)
    assert words.endswith(f"at minute {fires.minute}" if every is Every.HOUR else f"at {fires:%H:%M}")
    assert "cron" not in words


@given(days=st.sets(st.integers(0, 6), min_size=1, max_size=7))
def test_the_weekdays_named_are_the_days_it_fires(days: set[int]) -> None:
    """Over two weeks it fires on exactly the days that the words name, or on all of them."""
    schedule = Cron(f"0 9 * * {','.join(map(str, sorted(days)))}")
    at, fired = datetime(2026, 3, 1, tzinfo=UTC), set()
    while (at := next_firing(schedule, ZONE, at) or at) < datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=14):
        fired.add(f"{at:%A}")
    words = schedule_in_words(schedule)
    named = {day for day in WEEK if day in words}
    if words.startswith("Every day"):
        named = set(WEEK)
    if words.startswith("Every weekday"):
        named = set(WEEK[:5])
    assert named == fired


@given(st.text("0123456789*/,-LMONFRI# ", min_size=9, max_size=30))
def test_whatever_cron_takes_has_words(line: str) -> None:
    """No line that a reminder may have is without words, and each begins a sentence."""
    try:
        schedule = Cron(line)
    except ValueError:
        return
    words = schedule_in_words(schedule)
    assert words[0].isupper()
