"""The web server: ``/health``, ``/metrics``, and the API below ``/api``."""

from tidegate.web.application import make_app
from tidegate.web.server.http_server import listen, listening, serve_web
from tidegate.web.server.open_file_limit import raise_open_file_limit

__all__ = ["listen", "listening", "make_app", "raise_open_file_limit", "serve_web"]
