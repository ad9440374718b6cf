"""Heavy requests, which use much of the database or CPU: a limited number at a time per token or browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, HTTPException, Request

RETRY_AFTER = 2
"""Seconds after which it makes sense to ask again."""

_TOO_MANY = (
    "{} of your requests that take long are under way already. Ask again when one of them has been answered; "
    "the setting web_heavy_requests says how many there may be."
)


class HeavyRequests:
    """How many of them each client has running; *most* for each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: Counter[str] = Counter()

    def begin(self, whose: str) -> None:
        """Count one more, or refuse it with 429."""
        if self._under_way[whose] >= self._most:
            sentence = _TOO_MANY.format(self._most)
            raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, sentence, {"Retry-After": str(RETRY_AFTER)})
        self._under_way[whose] += 1

    def end(self, whose: str) -> None:
        self._under_way[whose] -= 1
        if not self._under_way[whose]:
            del self._under_way[whose]


class HeavyRequestSlot:
    """A request that may prove to be heavy; it is counted until it ends."""

    def __init__(self, requests: HeavyRequests) -> None:
        self._requests = requests
        self._whose: str | None = None

    def begin(self, whose: str) -> None:
        """From now on the request counts among the heavy ones of *whose*."""
        self._requests.begin(whose)
        self._whose = whose

    def end(self) -> None:
        if self._whose is not None:
            self._requests.end(self._whose)


async def _slot(request: Request) -> AsyncIterator[HeavyRequestSlot]:
    """FastAPI continues here when the response was sent or failed, also when the client disconnected."""
    slot = HeavyRequestSlot(request.app.state.heavy_requests)
    try:
        yield slot
    finally:
        slot.end()


Heavy = Annotated[HeavyRequestSlot, Depends(_slot)]
