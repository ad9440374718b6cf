"""The application itself: health, metrics and the API."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest

from tidegate import __version__
from tidegate.sources import Loaded, load
from tidegate.store.database import Database
from tidegate.store.feed import measure_lag
from tidegate.web.api import api
from tidegate.web.health import Health, look
from tidegate.web.pool import PoolUse
from tidegate.web.problems import explain


def make_app(database: Database, loaded: Loaded | None = None) -> FastAPI:
    """The application over one open database, set as *loaded* says; it keeps no state of its own."""
    app = FastAPI(title="Tidegate", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    explain(app)
    app.state.database = database
    app.state.loaded = loaded or load({})
    app.include_router(api)
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
