"""The real discord.py, pointed at a loopback Discord, and plain HTTP for what it cannot ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import discord
import yarl

from tests.waiting import PATIENCE
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.world.places import Bot


class Listener(discord.Client):
    """A client that remembers everything it dispatched, in order."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("intents", everything_but_members())
        options.setdefault("guild_ready_timeout", 0.1)
        super().__init__(**options)
        self.heard: list[tuple[str, tuple[Any, ...]]] = []
        self._more = asyncio.Event()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Sign in again at once; the library would wait five seconds, as Discord asks for."""

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self.heard.append((event, args))
        self._more.set()
        super().dispatch(event, *args, **kwargs)

    def all(self, event: str) -> list[Any]:
        """The first argument of every dispatch of this event."""
        return [args[0] if args else None for name, args in self.heard if name == event]

    @property
    def frames(self) -> list[str]:
        """The gateway's own name of every event that came, whether or not the library dispatched it."""
        return self.all("socket_event_type")

    async def until(self, event: str, count: int = 1) -> list[Any]:
        """Wait until the event was dispatched so often."""
        return await self.until_so(lambda: self.all(event)[:count] if len(self.all(event)) >= count else [])

    async def until_so(self, found: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (told := found()):
                self._more.clear()
                await self._more.wait()
        return told


def everything_but_members() -> discord.Intents:
    intents = discord.Intents.default()
    intents.message_content = True
    return intents


@asynccontextmanager
async def pointed_at(server: DiscordServer) -> AsyncIterator[None]:
    """discord.py has one address for the whole process."""
    before = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    discord.http.Route.BASE = server.rest
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(server.gateway_url)
    try:
        yield
    finally:
        discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = before


def first_bot(server: DiscordServer) -> Bot:
    return next(iter(server.world.bots.values()))


@asynccontextmanager
async def logged_in(server: DiscordServer, bot: Bot | None = None, **options: Any) -> AsyncIterator[Listener]:
    """A client that may use REST and has no gateway."""
    client = Listener(**options)
    async with pointed_at(server):
        try:
            await client.login(server.world.token(bot or first_bot(server)))
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def connected(server: DiscordServer, bot: Bot | None = None, **options: Any) -> AsyncIterator[Listener]:
    """A client that is ready; its connection ends with the block."""
    async with logged_in(server, bot, **options) as client:
        running = asyncio.create_task(client.connect())
        try:
            await client.until_so(lambda: client.all("ready") or running.done())
            if running.done():
                await running
            yield client
        finally:
            await client.close()
            with suppress(discord.DiscordException):
                await running


async def ask(
    server: DiscordServer, verb: str, path: str, *, token: str | None = None, **more: Any
) -> tuple[int, Any, dict[str, str]]:
    """One REST call as it is: status, body and headers with lower-case names."""
    given = server.world.token(first_bot(server)) if token is None else token
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bot {given}"}) as session,
        session.request(verb, server.rest + path, **more) as answer,
    ):
        is_json = answer.content_type == "application/json"
        body = await answer.json() if is_json and answer.status != 204 else await answer.text()
        return answer.status, body, {name.lower(): value for name, value in answer.headers.items()}
