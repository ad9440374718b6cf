"""Unmodified Telethon clients of a loopback Telegram, set up as Tidegate sets its own up."""

from __future__ import annotations

from typing import Any

from telethon import TelegramClient
from telethon.crypto import rsa
from telethon.sessions import MemorySession
from telethon.tl import functions, types

from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel


def make_client(server: TelegramServer, session: MemorySession | None = None, **otherwise: Any) -> TelegramClient:
    """A client that is not connected yet."""
    rsa.add_key(server.public_key_pem, old=False)
    TelegramClient._config = None  # kept on the class: a port of an earlier server would leak into this client
    if session is None:
        session = MemorySession()
    session.set_dc(2, "127.0.0.1", int(server.address.rpartition(":")[2]))
    return TelegramClient(
        session,
        api_id=1,
        api_hash="loopback",
        request_retries=0,
        connection_retries=0,
        raise_last_call_error=True,
        flood_sleep_threshold=0,
        **otherwise,
    )


async def sign_in(client: TelegramClient, server: TelegramServer, phone: str) -> TelegramClient:
    """Connect and sign in with the code the platform sent."""
    await client.connect()
    await client.send_code_request(phone)
    account = server.world.account_by_phone(phone)
    assert account is not None
    await client.sign_in(phone, account.code)
    return client


def peer(server: TelegramServer, channel: Channel, account: int = 1_000_001) -> types.InputPeerChannel:
    """How an account names a channel; the first account unless another is given."""
    return types.InputPeerChannel(channel.id, server.world.token("channel", account, channel.id))


async def gate(client: TelegramClient, *peers: types.InputPeerChannel) -> types.messages.PeerDialogs:
    return await client(functions.messages.GetPeerDialogsRequest([types.InputDialogPeer(peer) for peer in peers]))
