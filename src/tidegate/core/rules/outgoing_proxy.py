"""The address of a proxy. It may hold a password, so only its scheme, host and port are ever shown."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from tidegate.core.errors import BadInput

SCHEMES = ("socks5", "http")
_FORM = "Write it as socks5://USER:PASSWORD@HOST:PORT or http://HOST:PORT, special characters percent-encoded."


@dataclass(frozen=True, slots=True, repr=False)
class ProxyAddress:
    """A proxy and the account on it, if it wants one."""

    scheme: str  # one of ``SCHEMES``
    host: str
    port: int
    username: str | None = None
    password: str | None = None

    @property
    def shown(self) -> str:
        """What people may see of it."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        """All of it, as a library takes it."""
        if self.username is None:
            return self.shown
        who = quote(self.username, safe="") + (f":{quote(self.password, safe='')}" if self.password else "")
        return self.shown.replace("://", f"://{who}@", 1)

    def __repr__(self) -> str:
        return f"ProxyAddress({self.shown})"


def parse_proxy(written: str) -> ProxyAddress:
    """Read the address of a proxy; a refusal never repeats it."""
    try:
        parts = urlsplit(written)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadInput(f"That is not the address of a proxy. {_FORM}") from None
    if parts.scheme not in SCHEMES:
        raise BadInput(f"A proxy is one of {', '.join(SCHEMES)}. {_FORM}")
    if not host or port is None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadInput(f"The address of a proxy is a host and a port. {_FORM}")
    username, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    return ProxyAddress(parts.scheme, host, port, username or None, password)
