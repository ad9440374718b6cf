"""The HTTP API for bots and scripts: what is stored, what it cost, and how it is steered; with a token, in JSON.

It reads and writes the store and asks no platform itself: what needs a platform is left as a command to the worker
that serves the account. The application that takes the addresses in has database and settings in its state.
"""

from tidegate.web.api.document import api

__all__ = ["api"]
