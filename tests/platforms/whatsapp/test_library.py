"""The real library, as far as it goes without WhatsApp: its keys in our database, and a network that says no.

A proxy on this machine stands before everything it dials, so no byte leaves the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.accounts.whatsapp_corner import corner
from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.people import account
from tests.servers import free_port
from tests.waiting import PATIENCE
from tidegate.accounts import key_ring
from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions
from tidegate.core.clock import SystemClock
from tidegate.core.errors import PlatformError, SignedOut
from tidegate.database.pool import Database
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.whatsapp.connector import DEVICE, whatsapp_opener
from tidegate.platforms.whatsapp.device_link import pair

REAL = replace(account(), loopback=None)
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'whatsapp'"


@pytest.fixture
async def sessions(database: Database, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WhatsAppSessions]:
    ring: KeyRing = key_ring.make_file(tmp_path_factory.mktemp("keys") / "secret.key")
    async with corner(database, ring) as made:
        yield made


@pytest.fixture
async def proxy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """Refuses with 503 whatever is asked of it; what was asked."""
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    _behind(monkeypatch, server.sockets[0].getsockname()[1])
    yield asked
    server.close()


def _behind(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


async def first_step(sessions: WhatsAppSessions) -> object:
    async with asyncio.timeout(PATIENCE):
        return await anext(pair(SignInAttempt(REAL, Drawer(), lambda _: None), sessions, clock=SystemClock()))


async def test_a_network_that_answers_503(sessions: WhatsAppSessions, database: Database, proxy: list[str]) -> None:
    """D-42: an error in a sentence. By then the library has made its tables, in its corner and with its own role."""
    with pytest.raises(PlatformError, match="WhatsApp cannot be reached"):
        await first_step(sessions)
    assert proxy, "the library did not go through the proxy"
    assert all(asked.startswith("CONNECT ") and "whatsapp" in asked for asked in proxy)
    assert await database.pool.fetchval(TABLES) >= 15
    assert await database.pool.fetchval("SELECT to_regclass('whatsapp.whatsmeow_message_secrets') IS NOT NULL")
    assert await sessions.names_under(b"s" * 32) == []
    assert not await database.pool.fetchval("SELECT to_regclass('public.whatsmeow_device') IS NOT NULL")


async def test_a_network_that_refuses(
    sessions: WhatsAppSessions, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    """D-42: the same, and this process lives on."""
    _behind(monkeypatch, free_port())
    with pytest.raises(PlatformError, match="WhatsApp cannot be reached"):
        await first_step(sessions)


async def test_a_device_whose_keys_are_gone_is_signed_out(sessions: WhatsAppSessions, proxy: list[str]) -> None:
    """The library would crash over it; nothing is started, and a person links the account again."""
    opener = whatsapp_opener(SystemClock(), sessions)
    with pytest.raises(SignedOut, match="not linked"):
        await opener(REAL, Drawer({DEVICE: b"6281200000001:1@s.whatsapp.net"}), lambda _: None)
    with pytest.raises(SignedOut, match="not linked"):
        await opener(REAL, Drawer(), lambda _: None)
    assert proxy == []
