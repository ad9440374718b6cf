"""The charts of Home, an account, a channel, the storage and a run, made from their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fastapi import Request

from tidegate.core.ids import AccountId, ChannelKey
from tidegate.database.pool import Connection, now_of
from tidegate.reminders.queries.runs import Run
from tidegate.web.charts.queries import chart_sums
from tidegate.web.charts.rules.browser_time_zone import ZONE_COOKIE, zone_of
from tidegate.web.charts.rules.chart_geometry import (
    Chart,
    ChartSeries,
    SendProgress,
    bar_chart,
    end_of,
    line_chart,
    send_chart,
)
from tidegate.web.charts.rules.time_buckets import (
    ChartRange,
    TimeBucket,
    buckets_of,
    by_hour_of_day,
    days_until,
    summed,
)

_CHANNEL_DAYS = 30
_STORAGE_DAYS = 90
_STEPS = 60
_LABELS = 4


@dataclass(frozen=True, slots=True)
class ActivityCharts:
    """The charts of a range; *filling* says that older hours are still being counted."""

    range: ChartRange
    zone: str
    charts: Sequence[Chart]
    filling: bool
    savings: str = ""


def zone_from(request: Request) -> ZoneInfo:
    """The time zone of the browser."""
    return zone_of(request.cookies.get(ZONE_COOKIE, ""))


async def activity(
    connection: Connection, span: ChartRange, zone: ZoneInfo, account: AccountId | None = None
) -> ActivityCharts:
    """Messages, sends, requests with their errors, and what was saved: of one account, or of all."""
    buckets = buckets_of(span, await now_of(connection), zone)
    since = buckets[0].start
    messages = await chart_sums.messages_by_hour(connection, since, account)
    hours = await chart_sums.account_hours(connection, since, account)
    charts = [
        _bars("Messages stored", buckets, ChartSeries("Messages", summed(buckets, messages))),
        _bars("Messages sent", buckets, ChartSeries("Sends", _sums(buckets, hours, "sends"), 2)),
        _bars(
            "API requests",
            buckets,
            ChartSeries("Requests", _sums(buckets, hours, "requests")),
            ChartSeries("Errors", _sums(buckets, hours, "errors"), 3),
        ),
    ]
    used, without = _sums(buckets, hours, "check_requests"), _sums(buckets, hours, "check_places")
    if any(without):
        charts.append(
            _bars(
                "Requests of checks",
                buckets,
                ChartSeries("Without savings", without, 4),
                ChartSeries("Used", used),
                total=f"{sum(used):,} of {sum(without):,}",
            )
        )
    checks = sum(_sums(buckets, hours, "checks"))
    return ActivityCharts(
        span, str(zone), charts, await chart_sums.is_filling(connection), _savings(sum(used), sum(without), checks)
    )


def _savings(used: int, without: int, checks: int) -> str:
    """What was saved, in a sentence; empty where there was no check."""
    if not checks:
        return ""
    many = f"{checks:,} check" if checks == 1 else f"{checks:,} checks"
    return f"{many} used {used:,} requests. One for each channel and topic would have been {without:,}."


def _sums(buckets: Sequence[TimeBucket], hours: Sequence[chart_sums.AccountHour], what: str) -> list[int]:
    return summed(buckets, [(hour.hour, getattr(hour, what)) for hour in hours])


def _bars(title: str, buckets: Sequence[TimeBucket], *series: ChartSeries, total: str = "") -> Chart:
    return bar_chart(title, [one.words for one in buckets], [one.label for one in buckets], series, total=total)


async def channel_activity(connection: Connection, channel: ChannelKey, zone: ZoneInfo) -> list[Chart]:
    """When people write in a channel: by day, and by hour of the day."""
    days = days_until(await now_of(connection), _CHANNEL_DAYS, zone)
    hours = await chart_sums.messages_of_channel(connection, channel, days[0].start)
    clock = [f"{hour:02}:00" for hour in range(24)]
    return [
        _bars("Messages by day", days, ChartSeries("Messages", summed(days, hours))),
        bar_chart("Messages by hour of the day", clock, clock, [ChartSeries("Messages", by_hour_of_day(hours, zone))]),
    ]


async def storage_growth(connection: Connection) -> Chart:
    """What archives and files take, over three months."""
    now = await now_of(connection)
    rows = await chart_sums.storage_days(connection, (now - timedelta(days=_STORAGE_DAYS)).date())
    return line_chart(
        "Storage over time",
        [f"{row.day:%A}, {row.day.day} {row.day:%B %Y}" for row in rows],
        [f"{row.day.day} {row.day:%b}" for row in rows],
        [
            ChartSeries("Archives at their source", [row.archive_bytes for row in rows], 2),
            ChartSeries("Files kept here", [row.file_bytes for row in rows]),
        ],
    )


async def run_progress(connection: Connection, run: Run) -> Chart | None:
    """What a run sent over time beside its pace; None before it has a message."""
    begins = run.began_at or run.could_send_from
    until = max(run.ended_at or run.now, begins)
    step = max(timedelta(seconds=1), (until - begins) / _STEPS)
    everything, counted = await chart_sums.sent_of_run(connection, run.id, begins, step)
    if not everything:
        return None
    sent: list[tuple[datetime, int]] = []
    for upto, count in counted:
        sent.append((min(upto, until), count + (sent[-1][1] if sent else 0)))
    windows = _windows(run, until)
    rate = await chart_sums.rate_of(connection, run.account)
    progress = SendProgress(begins, run.now, run.ended_at, everything, sent, rate, windows)
    zone = run.window.zone
    last = end_of(progress)
    labels = [
        _clock(begins + (last - begins) * number / (_LABELS - 1), zone, last - begins) for number in range(_LABELS)
    ]
    clock = [(at, f"{at.astimezone(zone):%A %H:%M:%S}") for at, _ in sent]
    return send_chart(progress, "Messages sent", clock, labels)


def _windows(run: Run, until: datetime) -> list[tuple[datetime, datetime]]:
    """The delivery hours from its beginning on, as far as they matter to the chart."""
    found = []
    for opening in run.window.openings(run.began_at or run.could_send_from):
        found.append((opening.opens, opening.closes))
        if opening.closes >= until and len(found) > (1 if run.resumes_next else 0):
            break
    return found


def _clock(moment: datetime, zone: ZoneInfo, length: timedelta) -> str:
    shown = moment.astimezone(zone)
    if length > timedelta(days=1):
        return f"{shown.day} {shown:%b %H:%M}"
    return f"{shown:%H:%M:%S}" if length < timedelta(minutes=5) else f"{shown:%H:%M}"
