"""What a page of another site can make the browser of somebody on this machine send: nothing of it reaches a platform.

Real clients are tried by all other tests here; these send what only browsers send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import httpx
import pytest

from tests.loopback.bots import first_bot
from tests.waiting import PATIENCE
from tests.web.web_client import PLAIN
from tidegate.core.child_protocol import pack
from tidegate.core.clock import SystemClock
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_platform import CountingPlatform
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.world_document import WorldSpec, make_worlds

FOREIGN = [
    {"host": "evil.example"},
    {"host": "evil.example:{port}"},
    {"host": "127.0.0.1.evil.example:{port}"},
    {"host": "127.0.0.1:1"},
    {"host": "127.0.0.1"},
    {"host": "localhost"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "https://127.0.0.1:{port}"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"host": "localhost:{port}", "origin": "http://localhost:1"},
]
OWN = [
    {},
    {"host": "localhost:{port}"},
    {"host": "[::1]:{port}"},
    {"host": "LOCALHOST:{port}", "origin": "http://localhost:{port}"},
    {"origin": "http://127.0.0.1:{port}", "sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
]


@asynccontextmanager
async def at(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, **PLAIN) as client:
        yield client


def filled(headers: dict[str, str], address: str) -> dict[str, str]:
    return {name: value.format(port=urlsplit(address).port) for name, value in headers.items()}


@pytest.fixture
async def platforms() -> Platforms:
    """All of them with a phone and nothing else; nothing is left that nobody knows."""
    spec = WorldSpec.model_validate({"whatsapp": {"phones": [{"phone": "6281200000001"}]}})
    return Platforms.of(make_worlds(spec, SystemClock()), SystemClock())


@pytest.fixture
async def control(platforms: Platforms) -> AsyncIterator[str]:
    async with serving(platforms, CountingPlatform(SystemClock()), "127.0.0.1:1") as address:
        yield address


class TestControl:
    @pytest.mark.parametrize("headers", FOREIGN)
    async def test_another_site_neither_reads_nor_changes_anything(
        self, control: str, platforms: Platforms, headers: dict[str, str]
    ) -> None:
        """A name that leads here by a trick of DNS, a form, a script or a picture of another page: 403."""
        world = platforms.telegram.world
        async with at(control) as client:
            as_form = {"content-type": "text/plain", **filled(headers, control)}
            for method, path in (("GET", "/"), ("GET", "/whatsapp/pair?phone=6281200000001"), ("GET", "/calls")):
                answer = await client.request(method, path, headers=filled(headers, control))
                assert (answer.status_code, "problem" in answer.json()) == (403, True)
                assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            for method, path in (("PUT", "/world"), ("DELETE", "/calls"), ("POST", "/telegram/post")):
                answer = await client.request(method, path, headers=as_form, content=json.dumps({"seed": 9}))
                assert answer.status_code == 403
        assert platforms.telegram.world is world

    @pytest.mark.parametrize("headers", OWN)
    async def test_who_is_on_this_machine_is_answered(self, control: str, headers: dict[str, str]) -> None:
        """Programs, and a person who types the address or clicks it in a terminal."""
        async with at(control) as client:
            answer = await client.get("/", headers=filled(headers, control))
        assert (answer.status_code, set(answer.json())) == (200, {"counting", "telegram", "discord", "whatsapp"})


class TestDiscord:
    @pytest.mark.parametrize("headers", FOREIGN)
    async def test_another_site_reaches_neither_rest_nor_files(
        self, discord_server: DiscordServer, headers: dict[str, str]
    ) -> None:
        """Not even with a token; and no call of it is counted."""
        token = discord_server.world.token(first_bot(discord_server))
        shown = {"authorization": f"Bot {token}", **filled(headers, discord_server.address)}
        async with at(discord_server.address) as client:
            for path in ("/api/v10/users/@me", "/api/v10/gateway", "/attachments/1/2/a.png", "/nowhere"):
                assert (await client.get(path, headers=shown)).status_code == 403, path
        assert discord_server.world.record.calls == []
        assert discord_server.world.record.unknown == []

    async def test_another_site_gets_no_line_to_the_gateway(self, discord_server: DiscordServer) -> None:
        """Browsers let every page open one, and say whose it is."""
        async with aiohttp.ClientSession() as session:
            for origin in ("http://evil.example", "null"):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await session.ws_connect(discord_server.gateway_url, origin=origin)
                assert refused.value.status == 403
            async with session.ws_connect(discord_server.gateway_url) as line:
                assert (await line.receive_json())["op"] == 10
        assert len(discord_server.world.record.sessions) == 1


async def hung_up_on(address: str, request: bytes) -> bytes:
    """What a line that is no HTTP answers to a browser before it hangs up, however long the browser would wait."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(PATIENCE):
        said = await reader.read()
    writer.close()
    return said


class TestLines:
    """Telegram, WhatsApp and the counting platform speak no HTTP; what a browser sends them must mean nothing."""

    async def test_a_form_with_a_devices_words_in_it_is_none_of_a_device(self, whatsapp: WhatsAppServer) -> None:
        """The head of the request is read as the length of a message that nobody sends: it is hung up on at once."""
        words = pack({"n": 1, "method": "pair"})
        for method in (b"POST", b"GET", b"PUT", b"OPTIONS"):
            assert await hung_up_on(whatsapp.address, _form(method, words)) == b""
        assert whatsapp.world.record.calls == []
        assert whatsapp.world.pairings == []

    async def test_a_form_with_calls_in_it_is_none_of_a_client(self) -> None:
        """The first message has to be a client's own; what follows another is not listened to."""
        platform = CountingPlatform(SystemClock())
        address = await platform.start()
        send = {"call": 1, "method": "send", "channel": 1, "key": "k"}
        words = pack({"account": "a", "process": "p"}) + pack(send)
        for first in (b"", pack({}), pack({"account": "a"}), pack(send), b"\0\0\0\1\0\0\0\0\xff"):
            assert await hung_up_on(address, first + _form(b"POST", words)) == b""
        assert (platform.record.sessions, platform.record.calls, platform.record.sends) == ([], [], [])
        await platform.close()

    async def test_a_form_is_no_packet(self, telegram: TelegramServer) -> None:
        """It is far longer than any."""
        assert await hung_up_on(telegram.address, _form(b"POST", b"\xef" * 64)) == b""
        assert telegram.world.record.calls == []


def _form(method: bytes, words: bytes) -> bytes:
    """What a browser sends for a form of another page."""
    head = [
        method + b" / HTTP/1.1",
        b"Host: 127.0.0.1",
        b"Content-Type: text/plain",
        b"Content-Length: %d" % len(words),
    ]
    return b"\r\n".join([*head, b"", b""]) + words
