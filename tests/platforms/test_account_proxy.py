"""The proxy of an account reaches each platform's library."""

from __future__ import annotations

from datetime import timedelta

from tests.platforms.drawer import Drawer
from tidegate.core.clock import SystemClock
from tidegate.core.rules.outgoing_proxy import parse_proxy
from tidegate.platforms.account_proxy import PROXY, proxy_of
from tidegate.platforms.discord.rest import RestClient
from tidegate.platforms.whatsapp.child_supervisor import ChildSetup

URL = "http://me:hunter2@proxy.example:8080"


async def test_it_is_read_from_the_secrets() -> None:
    """None where there is none."""
    vault = Drawer()
    assert await proxy_of(vault) is None
    await vault.write(PROXY, URL.encode())
    assert await proxy_of(vault) == parse_proxy(URL)


async def test_discord_calls_and_gateway_use_it() -> None:
    """discord.py gives it to every request and to the gateway's socket."""
    rest = RestClient(SystemClock(), lambda _: None, proxy=parse_proxy(URL))
    assert rest.proxy == URL


def test_whatsapp_gets_it_through_the_pipe() -> None:
    """Not as an argument of its process, which others can read."""
    setup = ChildSetup("shop", "session", "device", timedelta(seconds=5), proxy=parse_proxy(URL))
    assert setup.open_options()["proxy"] == URL
    assert ChildSetup("shop", "session", "device", timedelta(seconds=5)).open_options()["proxy"] is None
