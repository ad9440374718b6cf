"""Telethon's session, stored in the vault.

Everything is in memory while it runs. The key and the data centre are written the moment they change, because losing
them means being signed out. The access hashes of channels are written when a listing brings new ones. Telethon's update
state is not stored: our own counters are stored with the pages.
"""

from __future__ import annotations

import json
from typing import Any

from telethon.crypto import AuthKey
from telethon.sessions import MemorySession
from telethon.tl import types

from tidegate.core.ids import ChannelId
from tidegate.platforms.interface import Vault

SIGN_IN = "telegram.sign-in"
CHANNELS = "telegram.channels"


class VaultSession(MemorySession):  # type: ignore[misc]  # Telethon is untyped
    """One account's sign-in. Created by ``load``; Telethon calls the rest."""

    def __init__(self, vault: Vault) -> None:
        super().__init__()
        self._vault = vault
        self._hashes: dict[int, int] = {}
        self._written: bytes | None = None
        self._new_hashes = False

    @classmethod
    async def load(cls, vault: Vault) -> VaultSession:
        """The sign-in as the vault holds it, or an empty one."""
        session = cls(vault)
        if (kept := await vault.read(SIGN_IN)) is not None:
            session._written = kept
            values = json.loads(kept)
            session.set_dc(values["centre"], values["address"], values["port"])
            session.auth_key = AuthKey(bytes.fromhex(values["key"]))
        if (kept := await vault.read(CHANNELS)) is not None:
            session._hashes = {int(number): access for number, access in json.loads(kept).items()}
        return session

    @property
    def has_key(self) -> bool:
        return bool(self.auth_key and self.auth_key.key)

    async def keep(self) -> None:
        """Write the key and its data centre, if they changed. (Telethon's own ``save`` cannot wait for a vault.)"""
        if not self.has_key:
            return
        values = {
            "centre": self.dc_id,
            "address": self.server_address,
            "port": self.port,
            "key": self.auth_key.key.hex(),
        }
        secret = json.dumps(values).encode()
        if secret != self._written:
            await self._vault.write(SIGN_IN, secret)
            self._written = secret

    async def keep_channels(self) -> None:
        """Write the access hashes, if there are new ones."""
        if self._new_hashes:
            self._new_hashes = False
            await self._vault.write(CHANNELS, json.dumps(self._hashes).encode())

    def access_hash(self, channel: ChannelId) -> int | None:
        """The access hash of a channel; None for one that this account does not know."""
        return self._hashes.get(channel)

    def learn_chat(self, chat: ChannelId, access_hash: int) -> None:
        """Take the access hash of a private chat; a small group needs none and has 0.

        Hashes of other people are not stored: an account meets very many.
        """
        if self._hashes.get(chat) != access_hash:
            self._hashes[chat] = access_hash
            self._new_hashes = True

    def process_entities(self, tlo: Any) -> None:
        """Take the access hashes of channels from an answer; those of minimal descriptions are unusable."""
        for one in getattr(tlo, "chats", None) or ():
            useful = isinstance(one, types.Channel) and one.access_hash and not one.min
            if useful and self._hashes.get(one.id) != one.access_hash:
                self._hashes[one.id] = one.access_hash
                self._new_hashes = True
