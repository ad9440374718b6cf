"""The application itself: health, metrics, the API, and the pages where somebody wants them."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from starlette.types import ASGIApp

from tidegate import __version__
from tidegate.sources import Loaded, load
from tidegate.store.database import Database
from tidegate.store.feed import measure_lag
from tidegate.web.api import api
from tidegate.web.assets import assets
from tidegate.web.conversations import Conversations
from tidegate.web.edge import Edge
from tidegate.web.health import Health, look
from tidegate.web.news import News
from tidegate.web.pages import guarded_pages
from tidegate.web.pool import PoolUse
from tidegate.web.problems import explain
from tidegate.web.signing_in import send_to_sign_in, signing_in
from tidegate.web.site import Site

_api, _pages = APIRouter(), APIRouter()
"""What every application of a process has alike: FastAPI makes ready once, at the first request, what was taken in."""
_api.include_router(api)
for router in (assets, signing_in, guarded_pages):
    _pages.include_router(router)


class _Tidegate(FastAPI):
    """With the edge around everything, the answer to our own faults included, which middleware would not reach."""

    def build_middleware_stack(self) -> ASGIApp:
        return Edge(super().build_middleware_stack(), self.state.site)


def make_app(database: Database, loaded: Loaded | None = None, *, pages: bool = True) -> FastAPI:
    """The application over one open database, set as *loaded* says; a worker alone has no *pages*."""
    loaded = loaded or load({})
    database = database.within(loaded.settings.web_waits_for)
    site = Site.of(loaded.settings)
    app = _Tidegate(title="Tidegate", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    explain(app)
    app.state.database = database
    app.state.loaded = loaded
    app.state.site = site
    app.state.news = News(database)
    app.state.conversations = Conversations()
    app.state.without_end = (app.state.news, app.state.conversations)  # ended with the process
    app.router.routes.extend(_api.routes)
    _add_health(app, database)
    if pages:
        send_to_sign_in(app)
        app.router.routes.extend(_pages.routes)
    return app


def _add_health(app: FastAPI, database: Database) -> None:
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
