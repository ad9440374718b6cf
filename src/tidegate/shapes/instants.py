"""Instants as scripts read them: ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def instant(at: datetime | None) -> str | None:
    """An instant as text; None where there is none."""
    return None if at is None else at.isoformat()
