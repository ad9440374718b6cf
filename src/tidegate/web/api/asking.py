"""What a request may carry, and how an answer is given: bounds that the database shares, and refusals on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse, Response
from pydantic import Field

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BIGGEST = 2**63 - 1
"""The largest number that the database holds."""

_PRINTABLE = r"^[^\x00]*$"  # PostgreSQL's text holds every character but the one that ends strings elsewhere

Text = Annotated[str, Field(pattern=_PRINTABLE, max_length=1_000)]
Number = Annotated[int, Field(ge=1, le=BIGGEST)]
Limit = Annotated[int, Field(ge=1, le=500, description="The first so many.")]

ChannelNamed = Annotated[
    str,
    Path(pattern=_PRINTABLE, description="The channel's number or its title; one with a slash goes by its number."),
]
ReminderNamed = Annotated[
    str,
    Path(pattern=_PRINTABLE, description="The reminder's name or number; a name with a slash goes by its number."),
]
AccountNamed = Annotated[str, Path(pattern=_PRINTABLE, description="The account's name.")]

Answers = dict[int | str, dict[str, Any]]
"""What an address may answer beside what it is for, by status."""

_WHY = {
    HTTPStatus.BAD_REQUEST: "What is asked for makes no sense; the sentence says why.",
    HTTPStatus.UNAUTHORIZED: "No token that is known.",
    HTTPStatus.FORBIDDEN: "The token is not for this.",
    HTTPStatus.NOT_FOUND: "There is no such thing, or not for this token.",
    HTTPStatus.CONFLICT: "Not in the state that things are in.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A parameter is missing, of the wrong kind, or out of bounds.",
}
_ALWAYS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)


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
