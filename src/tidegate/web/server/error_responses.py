"""Error responses: RFC 9457 problems whose detail is a sentence for a person."""

from __future__ import annotations

from http import HTTPStatus

import asyncpg
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tidegate.core.errors import BadInput, NotNow, NotThere, TidegateError, Unstorable
from tidegate.database.pool import AWAY
from tidegate.web.page_response import is_htmx, page
from tidegate.web.refused_field import FIELD_HEADER, RefusedField
from tidegate.web.rules.command_removal import without_commands
from tidegate.web.template_filters import cut, steady

_NAMED = 10
"""How many errors of one request are listed; the others are counted."""

_NO_WORDS = "Tidegate could not do that."

_log = structlog.get_logger(__name__)


def explain(app: FastAPI) -> None:
    """Register the error handlers of *app*."""
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(ClientDisconnect, _refuse_half)
    app.add_exception_handler(RequestValidationError, _refuse_input)
    app.add_exception_handler(BadInput, _refuse_bad_input)
    app.add_exception_handler(NotThere, _refuse_missing)
    app.add_exception_handler(asyncpg.CharacterNotInRepertoireError, _refuse_unstorable)
    app.add_exception_handler(NotNow, _refuse_for_now)
    app.add_exception_handler(TidegateError, _refuse_for_now)
    for away in AWAY:
        app.add_exception_handler(away, _refuse_while_away)
    app.add_exception_handler(Exception, _own_fault)


def wants_page(request: Request) -> bool:
    """Whether a browser sent the request for a page, and not a script, a bot or htmx."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not _is_api(request) and not is_htmx(request)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api")


def refusal(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """The error as a page for browsers, or as problem JSON for other clients; a page names no commands."""
    if not _is_api(request):
        sentence = steady(without_commands(sentence) or _NO_WORDS)
    if not wants_page(request):
        return problem(status, sentence, headers)
    answer = page(request, "problem.html", status=status, title=_title(status), sentence=sentence)
    answer.headers.update(headers or {})
    return answer


def _title(status: int) -> str:
    return "Page not found" if status == HTTPStatus.NOT_FOUND else "That did not work"


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An RFC 9457 problem response."""
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": sentence}
    return JSONResponse(document, status_code=status, headers=headers, media_type="application/problem+json")


async def _refuse(request: Request, found: Exception) -> Response:
    assert isinstance(found, HTTPException)
    sentence = str(found.detail)
    if sentence == HTTPStatus.NOT_FOUND.phrase:
        sentence = f"There is nothing at {request.url.path}."
    if found.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        sentence = f"{request.url.path} cannot be asked with {request.method}."
    return refusal(request, found.status_code, sentence, dict(found.headers or {}))


async def _refuse_half(request: Request, _found: Exception) -> Response:
    """The client disconnected, or was disconnected, before its body arrived: this response reaches nobody."""
    return refusal(request, HTTPStatus.BAD_REQUEST, "The request ended in the middle of its body.")


async def _refuse_input(request: Request, found: Exception) -> Response:
    assert isinstance(found, RequestValidationError)
    errors = found.errors()
    wrong = [f"{cut('.'.join(map(str, error['loc'])))}: {error['msg']}" for error in errors[:_NAMED]]
    others = [f"and {len(errors) - _NAMED:,} more"] if len(errors) > _NAMED else []
    return refusal(
        request, HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be read ({'; '.join(wrong + others)})."
    )


async def _refuse_bad_input(request: Request, found: Exception) -> Response:
    field = {FIELD_HEADER: found.field} if isinstance(found, RefusedField) else None
    return refusal(request, HTTPStatus.BAD_REQUEST, str(found), field)


async def _refuse_missing(request: Request, found: Exception) -> Response:
    """A person on a page has no terminal, and most likely followed an old link."""
    assert isinstance(found, NotThere)
    own = str(found) if _is_api(request) else f"There is no {found.what}; it may have been deleted."
    return refusal(request, HTTPStatus.NOT_FOUND, own)


async def _refuse_unstorable(request: Request, _found: Exception) -> Response:
    return refusal(request, HTTPStatus.BAD_REQUEST, str(Unstorable()))


async def _refuse_for_now(request: Request, found: Exception) -> Response:
    """The request is valid but conflicts with the current state; the sentence says what to do first."""
    return refusal(request, HTTPStatus.CONFLICT, str(found))


async def _refuse_while_away(request: Request, found: Exception) -> Response:
    """The database is restarting, unreachable or short of resources: a retry may help."""
    _log.warning("web.database_away", path=request.url.path, problem=str(found) or type(found).__name__)
    sentence = "The database does not answer right now. Try again in a moment."
    return refusal(request, HTTPStatus.SERVICE_UNAVAILABLE, sentence, {"Retry-After": "5"})


async def _own_fault(request: Request, _problem: Exception) -> Response:
    """The server logs the traceback; the client gets none of it."""
    sentence = "Something went wrong inside Tidegate; its log says what."
    return refusal(request, HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
