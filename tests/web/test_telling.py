"""Events and progress in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.store.feed import START, Event
from tidegate.store.overview import Progress
from tidegate.web.telling import Bar, bar, command_words, told

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("cycle.ended", {"calls_total": 1086, "changed": 3, "messages": 0}, "1,086 calls, 3 changed, 0 messages"),
        ("archive.failed", {"reason": "download", "detail": ""}, "download"),
        ("sign_in.begun", {"client": "127.0.0.1"}, "from 127.0.0.1"),
        ("lane.paused", {}, ""),
        ("lane.paused", {"until": "2026-03-01T13:00:05+01:00"}, "until 2026-03-01 12:00:05 UTC"),
        ("something.new", {"x": 1}, ""),
    ],
)
def test_an_event_says_what_matters(kind: str, data: dict[str, Any], words: str) -> None:
    """A few words beyond kind and subject; of an event it does not know, none."""
    assert told(Event(START, NOON, kind, "x", data)) == words


def test_progress_has_its_limit_beside_it_where_there_is_one() -> None:
    """A history with a target is a share of it; one without says how far it is."""
    assert bar(Progress("backfill.progressed", "news", {"depth": 1200, "target": 5000}, NOON)) == Bar(
        "news", "reading its history: 1,200 of 5,000 messages", 1200, 5000
    )
    assert bar(Progress("backfill.progressed", "news", {"depth": 7, "target": None}, NOON)).most is None
    assert bar(
        Progress("archive.progressed", "a.zip", {"doing": "download", "done": 500_000, "size": 2_000_000}, NOON)
    ) == Bar("a.zip", "download: 0.5 MB of 2.0 MB", 500_000, 2_000_000)
    assert command_words("new_thing") == "new thing"
