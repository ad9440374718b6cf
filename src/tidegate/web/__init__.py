"""The web floor: ``/health`` and ``/metrics`` today, pages and API on the floors above."""

from tidegate.web.application import make_app
from tidegate.web.serving import listen, serve_web

__all__ = ["listen", "make_app", "serve_web"]
