"""hikari on a loopback Discord: it is given the address of REST, and asks there for that of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import hikari

from tests.loopback.bots import first_bot
from tests.waiting import until
from tidegate.loopback.discord import DiscordServer

_Event = TypeVar("_Event", bound=hikari.Event)


class Reader(hikari.GatewayBot):
    """A bot that remembers the events it got."""

    def __init__(self, server: DiscordServer) -> None:
        intents = hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT
        token = server.world.token(first_bot(server))
        super().__init__(
            token, rest_url=server.rest, intents=intents, banner=None, logs=None, suppress_optimization_warning=True
        )
        self._heard: list[hikari.Event] = []
        self.subscribe(hikari.Event, self._hear)

    async def _hear(self, event: hikari.Event) -> None:
        self._heard.append(event)

    async def next_event(self, kind: type[_Event]) -> _Event:
        """Wait for the next event of this kind; those before it are forgotten."""
        while True:
            await until(lambda: self._heard)
            event = self._heard.pop(0)
            if isinstance(event, kind):
                return event


@asynccontextmanager
async def connected(server: DiscordServer) -> AsyncIterator[Reader]:
    """A bot that is ready; its connection ends with the block."""
    reader = Reader(server)
    await reader.start(check_for_updates=False)
    try:
        yield reader
    finally:
        await reader.close()
