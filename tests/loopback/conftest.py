"""Loopback platforms inside the test's own process, and clients that are gone when the test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from telethon import TelegramClient
from telethon.crypto import AuthKey
from telethon.sessions import MemorySession

from tests.loopback.clients import make_client, sign_in
from tests.platforms.telegram.people import known_key
from tidegate.core.clock import SystemClock
from tidegate.loopback.control_server import make_control
from tidegate.loopback.counting_platform import CountingPlatform
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.whatsapp import World as WhatsAppWorld

PHONE = "+1000001"

Connects = Callable[..., Awaitable[TelegramClient]]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    """A running platform with one account and no channels."""
    clock = SystemClock()
    world = World(clock, seed=7)
    world.add_account(PHONE, "Ada")
    running = TelegramServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
async def opened() -> AsyncIterator[list[TelegramClient]]:
    """Clients that are ended with the test."""
    made: list[TelegramClient] = []
    yield made
    for client in made:
        await client.disconnect()


@pytest.fixture
def enter(telegram: TelegramServer, opened: list[TelegramClient]) -> Connects:
    """Connects clients that agree on a key and sign in with a code."""

    async def make(phone: str = PHONE, **otherwise: object) -> TelegramClient:
        opened.append(make_client(telegram, **otherwise))
        return await sign_in(opened[-1], telegram, phone)

    return make


@pytest.fixture
def connect(telegram: TelegramServer, opened: list[TelegramClient]) -> Connects:
    """Connects clients that signed in some day before."""

    async def make(phone: str = PHONE, **otherwise: object) -> TelegramClient:
        session = MemorySession()
        session.auth_key = AuthKey(known_key(telegram.world, phone))
        opened.append(make_client(telegram, session, **otherwise))
        await opened[-1].connect()
        return opened[-1]

    return make


@pytest.fixture
async def client(connect: Connects) -> TelegramClient:
    """The first account's client, signed in."""
    return await connect()


@pytest.fixture
async def discord_server() -> AsyncIterator[DiscordServer]:
    """A running Discord with one bot in one guild with one empty channel, general."""
    clock = SystemClock()
    world = DiscordWorld(clock, seed=7)
    world.add_bot("Tidebot")
    world.add_channel(world.add_guild("Harbour"), "general")
    running = DiscordServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert running.world.record.unknown == []


@pytest.fixture
async def whatsapp() -> AsyncIterator[WhatsAppServer]:
    """A running platform with one phone and no groups; a function it does not know fails the test."""
    clock = SystemClock()
    world = WhatsAppWorld(clock, seed=7)
    world.add_phone("+6281200000001", "Shop")
    running = WhatsAppServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
async def asking(
    telegram: TelegramServer, discord_server: DiscordServer, whatsapp: WhatsAppServer
) -> AsyncIterator[httpx.AsyncClient]:
    """Asks the control address of the test's own platforms."""
    platforms = Platforms(telegram, discord_server, whatsapp)
    app = make_control(CountingPlatform(SystemClock()), "127.0.0.1:1", platforms)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8742") as client:
        yield client
