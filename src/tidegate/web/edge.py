"""What holds for every request and answer: hosts, the prefix taken off and put on, bodies that end, and headers."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.web.problems import refusal
from tidegate.web.site import Site

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing but our own files, and no script or style inside a page."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

LONGEST_BODY = 1 << 20
"""Bytes of a request's body, for everything that is no upload."""

_TOO_LONG = f"A request may have {LONGEST_BODY:,} bytes; this one is longer."

_ELSEWHERE = (
    'Tidegate does not answer for the host "{}". If it is yours, add it to the setting web_hosts (TIDEGATE_WEB_HOSTS).'
)

UPLOADS = ("/uploads/", "/api/uploads/")
"""Below these paths bodies are bounded by those who take them."""


class Edge:
    """Around the whole application (ASGI); the site's prefix is what a proxy may leave on the path, or take off."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self._prefix = site.prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._prefix and scope["path"].startswith(f"{self._prefix}/"):
            scope = {**scope, "path": scope["path"].removeprefix(self._prefix)}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if headers.get("location", "").startswith("/api/"):  # pages name their places with the prefix
                    headers["location"] = self._prefix + headers["location"]
            await send(message)

        await (self._at_once(scope) or self._app)(scope, _bounded(scope, receive), send_with_headers)

    def _at_once(self, scope: Scope) -> Response | None:
        """The answer to what nobody further in has to see."""
        host = Headers(scope=scope).get("host")
        if not self._site.answers_to(host):
            return refusal(Request(scope), HTTPStatus.MISDIRECTED_REQUEST, _ELSEWHERE.format(host))
        if self._prefix and scope["path"] == self._prefix:  # browsers have no cookie of ours for it
            return RedirectResponse(f"{self._prefix}/", status_code=308)
        if _announced(scope) > LONGEST_BODY and not scope["path"].startswith(UPLOADS):
            return refusal(Request(scope), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        return None


def _announced(scope: Scope) -> int:
    """How long the body is said to be; 0 when nothing is said, or no number."""
    said = dict(scope["headers"]).get(b"content-length", b"0")
    return int(said) if said.isdigit() else 0


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Stop listening to a body that goes on beyond the bound without having announced it."""
    if scope["path"].startswith(UPLOADS):
        return receive
    heard = 0

    async def receive_so_much() -> Message:
        nonlocal heard
        message = await receive()
        heard += len(message.get("body", b""))
        if heard > LONGEST_BODY:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        return message

    return receive_so_much
