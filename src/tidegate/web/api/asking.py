"""What a request may carry, and how an answer is given: bounds that the database shares, and refusals on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Path
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from tidegate.errors import BadInput
from tidegate.reminders.texts import STORABLE, Words
from tidegate.rules.querying import Here

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BIGGEST = 2**63 - 1
"""The largest number that the database holds."""

Text = Annotated[str, Field(max_length=1_000, json_schema_extra={"pattern": r"^[^\x00]*$"}), STORABLE]
Number = Annotated[int, Field(ge=1, le=BIGGEST)]
Limit = Annotated[int, Field(ge=1, le=500, description="The first so many.")]

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
    """The time zone of that name, or a sentence."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f'There is no time zone "{name}"; write for example zone=Europe/Berlin.') from None


def days_of(zone: str) -> Here:
    """What makes an instant of a day or an hour as people of that zone mean it."""
    there = zone_of(zone)
    return lambda moment: moment.replace(tzinfo=there)


Answers = dict[int | str, dict[str, Any]]
"""What an address may answer beside what it is for, by status."""

_WHY = {
    HTTPStatus.BAD_REQUEST: "What is asked for makes no sense; the sentence says why.",
    HTTPStatus.UNAUTHORIZED: "No token that is known.",
    HTTPStatus.FORBIDDEN: "The token is not for this.",
    HTTPStatus.NOT_FOUND: "There is no such thing, or not for this token.",
    HTTPStatus.CONFLICT: "Not in the state that things are in.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too long.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A parameter is missing, of the wrong kind, or out of bounds.",
}
_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


def refusals(*further: HTTPStatus) -> Answers:
    """The refusals of an address for the OpenAPI document: those that all have, and *further* ones."""
    shape = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {int(status): {"description": _WHY[status], "content": shape} for status in (*_ALWAYS, *further)}


def answer(shape: DataclassInstance, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """A shape as its document."""
    return JSONResponse(asdict(shape), status_code=status)


def answer_all(shapes: Sequence[DataclassInstance]) -> Response:
    """Several shapes as a list."""
    return JSONResponse([asdict(shape) for shape in shapes])
