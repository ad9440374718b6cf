"""Instants as scripts read them, ISO 8601 in UTC, and as people do, on the clock of a place."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def instant(at: datetime | None) -> str | None:
    """An instant as text; None where there is none."""
    return None if at is None else at.isoformat()


def on_clock(at: datetime | None, zone: ZoneInfo) -> str:
    """An instant as that zone's clock shows it, with its offset; empty where there is none."""
    return "" if at is None else at.astimezone(zone).isoformat(" ", "minutes")
