"""How the web floor refuses: RFC 9457 problems whose detail is a sentence for a person."""

from __future__ import annotations

from http import HTTPStatus

import asyncpg
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from tidegate.errors import BadInput, NotNow, NotThere, TidegateError, Unstorable
from tidegate.store.database import AWAY
from tidegate.web.rendering import is_htmx, page, steady

_log = structlog.get_logger(__name__)


def explain(app: FastAPI) -> None:
    """Give every refusal of *app* its sentence."""
    app.add_exception_handler(HTTPException, _refuse)
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
    """Whether a browser asks that would show a page, and not a script, a bot or htmx."""
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not _is_api(request) and not is_htmx(request)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api")


def refusal(request: Request, status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """What was wrong, in the form that whoever asked can read."""
    sentence = sentence if _is_api(request) else steady(sentence)
    if not wants_page(request):
        return problem(status, sentence, headers)
    answer = page(request, "problem.html", status=status, title=HTTPStatus(status).phrase, sentence=sentence)
    answer.headers.update(headers or {})
    return answer


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer that says what was wrong."""
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


async def _refuse_input(request: Request, found: Exception) -> Response:
    assert isinstance(found, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}" for error in found.errors())
    return refusal(request, HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be read ({wrong}).")


async def _refuse_bad_input(request: Request, found: Exception) -> Response:
    return refusal(request, HTTPStatus.BAD_REQUEST, str(found))


async def _refuse_missing(request: Request, found: Exception) -> Response:
    """Whoever looks at a page sits at no terminal, and most likely came by an old link."""
    assert isinstance(found, NotThere)
    own = str(found) if _is_api(request) else f"There is no {found.what}; it may have been removed."
    return refusal(request, HTTPStatus.NOT_FOUND, own)


async def _refuse_unstorable(request: Request, _found: Exception) -> Response:
    return refusal(request, HTTPStatus.BAD_REQUEST, str(Unstorable()))


async def _refuse_for_now(request: Request, found: Exception) -> Response:
    """It makes sense and cannot be done in the state that things are in; the sentence says what to do first."""
    return refusal(request, HTTPStatus.CONFLICT, str(found))


async def _refuse_while_away(request: Request, found: Exception) -> Response:
    """The database restarts, is cut off or short of something: asking again soon may help."""
    _log.warning("web.database_away", path=request.url.path, problem=str(found) or type(found).__name__)
    sentence = "The database does not answer right now. Try again in a moment."
    return refusal(request, HTTPStatus.SERVICE_UNAVAILABLE, sentence, {"Retry-After": "5"})


async def _own_fault(request: Request, _problem: Exception) -> Response:
    """The server logs the traceback itself; whoever asked gets none of it."""
    sentence = "Something went wrong inside Tidegate; its log says what."
    return refusal(request, HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
