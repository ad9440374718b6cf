"""What the wall clock of a time zone shows."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tidegate.core.rules.wall_clock import instant_shown, zone_named

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("shown", "instant"),
    [
        (datetime(2026, 7, 1, 9), datetime(2026, 7, 1, 13, tzinfo=UTC)),  # noqa: DTZ001 - what the wall clock shows
        (datetime(2026, 11, 1, 1, 30), datetime(2026, 11, 1, 5, 30, tzinfo=UTC)),  # noqa: DTZ001 - shown twice
        (datetime(2026, 3, 8, 2, 30), datetime(2026, 3, 8, 7, tzinfo=UTC)),  # noqa: DTZ001 - never shown
    ],
)
def test_a_shown_time_is_one_instant(shown: datetime, instant: datetime) -> None:
    """A time that is shown twice means the first, and one that is skipped means the instant of the jump."""
    assert instant_shown(shown, NEW_YORK) == instant


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "a\x00b", "/UTC"])
def test_a_zone_nobody_knows_is_refused(name: str) -> None:
    """D-07: the sentence names the zone and shows what one looks like."""
    with pytest.raises(ValueError, match="There is no time zone"):
        zone_named(name)
