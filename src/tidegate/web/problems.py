"""How the web floor refuses: RFC 9457 problems whose detail is a sentence for a person."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from tidegate.errors import BadInput


def explain(app: FastAPI) -> None:
    """Give every refusal of *app* its sentence."""
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_input)
    app.add_exception_handler(BadInput, _refuse_bad_input)
    app.add_exception_handler(Exception, _own_fault)


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer that says what was wrong."""
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": sentence}
    return JSONResponse(document, status_code=status, headers=headers, media_type="application/problem+json")


async def _refuse(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, HTTPException)
    sentence = str(refusal.detail)
    if sentence == HTTPStatus.NOT_FOUND.phrase:
        sentence = f"There is nothing at {request.url.path}."
    if refusal.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        sentence = f"{request.url.path} cannot be asked with {request.method}."
    return problem(refusal.status_code, sentence, dict(refusal.headers or {}))


async def _refuse_input(_request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}" for error in refusal.errors())
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be read ({wrong}).")


async def _refuse_bad_input(_request: Request, refusal: Exception) -> Response:
    return problem(HTTPStatus.BAD_REQUEST, str(refusal))


async def _own_fault(_request: Request, _problem: Exception) -> Response:
    """The server logs the traceback itself; whoever asked gets none of it."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong inside Tidegate; its log says what.")
