"""The public address of the pages, and what follows from it for hosts, links and cookies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request

from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.app.settings import Settings
from tidegate.core.rules.trusted_proxies import Proxies, read_proxies

COOKIE = "tidegate_session"
"""The plain name of the cookie that a session is in."""

_YEAR = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Site:
    """*prefix* is the path of the pages, *origin* their public origin if it is known.

    *hosts* are the accepted host names beside those of this machine; None accepts any. *proxies* are the trusted ones,
    *sessions* how long a browser stays signed in.
    """

    prefix: str
    origin: str | None
    hosts: frozenset[str] | None
    proxies: Proxies
    sessions: SessionSpan

    @classmethod
    def of(cls, settings: Settings) -> Site:
        parts = urlsplit(settings.web_url or "")
        return cls(
            prefix=parts.path.rstrip("/"),
            origin=f"{parts.scheme}://{parts.netloc}".lower() if settings.web_url else None,
            hosts=_hosts(settings, parts.netloc),
            proxies=read_proxies(settings.web_proxies or ""),
            sessions=SessionSpan(settings.web_session_for, settings.web_session_at_most),
        )

    @property
    def strict_transport(self) -> str | None:
        """The header that makes browsers use only https (HSTS), where that is safe.

        It holds for every port of a host. An address with a port shares its host with others, which may use plain http,
        so the header is left out.
        """
        parts = urlsplit(self.origin or "")
        return f"max-age={_YEAR}" if parts.scheme == "https" and parts.port in (None, 443) else None

    def answers_to(self, host: str | None) -> bool:
        """Whether a request that names *host* is for us; one without any comes from no browser.

        The owner of a domain can point it at this machine, and a browser then lets that site read our responses (DNS
        rebinding).
        """
        if host is None or self.hosts is None:
            return True
        return _name(host) in self.hosts or _is_loopback(_name(host))

    def path(self, path: str) -> str:
        """The path of one of our own pages for a browser."""
        return self.prefix + path

    def is_secure(self, request: Request) -> bool:
        """Whether the browser uses https, so that its cookie is limited to https."""
        return request.url.scheme == "https" or (self.origin or "").startswith("https:")

    def session_cookie(self, request: Request) -> str:
        """The name of the session cookie.

        Cookies reach every port of a host, and are set by any of them. Over https a name prefix prevents that: browsers
        accept it only over https, and ``__Host-`` only for the whole host.
        """
        if not self.is_secure(request):
            return COOKIE
        return f"__Secure-{COOKIE}" if self.prefix else f"__Host-{COOKIE}"


def _hosts(settings: Settings, public: str) -> frozenset[str] | None:
    """Those the operator named. In a network a machine has unlisted names: there only an explicit list restricts it."""
    if settings.web_hosts is None and settings.web_socket is None and not _is_loopback(settings.web_host):
        return None
    return frozenset(map(_name, [public, *re.split("[, ]+", settings.web_hosts or "")])) - {""}


def _name(host: str) -> str:
    """A host name or address without its port, normalised."""
    return re.sub(r":\d*$", "", host.lower()).strip("[]").removesuffix(".")


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def site_of(request: Request) -> Site:
    """The site that answers *request*."""
    site: Site = request.app.state.site
    return site
