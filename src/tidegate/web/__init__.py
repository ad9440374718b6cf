"""The web floor: ``/health``, ``/metrics``, and the API below ``/api``."""

from tidegate.web.application import make_app
from tidegate.web.serving import listen, serve_web

__all__ = ["listen", "make_app", "serve_web"]
