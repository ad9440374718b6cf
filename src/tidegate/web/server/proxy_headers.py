"""The client address and scheme that a proxy forwards, accepted only from proxies in the settings.

``Forwarded`` is never read: most proxies pass on what a client wrote there.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope

from tidegate.core.rules.trusted_proxies import SOCKET, Proxies, client_behind

_SCHEMES = ("http", "https")


def as_forwarded(scope: Scope, proxies: Proxies) -> Scope:
    """The request as the client behind trusted proxies made it, or as it came."""
    peer = scope["client"][0] if scope["client"] else SOCKET
    if not proxies.believes(peer):
        return scope
    headers = Headers(scope=scope)
    client = client_behind(peer, headers.getlist("x-forwarded-for"), proxies)
    said = ",".join(headers.getlist("x-forwarded-proto")).rpartition(",")[2].strip().lower()
    return {
        **scope,
        "client": None if client == SOCKET else (client, 0),
        "scheme": said if said in _SCHEMES else scope["scheme"],
    }


def client_of(scope: Scope) -> str:
    """The client address, as ``as_forwarded`` found it."""
    return scope["client"][0] if scope["client"] else SOCKET
