"""The web application: health, metrics, the API and, unless switched off, the pages."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp

from tidegate import __version__
from tidegate.app.policies import media_store
from tidegate.app.setting_sources import LoadedSettings, load
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.web import page_response
from tidegate.web.auth.operator_sign_in import send_to_sign_in, signing_in
from tidegate.web.live.event_stream import EventStream
from tidegate.web.openapi import api
from tidegate.web.pages import guarded_pages
from tidegate.web.pending_account_sign_ins import PendingSignIns
from tidegate.web.server.client_connections import ConnectionLimits
from tidegate.web.server.error_responses import explain
from tidegate.web.server.health import Health, look
from tidegate.web.server.heavy_request_limit import HeavyRequests
from tidegate.web.server.metrics_endpoint import add_metrics
from tidegate.web.server.request_checks import RequestChecks
from tidegate.web.server.request_rate_limit import RequestRates
from tidegate.web.site_address import Site
from tidegate.web.static_files import assets

_pages = [*assets.routes, *signing_in.routes, *guarded_pages.routes]
"""What every application of a process with pages has alike."""


class _Tidegate(FastAPI):
    """Wraps everything in the request checks, also the response to internal errors, which middleware would not
    reach."""

    def build_middleware_stack(self) -> ASGIApp:
        return RequestChecks(super().build_middleware_stack(), self.state.site, self.state.request_rates)


def make_app(
    database: Database, loaded: LoadedSettings | None = None, *, pages: bool = True, beside_worker: bool = False
) -> FastAPI:
    """The application over one open database, set as *loaded* says; a worker alone has no *pages*.

    *beside_worker*: a worker of this process needs connections too, so a third of them is left to it.
    """
    loaded = loaded or load({})
    all_of_them = database.pool.get_max_size()
    own = max(1, all_of_them * 2 // 3) if beside_worker else all_of_them
    database = database.within(loaded.settings.web_waits_for, connections=own)
    site = Site.of(loaded.settings)
    app = _Tidegate(title="Tidegate", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    explain(app)
    app.state.database = database
    app.state.loaded = loaded
    app.state.site = site
    app.state.request_rates = RequestRates(loaded.settings.web_requests_per_second, SystemClock().ticks)
    app.state.heavy_requests = HeavyRequests(loaded.settings.web_heavy_requests)
    app.state.connection_limits = ConnectionLimits.of(loaded.settings)
    app.state.event_stream = EventStream(database)
    app.state.conversations = PendingSignIns()
    app.state.media_store = media_store(loaded.settings)
    app.state.without_end = (app.state.event_stream, app.state.conversations)  # ended with the process
    app.router.routes.extend(api.routes)
    _add_health(app, database)
    add_metrics(app, database)
    if pages:
        app.state.prepare = page_response.prepare
        send_to_sign_in(app)
        app.router.routes.extend(_pages)
    return app


def _add_health(app: FastAPI, database: Database) -> None:
    @app.api_route("/health", methods=["GET", "HEAD"])
    async def health() -> Response:
        found = await look(database)
        status = HTTPStatus.OK if isinstance(found, Health) else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse(found.document(), status_code=status)
