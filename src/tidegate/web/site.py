"""Where people reach the pages, and what follows from it for addresses and cookies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from fastapi import Request

from tidegate.settings import Settings


@dataclass(frozen=True, slots=True)
class Site:
    """*prefix* is the path below which the pages live, *origin* what browsers call the place, where it is known."""

    prefix: str = ""
    origin: str | None = None
    stays_signed_in_for: timedelta = timedelta(days=30)

    @classmethod
    def of(cls, settings: Settings) -> Site:
        if settings.web_url is None:
            return cls(stays_signed_in_for=settings.web_session_for)
        parts = urlsplit(settings.web_url)
        origin = f"{parts.scheme}://{parts.netloc}".lower()
        return cls(parts.path.rstrip("/"), origin, settings.web_session_for)

    def path(self, path: str) -> str:
        """The address of one of our own pages, as a browser has to ask for it."""
        return self.prefix + path

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks https, so that its cookie may travel over nothing else."""
        return request.url.scheme == "https" or (self.origin or "").startswith("https:")


def site_of(request: Request) -> Site:
    """The site that answers *request*."""
    site: Site = request.app.state.site
    return site
