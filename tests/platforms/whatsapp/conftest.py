"""A loopback WhatsApp inside the test's own process, and the adapter connected to it through a real child."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.people import CONTROL, PHONE, NoSessions, account
from tidegate.core.clock import SystemClock
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.loopback.whatsapp.world import Group, Phone
from tidegate.platforms.whatsapp.client import WhatsAppAccount
from tidegate.platforms.whatsapp.connector import DEVICE, whatsapp_opener

Opens = Callable[..., Awaitable[WhatsAppAccount]]


@pytest.fixture
async def whatsapp(clock: SystemClock) -> AsyncIterator[WhatsAppServer]:
    """A running platform with one phone; a function it does not know fails the test."""
    world = World(clock, seed=7)
    world.add_phone(PHONE, "Shop")
    running = WhatsAppServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
def world(whatsapp: WhatsAppServer) -> World:
    return whatsapp.world


@pytest.fixture
def phone(world: World) -> Phone:
    return world.phones[PHONE]


@pytest.fixture
def shops(world: World) -> Group:
    return world.add_group("Shops")


@pytest.fixture
def drawer(world: World, phone: Phone) -> Drawer:
    """A vault with a linked device in it."""
    return Drawer({DEVICE: world.link(phone).encode()})


@pytest.fixture
def noted() -> list[str]:
    """What was counted as connecting."""
    return []


@pytest.fixture
async def opens(whatsapp: WhatsAppServer, drawer: Drawer, noted: list[str]) -> AsyncIterator[Opens]:
    """Connects the account that was linked some day before, and closes with the test."""
    opened: list[WhatsAppAccount] = []

    async def find(control: str) -> str:
        assert control == CONTROL
        return whatsapp.address

    async def make(**otherwise: timedelta) -> WhatsAppAccount:
        how = {"silent_after": timedelta(minutes=1), "hand_on_within": timedelta(seconds=30), **otherwise}
        opener = whatsapp_opener(SystemClock(), NoSessions(), find_loopback=find, **how)
        client = await opener(account(), drawer, noted.append)
        assert isinstance(client, WhatsAppAccount)
        opened.append(client)
        return client

    yield make
    for client in opened:
        await client.close()


@pytest.fixture
async def client(shops: Group, opens: Opens) -> WhatsAppAccount:
    return await opens()
