"""A loopback Telegram inside the test's own process, and the adapter connected to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import PHONE, account, finding, signed_in_before
from tidegate.core.clock import Clock, SystemClock
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.interface import ChannelPage
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.platforms.telegram.connector import telegram_opener

Opens = Callable[..., Awaitable[TelegramAccount]]


@pytest.fixture
async def telegram(clock: SystemClock) -> AsyncIterator[TelegramServer]:
    """A running platform with two accounts and no channels; a method it does not know fails the test."""
    world = World(clock, seed=7)
    world.add_account(PHONE, "Ada")
    world.add_account("+1000002", "Bob", password="opensesame")
    running = TelegramServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
def world(telegram: TelegramServer) -> World:
    return telegram.world


@pytest.fixture
def drawer() -> Drawer:
    return Drawer()


@pytest.fixture
def noted() -> list[str]:
    """What the library was seen to send by itself."""
    return []


@pytest.fixture
async def opens(telegram: TelegramServer, drawer: Drawer, noted: list[str]) -> AsyncIterator[Opens]:
    """Connects an account that signed in some day before, and closes with the test."""
    opened: list[TelegramAccount] = []

    async def make(clock: Clock | None = None) -> TelegramAccount:
        find = finding(telegram)
        if not drawer.kept:
            signed_in_before(telegram.world, drawer)
        opener = telegram_opener(None, clock or SystemClock(), find_loopback=find)
        client = await opener(account(), drawer, noted.append)
        assert isinstance(client, TelegramAccount)
        opened.append(client)
        return client

    yield make
    for client in opened:
        await client.close()


async def all_channels(client: TelegramAccount) -> list[ChannelPage]:
    """Every page of the listing, which also tells the account of its channels."""
    pages = [await client.channels(None)]
    while pages[-1].next is not None:
        pages.append(await client.channels(pages[-1].next))
    return pages


@pytest.fixture
async def client(opens: Opens, world: World) -> TelegramAccount:
    """An account that knows the forum "Models" and the channel "News"."""
    world.add_channel("Models", forum=True)
    world.add_channel("News", broadcast=True)
    connected = await opens()
    await all_channels(connected)
    return connected
