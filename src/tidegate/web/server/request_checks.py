"""Checks of every request: proxies, host names, path prefix, size and rate; and the headers of every response."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.database.storable_connection import refuses_unstorable
from tidegate.web.server.error_responses import refusal
from tidegate.web.server.proxy_headers import as_forwarded
from tidegate.web.server.request_rate_limit import RequestRates
from tidegate.web.server.security_headers import add_security_headers
from tidegate.web.site_address import Site

LONGEST_BODY = 1 << 20
"""Bytes of a request's body, for everything that is no upload."""

MOST_HEADERS = 100
"""Lines of a request's head; browsers and proxies send some twenty."""

MOST_VALUES = 50_000
"""Commas and opening brackets of a JSON document, which takes a microsecond for each to be read, and memory."""

_TOO_FULL = f"A JSON document may have {MOST_VALUES:,} commas and brackets; this one has more."
_TOO_MANY = f"A request may have {MOST_HEADERS} headers; this one has more."
_TOO_LONG = f"A request may have {LONGEST_BODY:,} bytes; this one is longer."

_ELSEWHERE = (
    'Tidegate does not answer for the host "{}". If it is yours, add it to the setting web_hosts (TIDEGATE_WEB_HOSTS).'
)

UPLOADS = ("/uploads/", "/api/uploads/")
"""Below these paths bodies are bounded by those who take them."""


class RequestChecks:
    """ASGI middleware around the application. A proxy may remove the site's path prefix, or leave it."""

    def __init__(self, app: ASGIApp, site: Site, rates: RequestRates) -> None:
        self._app = app
        self._rates = rates
        self._site = site
        self._prefix = site.prefix
        self._strict_transport = site.strict_transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = as_forwarded(scope, self._site.proxies)
        if self._prefix and scope["path"].startswith(f"{self._prefix}/"):
            scope = {**scope, "path": scope["path"].removeprefix(self._prefix)}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                add_security_headers(headers, self._strict_transport)
                if headers.get("location", "").startswith("/api/"):  # pages name their places with the prefix
                    headers["location"] = self._prefix + headers["location"]
            await send(message)

        refused = refuses_unstorable.set(True)
        try:
            await (self._at_once(scope) or self._app)(scope, _bounded(scope, receive), send_with_headers)
        finally:
            refuses_unstorable.reset(refused)

    def _at_once(self, scope: Scope) -> Response | None:
        """The response to a request that does not reach the application."""
        if (too_many := self._rates.refusal(scope)) is not None:
            return too_many
        if len(scope["headers"]) > MOST_HEADERS:
            return refusal(Request(scope), HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_MANY)
        host = Headers(scope=scope).get("host")
        if not self._site.answers_to(host):
            return refusal(Request(scope), HTTPStatus.MISDIRECTED_REQUEST, _ELSEWHERE.format(host))
        if self._prefix and scope["path"] == self._prefix:  # browsers have no cookie of ours for it
            return RedirectResponse(f"{self._prefix}/", status_code=308)
        if _announced(scope) > LONGEST_BODY and not scope["path"].startswith(UPLOADS):
            return refusal(Request(scope), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        return None


def _announced(scope: Scope) -> int:
    """The announced length of the body; 0 if there is none."""
    said = dict(scope["headers"]).get(b"content-length", b"0")
    return int(said) if said.isdigit() else 0


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Stop reading a body that exceeds the limit without having announced its length."""
    if scope["path"].startswith(UPLOADS):
        return receive
    heard = values = 0
    is_json = b"json" in dict(scope["headers"]).get(b"content-type", b"").lower()

    async def receive_so_much() -> Message:
        nonlocal heard, values
        message = await receive()
        body = message.get("body", b"")
        heard += len(body)
        if heard > LONGEST_BODY:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        values += sum(map(body.count, (b",", b"[", b"{"))) if is_json else 0
        if values > MOST_VALUES:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_FULL)
        return message

    return receive_so_much
