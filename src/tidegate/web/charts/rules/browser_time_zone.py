"""The time zone of the browser, which the page's script stores in a cookie."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from tidegate.core.rules.wall_clock import zone_named

ZONE_COOKIE = "tidegate_zone"


def zone_of(cookie: str) -> ZoneInfo:
    """The zone that a cookie names; UTC for a browser without script, and for a name that no zone has."""
    try:
        return zone_named(cookie) if cookie else ZoneInfo("UTC")
    except ValueError:
        return ZoneInfo("UTC")
