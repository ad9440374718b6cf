"""The request rate of each client: a flood of cheap requests would keep the worker in this process from its work.

Requests count for the address they come from. Those with an accepted token or session count for that alone. So another
client at the same address or proxy cannot use up its rate.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Scope

from tidegate.core.rules.trusted_proxies import client_group
from tidegate.web.rules.request_rate import charge_request
from tidegate.web.server.error_responses import problem
from tidegate.web.server.proxy_headers import client_of

V = TypeVar("V")

_MOST_KNOWN = 10_000  # clients that are remembered; the one that asked least recently is forgotten first

_TOO_MANY = (
    "Too many requests: {} a second are answered for each client. Ask again later; the setting "
    "web_requests_per_second says how many."
)


class RequestRates:
    """*per_second* requests for each client; *ticks* is a monotonic clock."""

    def __init__(self, per_second: int, ticks: Callable[[], float]) -> None:
        self._per_second = per_second
        self._ticks = ticks
        self._paid_until: OrderedDict[str, float] = OrderedDict()
        self._accepted: OrderedDict[str, None] = OrderedDict()

    def refusal(self, scope: Scope) -> Response | None:
        """Charge a request; returns the cheapest possible response to one too many."""
        shown = _credential(scope)
        client = shown if shown in self._accepted else client_group(client_of(scope))
        charged = charge_request(self._paid_until.get(client, 0.0), self._ticks(), per_second=self._per_second)
        _remember(self._paid_until, client, charged.paid_until)
        if not charged.wait:
            return None
        later = {"Retry-After": str(math.ceil(charged.wait))}
        return problem(HTTPStatus.TOO_MANY_REQUESTS, _TOO_MANY.format(self._per_second), later)

    def accept(self, scope: Scope) -> None:
        """The token or session of the request is valid."""
        _remember(self._accepted, _credential(scope), None)


def _credential(scope: Scope) -> str:
    """A hash of the token or session of a request, so that neither is stored."""
    headers = dict(scope["headers"])
    shown = headers.get(b"authorization") or headers.get(b"cookie") or b""
    return f"shown {hashlib.sha256(shown).hexdigest()}"


def _remember(known: OrderedDict[str, V], key: str, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _MOST_KNOWN:
        known.popitem(last=False)
