"""Where people reach the pages, and what follows from it for addresses and cookies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request

from tidegate.settings import Settings


@dataclass(frozen=True, slots=True)
class Site:
    """*prefix* is the path below which the pages live, *origin* what browsers call the place, where it is known.

    *hosts* are those that it is asked at beside this machine's own names; None is any.
    """

    prefix: str = ""
    origin: str | None = None
    stays_signed_in_for: timedelta = timedelta(days=30)
    hosts: frozenset[str] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Site:
        parts = urlsplit(settings.web_url or "")
        origin = f"{parts.scheme}://{parts.netloc}".lower() if settings.web_url else None
        return cls(parts.path.rstrip("/"), origin, settings.web_session_for, _hosts(settings, parts.netloc))

    def answers_to(self, host: str | None) -> bool:
        """Whether a request that names *host* is for us; one without any comes from no browser.

        Whoever has a domain can let it lead to this machine, and a browser then lets that site read what we answer.
        """
        if host is None or self.hosts is None:
            return True
        return _name(host) in self.hosts or _is_loopback(_name(host))

    def path(self, path: str) -> str:
        """The address of one of our own pages, as a browser has to ask for it."""
        return self.prefix + path

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks https, so that its cookie may travel over nothing else."""
        return request.url.scheme == "https" or (self.origin or "").startswith("https:")


def _hosts(settings: Settings, public: str) -> frozenset[str] | None:
    """Those the operator named. In a network a machine has names that nobody listed: there only a list closes it."""
    if settings.web_hosts is None and not _is_loopback(settings.web_host):
        return None
    return frozenset(map(_name, [public, *re.split("[, ]+", settings.web_hosts or "")])) - {""}


def _name(host: str) -> str:
    """A host without its port, written as names and addresses are compared."""
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
