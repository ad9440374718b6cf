"""Refuses requests of other sites' pages: every browser of this machine can reach the loopback platforms.

A page can make its visitor's browser call any address. With a host name that resolves to 127.0.0.1 it can also read the
answers. Client libraries send this machine as the host, and no origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_NAMES = ("127.0.0.1", "localhost", "[::1]")
_OWN = (None, "none", "same-origin")
_CLOSED = {"Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff"}


def why_foreign(headers: Mapping[str, str], port: int) -> str | None:
    """Why a request is refused as coming from another site's page; None when it is accepted."""
    hosts = {f"{name}:{port}" for name in _NAMES} | (set(_NAMES) if port == 80 else set())
    host, origin, fetched = headers.get("host"), headers.get("origin"), headers.get("sec-fetch-site")
    if host is not None and host.lower() not in hosts:
        return f"The loopback platforms answer only to http://127.0.0.1:{port}, not to the host {host}."
    if (origin is not None and origin.lower().removeprefix("http://") not in hosts) or fetched not in _OWN:
        return "A page of another site asked for this, so it was not done."
    return None


class OwnMachineOnly:
    """ASGI middleware: refuses requests that another site's page made a browser send."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        why = why_foreign(Headers(scope=scope), scope["server"][1]) if scope["type"] == "http" else None
        refusal = JSONResponse({"problem": why}, status_code=HTTPStatus.FORBIDDEN, headers=_CLOSED)
        await (self._app if why is None else refusal)(scope, receive, send)


@web.middleware
async def own_machine_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The same for aiohttp, in the words of Discord's refusals."""
    assert request.transport is not None
    why = why_foreign(request.headers, request.transport.get_extra_info("sockname")[1])
    if why is not None:
        return web.json_response({"message": why, "code": 0}, status=HTTPStatus.FORBIDDEN, headers=_CLOSED)
    return await handler(request)
