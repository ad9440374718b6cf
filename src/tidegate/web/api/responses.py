"""Responses of the API: a document as JSON, and the refusals that the OpenAPI document lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.responses import Response

from tidegate.web.server.streamed_responses import PiecewiseResponse, encoded_document, made_in_thread

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Answers = dict[int | str, dict[str, Any]]
"""What an address may answer beside what it is for, by status."""

_WHY = {
    HTTPStatus.BAD_REQUEST: "What is asked for makes no sense; the sentence says why.",
    HTTPStatus.UNAUTHORIZED: "No token that is known.",
    HTTPStatus.FORBIDDEN: "The token is not for this.",
    HTTPStatus.NOT_FOUND: "There is no such thing, or not for this token.",
    HTTPStatus.CONFLICT: "Not in the state that things are in.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too long.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is of a kind that is not taken.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests, or heavy ones under way; Retry-After says when.",
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: "No byte of the file is in the range.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The store does not answer now; Retry-After says when to ask again.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A parameter is missing, of the wrong kind, or out of bounds.",
}
_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
)


def refusals(*further: HTTPStatus) -> Answers:
    """The error responses of a route for the OpenAPI document: the common ones, and *further* ones."""
    shape = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {int(status): {"description": _WHY[status], "content": shape} for status in (*_ALWAYS, *further)}


CHANGE_REFUSALS = refusals(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""The refusals of a change to something that may not exist or may be in another state."""

NO_CONTENT: dict[str, Any] = {"status_code": HTTPStatus.NO_CONTENT, "response_class": Response}
"""Options of a route whose answer has no body."""


def answer(
    shape: DataclassInstance | Mapping[str, object],
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A document as JSON."""
    return _document(shape, status, headers)


def answer_all(shapes: Sequence[DataclassInstance | Mapping[str, object]]) -> Response:
    """Several documents as a JSON list."""
    return _document(shapes, HTTPStatus.OK)


def _document(found: object, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Response:
    return PiecewiseResponse(made_in_thread(encoded_document(found)), status, headers, "application/json")
