"""Where bars and lines are drawn: numbers in a box of 1,000 by 100 that a page stretches to its width.

The box has no text in it, so that text keeps its size on every screen. Labels stand around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from tidegate.core.rules.readable_values import readable_size

WIDTH = 1000.0
HEIGHT = 100.0

_GAP = 0.25
"""The share of a bar's place that stays empty."""

_LOWEST = 1.5
"""A value that is not zero can always be seen."""

_LABELS = 5
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """The values of one thing; *kind* is the number of its colour."""

    name: str
    values: Sequence[int]
    kind: int = 1


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A rectangle in the box; *words* say what it stands for."""

    x: float
    y: float
    width: float
    height: float
    kind: int
    words: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of points in the box, and where it is filled, the outline of what is below it."""

    points: str
    kind: int
    words: str
    dashed: bool = False
    filled: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with everything that its page says about it.

    *top* is the value of the upper edge. *labels* stand below, with even distances. *rows* are the same as a table:
    a label, and the value of each of the *columns*.
    """

    title: str
    total: str
    summary: str
    top: str
    labels: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]
    bars: Sequence[ChartBar] = ()
    lines: Sequence[ChartLine] = ()
    shades: Sequence[ChartBar] = ()
    legend: Sequence[tuple[int, str]] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not self.bars and not self.lines


def in_words(value: int, *, sizes: bool = False) -> str:
    """A value as people read it: 1,086, or 12 MB."""
    return readable_size(value) if sizes else f"{value:,}"


def upper_edge(highest: float) -> float:
    """The next number that is easy to read: 1, 2 or 5 with zeros; 1 if there is nothing."""
    if highest <= 1:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest))
    return next((step * unit for step in (1, 2, 5) if step * unit >= highest), 10 * unit)


def bar_chart(
    title: str, words: Sequence[str], labels: Sequence[str], series: Sequence[ChartSeries], *, total: str = ""
) -> Chart:
    """Bars side by side in time; a second series is part of the first, and drawn in front of it.

    *words* name each place in full, *labels* in short for the axis.
    """
    top = upper_edge(max((value for one in series for value in one.values), default=0))
    first = series[0]
    return Chart(
        title=title,
        total=total or f"{sum(first.values):,}",
        summary=_summary(title, words, first),
        top=f"{top:,.0f}",
        labels=spread(labels),
        columns=[one.name for one in series],
        rows=[(name, [f"{one.values[place]:,}" for one in series]) for place, name in enumerate(words)],
        bars=[_bar(place, top, one, words) for one in series for place, value in enumerate(one.values) if value > 0],
        legend=[(one.kind, one.name) for one in series] if len(series) > 1 else [],
    )


def _bar(place: int, top: float, series: ChartSeries, words: Sequence[str]) -> ChartBar:
    room, value = WIDTH / len(words), series.values[place]
    height = min(HEIGHT, max(_LOWEST, value / top * HEIGHT))
    return ChartBar(
        x=_round(room * (place + _GAP / 2)),
        y=_round(HEIGHT - height),
        width=_round(room * (1 - _GAP)),
        height=_round(height),
        kind=series.kind,
        words=f"{words[place]}: {value:,} {series.name.lower()}",
    )


def _summary(title: str, words: Sequence[str], series: ChartSeries) -> str:
    """The chart in one sentence, for screen readers."""
    highest = max(series.values, default=0)
    if not highest:
        return f"{title}: none."
    place = list(series.values).index(highest)
    return f"{title}: {sum(series.values):,} in all, most in {words[place]} with {highest:,}."


def spread(labels: Sequence[str]) -> list[str]:
    """Some of the labels with even distances, the first and the last among them where the number allows it."""
    if len(labels) <= _LABELS:
        return list(labels)
    step = (len(labels) - 1) / (_LABELS - 1)
    return [labels[round(step * number)] for number in range(_LABELS)]


def line_chart(
    title: str, words: Sequence[str], labels: Sequence[str], series: Sequence[ChartSeries], *, sizes: bool = True
) -> Chart:
    """Values that grow over time, as filled lines; a single point is drawn as a level."""
    highest = max((value for one in series for value in one.values), default=0)
    top = highest * 1.1 or 1.0
    places = [_share(number, len(words)) for number in range(len(words))]
    latest = [f"{one.name} {in_words(one.values[-1], sizes=sizes)}" for one in series if one.values]
    return Chart(
        title=title,
        total=", ".join(latest),
        summary=f"{title}: {', '.join(latest)}." if latest else f"{title}: nothing yet.",
        top=in_words(round(top), sizes=sizes),
        labels=spread(labels),
        columns=[one.name for one in series],
        rows=[
            (name, [in_words(one.values[place], sizes=sizes) for one in series]) for place, name in enumerate(words)
        ],
        lines=[level(list(zip(places, one.values, strict=True)), top, one.kind, one.name) for one in series]
        if words
        else [],
        legend=[(one.kind, one.name) for one in series] if len(series) > 1 else [],
    )  # fmt: skip


def _share(number: int, count: int) -> float:
    return number / (count - 1) if count > 1 else 0.0


def level(
    points: Sequence[tuple[float, float]], top: float, kind: int, words: str, *, dashed: bool = False
) -> ChartLine:
    """A line through points, each a share of the width and a value; one point goes on to the right edge."""
    drawn = [(_within(share) * WIDTH, HEIGHT - _within(value / top) * HEIGHT) for share, value in points]
    if len(drawn) == 1:
        drawn.append((WIDTH, drawn[0][1]))
    line = " ".join(f"{_round(x)},{_round(y)}" for x, y in drawn)
    below = f"{line} {_round(drawn[-1][0])},{HEIGHT:.0f} {_round(drawn[0][0])},{HEIGHT:.0f}" if drawn else ""
    return ChartLine(line, kind, words, dashed, "" if dashed else below)


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))


def _round(number: float) -> float:
    return round(number, 2)


# A send: what went out, the pace it was planned at, and the hours in which it may


@dataclass(frozen=True, slots=True)
class SendProgress:
    """What a chart of a run needs to know. *sent* are instants with what was sent up to each, in their order.

    *per_minute* is the pace of its account, and *windows* are the times between which it may send.
    """

    begins: datetime
    now: datetime
    ends: datetime | None
    all: int
    sent: Sequence[tuple[datetime, int]]
    per_minute: float | None
    windows: Sequence[tuple[datetime, datetime]]


def send_chart(
    progress: SendProgress, title: str, clock: Sequence[tuple[datetime, str]], labels: Sequence[str]
) -> Chart:
    """The messages of a run over time, beside its pace, with its delivery hours behind them.

    *clock* has the same instants as ``sent`` in words; *labels* stand below, from the beginning to ``end_of``.
    """
    begin, end = progress.begins, end_of(progress)
    length = (end - begin).total_seconds()

    def share(moment: datetime) -> float:
        return _within((moment - begin).total_seconds() / length)

    top = max(1.0, progress.all, *(count for _, count in progress.sent), 0)
    done = progress.sent[-1][1] if progress.sent else 0
    until = min(progress.ends or progress.now, end)
    points = [(0.0, 0.0), *((share(at), float(count)) for at, count in progress.sent), (share(until), float(done))]
    lines = [level(points, top, 1, "Sent")]
    planned = planned_line(progress)
    if planned:
        lines.append(level([(share(at), count) for at, count in planned], top, 2, "At its pace", dashed=True))
    return Chart(
        title=title,
        total=f"{done:,} of {progress.all:,}",
        summary=f"{title}: {done:,} of {progress.all:,} sent.",
        top=f"{top:,.0f}",
        labels=labels,
        columns=["Sent"],
        rows=[(words, [f"{count:,}"]) for (_, count), (_, words) in zip(progress.sent, clock, strict=True)],
        lines=lines,
        shades=[
            _shade(share(opens), share(closes)) for opens, closes in progress.windows if opens < end and closes > begin
        ],
        legend=[(1, "Sent"), *([(2, "At its pace")] if planned else []), (0, "Delivery hours")],
    )


def _shade(left: float, right: float) -> ChartBar:
    return ChartBar(_round(left * WIDTH), 0.0, _round(max(0.0, right - left) * WIDTH), HEIGHT, 0, "Delivery hours")


def end_of(progress: SendProgress) -> datetime:
    """The right edge: when it ended, or else now or when it is done at its pace, whichever is later."""
    planned = planned_line(progress)
    latest = max([progress.ends or progress.now, *([planned[-1][0]] if planned and progress.ends is None else [])])
    return max(latest, progress.begins + MINUTE)


def planned_line(progress: SendProgress) -> list[tuple[datetime, float]]:
    """What is sent up to which instant at the pace, in delivery hours alone; empty where no pace is known."""
    if not progress.per_minute or progress.per_minute <= 0 or not progress.windows:
        return []
    points: list[tuple[datetime, float]] = [(progress.begins, 0.0)]
    done = 0.0
    for opens, closes in sorted(progress.windows):
        start = max(opens, progress.begins)
        if start >= closes or done >= progress.all:
            continue
        minutes = min((progress.all - done) / progress.per_minute, (closes - start) / MINUTE)
        end = min(start + minutes * MINUTE, closes)
        done = min(float(progress.all), done + (end - start) / MINUTE * progress.per_minute)
        points += [(start, points[-1][1]), (end, done)]
    return [points[0], *(after for before, after in pairwise(points) if after != before)]
