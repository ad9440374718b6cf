"""Kurigram on a loopback Telegram: it has the addresses and keys of the real data centres built in.

Import this while an event loop runs, as the fixture does: the library looks for one as soon as it is imported.
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import cryptg
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pyrogram import Client, raw
from pyrogram.connection import Connection
from pyrogram.crypto import aes, rsa
from pyrogram.handlers import DeletedMessagesHandler, EditedMessageHandler, MessageHandler
from pyrogram.session import Session
from pyrogram.storage import Storage

from tests.platforms.telegram.people import known_key
from tests.waiting import PATIENCE, until
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.handshake import key_of_this_process

__all__ = ["Reader", "connected", "raw", "signed_in"]

_REAL_CENTRES = "149.154."

# Without TgCrypto, which has to be compiled, the library computes AES in Python, at 200 kB a second.
aes.ige256_encrypt, aes.ige256_decrypt = cryptg.encrypt_ige, cryptg.decrypt_ige

Session.START_TIMEOUT = PATIENCE  # two seconds are not enough on a busy machine


class Reader(Client):
    """A client that remembers what was pushed to it."""

    def __init__(self, server: TelegramServer, session: str | None = None) -> None:
        super().__init__(
            "reader",
            api_id=1,
            api_hash="loopback",
            in_memory=True,
            session_string=session,
            sleep_threshold=0,
            connection_factory=_connecting_to(server),
        )
        self.pushed: list[tuple[str, Any]] = []
        self.add_handler(MessageHandler(lambda _, message: self.pushed.append(("posted", message))))
        self.add_handler(EditedMessageHandler(lambda _, message: self.pushed.append(("edited", message))))
        self.add_handler(DeletedMessagesHandler(lambda _, messages: self.pushed.append(("deleted", messages))))

    async def next_push(self, kind: str) -> Any:
        """Wait for a push, which must be of this kind."""
        await until(lambda: self.pushed)
        came, what = self.pushed.pop(0)
        assert came == kind
        return what

    async def leave(self) -> None:
        """Stop, and the sessions at other data centres too, which the library leaves open."""
        if self.is_initialized:
            await self.terminate()
        for session in self.sessions.values():
            await session.stop()
        await self.disconnect()
        self.executor.shutdown()


@asynccontextmanager
async def connected(server: TelegramServer) -> AsyncIterator[Reader]:
    """A client that has agreed on a key, and is not signed in."""
    _trust(server)
    reader = Reader(server)
    await reader.connect()
    try:
        yield reader
    finally:
        await reader.leave()


@asynccontextmanager
async def signed_in(server: TelegramServer, phone: str, key: bytes | None = None) -> AsyncIterator[Reader]:
    """A client that signed in some day before, gets pushes, and knows its channels; *key* is another it kept."""
    account = server.world.account_by_phone(phone)
    assert account is not None
    secret = known_key(server.world, phone) if key is None else key
    session = struct.pack(Storage.SESSION_STRING_FORMAT, 2, 1, False, secret, account.id, False)
    _trust(server)
    reader = Reader(server, urlsafe_b64encode(session).decode().rstrip("="))
    await reader.start()
    try:
        assert [dialog async for dialog in reader.get_dialogs()]
        yield reader
    finally:
        await reader.leave()


def _trust(server: TelegramServer) -> None:
    key = load_pem_public_key(server.public_key_pem.encode())
    assert isinstance(key, RSAPublicKey)
    numbers = key.public_numbers()
    rsa.server_public_keys[key_of_this_process().fingerprint] = rsa.PublicKey(numbers.n, numbers.e)


def _connecting_to(server: TelegramServer) -> type[Connection]:
    host, _, port = server.address.rpartition(":")

    class OwnMachineConnection(Connection):
        """Finds the first data centre at the loopback; where the others are, the platform itself says."""

        def __init__(self, *, server_address: str, port: int, **otherwise: Any) -> None:
            if server_address.startswith(_REAL_CENTRES):
                server_address, port = host, home
            assert server_address == "127.0.0.1", f"{server_address} is not this machine"
            super().__init__(server_address=server_address, port=port, **otherwise)

    home = int(port)
    return OwnMachineConnection
