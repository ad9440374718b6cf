"""Finding a loopback Telegram by its control address, as an operator gives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import Person, account
from tidegate.core.clock import SystemClock
from tidegate.core.errors import PlatformError
from tidegate.core.task_groups import beside
from tidegate.loopback.control_server import make_control
from tidegate.loopback.counting_platform import CountingPlatform
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.world_document import SMALL_WORLD, make_worlds
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import ask_control
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
    attempt = SignInAttempt(replace(account(), loopback=control), Drawer(), lambda _: None)
    me = await sign_in(attempt, Person(telegram.world))
    assert me.name == "Ada"


async def test_a_control_address_where_nobody_answers_gets_a_sentence() -> None:
    """bad-input-gets-a-sentence: and it may be tried again, for the loopback may just be starting."""
    with pytest.raises(PlatformError, match="tidegate loopback"):
        await ask_control("http://127.0.0.1:9")
