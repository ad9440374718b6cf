"""The application itself: its addresses, and how it refuses what it does not know."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException

from tidegate import __version__
from tidegate.store.database import Database
from tidegate.store.feed import measure_lag
from tidegate.web.health import Health, look
from tidegate.web.pool import PoolUse


def make_app(database: Database) -> FastAPI:
    """The application over one open database; it keeps no state of its own."""
    app = FastAPI(title="Tidegate", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_input)
    app.add_exception_handler(Exception, _own_fault)
    of_this_app = CollectorRegistry()
    of_this_app.register(PoolUse(database.pool))

    @app.api_route("/health", methods=["GET", "HEAD"])
    async def health() -> Response:
        found = await look(database)
        status = HTTPStatus.OK if isinstance(found, Health) else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse(found.document(), status_code=status)

    @app.get("/metrics")
    async def metrics() -> Response:
        await measure_lag(database)
        return Response(generate_latest(REGISTRY) + generate_latest(of_this_app), media_type=CONTENT_TYPE_LATEST)

    return app


def _sentence(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"problem": sentence}, status_code=status)


async def _refuse(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, HTTPException)
    if refusal.status_code == HTTPStatus.NOT_FOUND:
        return _sentence(HTTPStatus.NOT_FOUND, f"There is nothing at {request.url.path}.")
    if refusal.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return _sentence(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.url.path} cannot be asked with {request.method}.")
    return _sentence(refusal.status_code, str(refusal.detail))


async def _refuse_input(_request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}" for error in refusal.errors())
    return _sentence(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request cannot be read ({wrong}).")


async def _own_fault(_request: Request, _problem: Exception) -> Response:
    """The server logs the traceback itself; whoever asked gets none of it."""
    return _sentence(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong inside Tidegate; its log says what.")
