"""Charts stay within their box, whatever they are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.web.charts.rules.chart_geometry import (
    HEIGHT,
    WIDTH,
    Chart,
    ChartSeries,
    SendProgress,
    bar_chart,
    end_of,
    line_chart,
    planned_line,
    send_chart,
    spread,
    upper_edge,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

values = st.lists(st.integers(0, 10**12), max_size=40)


def within_the_box(chart: Chart) -> bool:
    """Whether nothing of a chart is outside of its box, and every number is one."""
    rooms = [(one.x, one.y, one.width, one.height) for one in (*chart.bars, *chart.shades)]
    points = [
        (float(x), float(y))
        for line in chart.lines
        for x, y in (point.split(",") for text in (line.points, line.filled) for point in text.split())
    ]
    return all(
        all(map(math.isfinite, room))
        and room[0] >= 0
        and room[1] >= 0
        and room[2] >= 0
        and room[0] + room[2] <= WIDTH + 0.02
        and room[1] + room[3] <= HEIGHT + 0.02
        for room in rooms
    ) and all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def _named(numbers: Sequence[int]) -> list[str]:
    return [f"place {number}" for number in range(len(numbers))]


@given(values)
def test_bars_stay_in_their_box(numbers: list[int]) -> None:
    """No values, one, or huge ones: every value above zero has a bar that can be seen, and no two touch."""
    chart = bar_chart("Messages", _named(numbers), _named(numbers), [ChartSeries("Messages", numbers)])
    assert within_the_box(chart)
    assert len(chart.bars) == sum(value > 0 for value in numbers)
    assert all(one.height > 1 for one in chart.bars)
    ends = [one.x + one.width for one in chart.bars]
    assert all(end < later.x for end, later in zip(ends, chart.bars[1:], strict=False))
    assert len(chart.rows) == len(numbers)


@given(values)
def test_lines_stay_in_their_box(numbers: list[int]) -> None:
    """No days, one, or many: the same numbers are drawn and said in the table."""
    chart = line_chart("Storage", _named(numbers), _named(numbers), [ChartSeries("Files", numbers)])
    assert within_the_box(chart)
    assert len(chart.rows) == len(numbers)


@given(st.floats(0, 1e15))
def test_the_upper_edge_is_a_number_people_read(highest: float) -> None:
    """It is 1, 2 or 5 with zeros, at least the highest value and at most two and a half times as much."""
    top = upper_edge(highest)
    assert top >= highest
    assert top <= max(1.0, 2.5 * highest + 1e-6)
    assert f"{top:.0f}".rstrip("0") in {"1", "2", "5"}


@given(st.lists(st.text(max_size=3), max_size=60))
def test_few_labels_stand_below(labels: list[str]) -> None:
    """As many as a phone has room for, from the first to the last."""
    shown = spread(labels)
    assert len(shown) <= 5
    assert (shown[:1], shown[-1:]) == (labels[:1], labels[-1:])


minutes = st.integers(-3_000, 3_000).map(lambda number: NOON + number * MINUTE)
runs = st.builds(
    SendProgress,
    begins=st.just(NOON),
    now=minutes,
    ends=st.none() | minutes,
    all=st.integers(0, 5_000),
    sent=st.lists(st.tuples(minutes, st.integers(0, 5_000)), max_size=10).map(sorted),
    per_minute=st.none() | st.floats(0, 1_000),
    windows=st.lists(st.tuples(minutes, minutes).map(lambda both: (min(both), max(both))), max_size=3),
)


@given(runs)
def test_a_send_stays_in_its_box(run: SendProgress) -> None:
    """Also where its clock went back, its window is shut, nothing was sent, or it has no pace."""
    chart = send_chart(run, "Sent", [(at, "then") for at, _ in run.sent], ["12:00", "13:00"])
    assert within_the_box(chart)
    assert end_of(run) > run.begins
    counts = [count for _, count in planned_line(run)]
    assert counts == sorted(counts)
    assert all(0 <= count <= run.all for count in counts)


def test_a_pace_rests_outside_of_the_delivery_hours() -> None:
    """Forty groups at one a minute, of which thirty fit before the window closes: the others follow the next day."""
    day = timedelta(days=1)
    windows = [(NOON - MINUTE, NOON + 30 * MINUTE), (NOON + day, NOON + day + 30 * MINUTE)]
    run = SendProgress(NOON, NOON, None, 40, [], 1.0, windows)
    assert planned_line(run) == [
        (NOON, 0.0), (NOON + 30 * MINUTE, 30.0), (NOON + day, 30.0), (NOON + day + 10 * MINUTE, 40.0),
    ]  # fmt: skip


def test_a_pace_of_nearly_nothing_ends_with_its_window() -> None:
    """A time too long to be told is never computed."""
    closes = NOON + MINUTE
    progress = SendProgress(NOON, NOON, None, 1, [], 1e-300, [(NOON, closes)])
    assert planned_line(progress)[-1][0] == closes
