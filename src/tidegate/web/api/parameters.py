"""Types of parameters that several routes take, bounded by what the database can hold."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Path, Query
from pydantic import BaseModel, Field

from tidegate.core.errors import BadInput
from tidegate.core.json_fields import STORABLE, Words
from tidegate.search.rules.query_language import Here

BIGGEST = 2**63 - 1
"""The largest number that the database holds."""

Text = Annotated[str, Field(max_length=1_000, json_schema_extra={"pattern": r"^[^\x00]*$"}), STORABLE]
POSITIVE = Field(ge=1, le=BIGGEST)
Number = Annotated[int, POSITIVE]
LONG_LIST = Field(max_length=10_000, fail_fast=True)
"""Only the first error in such a list is reported, because there may be very many."""
Texts = Annotated[list[Text], LONG_LIST]
Place = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""The place of a group in its run, or of a file in its archive; the database counts them in four bytes."""
Limit = Annotated[int, Field(ge=1, le=500, description="Maximum number of rows.")]


class RowsQuery(BaseModel):
    """Which rows of a plain list. A list with fewer than *limit* rows is the last."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 1_000
    skip: Annotated[int, Field(ge=0, le=BIGGEST, description="How many rows to leave out before them.")] = 0


Rows = Annotated[RowsQuery, Query()]

ChannelNamed = Annotated[
    Words,
    Path(description="The channel's number or its title; one with a slash goes by its number."),
]
ReminderNamed = Annotated[
    Words,
    Path(description="The reminder's name or number; a name with a slash goes by its number."),
]
ListNamed = Annotated[
    Words,
    Path(description="The list's name or number; a name with a slash goes by its number."),
]
AccountNamed = Annotated[Words, Path(description="The account's name.")]


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name; ``BadInput`` if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f'There is no time zone "{name}"; write for example zone=Europe/Berlin.') from None


def days_of(zone: str) -> Here:
    """A function that turns a day or an hour of that zone into an instant."""
    there = zone_of(zone)
    return lambda moment: moment.replace(tzinfo=there)
