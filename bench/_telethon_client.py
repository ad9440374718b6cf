"""The unmodified Telethon, signed in at a loopback Telegram; this needs nothing but Telethon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from telethon import TelegramClient
from telethon.crypto import rsa
from telethon.sessions import MemorySession


@asynccontextmanager
async def telethon_client(
    address: str, public_key: str, phone: str, code: Callable[[], Awaitable[str]]
) -> AsyncIterator[TelegramClient]:
    """A client of *address*, which sends what it is told to and nothing else; *code* is what signing in asks for."""
    rsa.add_key(public_key, old=False)
    session = MemorySession()
    session.set_dc(2, "127.0.0.1", int(address.rpartition(":")[2]))
    client = TelegramClient(session, api_id=1, api_hash="loopback", receive_updates=False)
    await client.connect()
    try:
        await client.send_code_request(phone)
        await client.sign_in(phone, await code())
        yield client
    finally:
        await client.disconnect()
