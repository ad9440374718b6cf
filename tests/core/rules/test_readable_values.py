"""Values as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tidegate.core.rules.readable_values import counted, readable_size, readable_time

NOON = datetime(2026, 11, 18, 12, 0, 5, 123456, tzinfo=UTC)


def test_a_time_has_one_format() -> None:
    """Minutes and the zone, from an instant or from its text in JSON; nothing where there is none."""
    assert readable_time(NOON, UTC) == readable_time(NOON.isoformat(), UTC) == "2026-11-18 12:00 UTC"
    assert readable_time(NOON, ZoneInfo("Asia/Jakarta")) == "2026-11-18 19:00 WIB"
    assert readable_time(None) == ""


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (12_345_678, "12.3 MB"), (1_500_000_000_000_000, "1500.0 TB")],
)
def test_a_size_has_a_unit(count: int, text: str) -> None:
    """Nobody counts digits."""
    assert readable_size(count) == text


def test_a_count_has_its_noun() -> None:
    """One message, two messages, three replies."""
    assert [counted(1, "message"), counted(1_086, "message"), counted(3, "reply", "replies")] == [
        "1 message", "1,086 messages", "3 replies",
    ]  # fmt: skip
