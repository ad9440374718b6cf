"""Finding a loopback Telegram by its control address, as an operator gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import Person, account
from tidegate.clock import SystemClock
from tidegate.errors import PlatformError
from tidegate.loopback.control import make_control
from tidegate.loopback.counting import CountingPlatform
from tidegate.loopback.platforms import Platforms
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.worlds import SMALL_WORLD, make_worlds
from tidegate.platforms.telegram import sign_in
from tidegate.platforms.telegram.opening import ask_control
from tidegate.side_by_side import beside
from tidegate.web import listen, serve_web


@pytest.fixture
async def control(telegram: TelegramServer) -> AsyncIterator[str]:
    """A control address that answers."""
    clock = SystemClock()
    platforms = replace(Platforms.of(make_worlds(SMALL_WORLD, clock), clock), telegram=telegram)
    app = make_control(CountingPlatform(clock), "127.0.0.1:1", platforms)
    with listen("127.0.0.1", 0) as listener:
        async with beside(serve_web(app, listener)):
            yield "http://{}:{}".format(*listener.getsockname()[:2])


async def test_the_control_address_leads_to_address_and_key(control: str, telegram: TelegramServer) -> None:
    """All that is needed to sign in: the operator gives one address."""
    found = await ask_control(control + "/")
    assert (found.address, found.public_key) == (telegram.address, telegram.public_key_pem)
    me = await sign_in(replace(account(), loopback=control), Drawer(), lambda _: None, Person(telegram.world))
    assert me.name == "Ada"


async def test_a_control_address_where_nobody_answers_gets_a_sentence() -> None:
    """Law 12: and it may be tried again, for the loopback may just be starting."""
    with pytest.raises(PlatformError, match="tidegate loopback"):
        await ask_control("http://127.0.0.1:9")
