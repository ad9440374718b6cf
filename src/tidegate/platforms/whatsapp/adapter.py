"""WhatsApp as the composition uses it (``PlatformAdapter``)."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.platforms.interface import DevicePrompts, Me, SignInAttempt, Vault
from tidegate.platforms.whatsapp.account_sign_in import sign_in
from tidegate.platforms.whatsapp.connector import DEVICE, WhatsAppSessionStore, whatsapp_opener


class DeviceKeys(WhatsAppSessionStore, Protocol):
    """Where the library stores the keys of linked devices, and where they can be deleted."""

    async def forget(self, device: str) -> None: ...


class WhatsAppAdapter:
    """Connects linked devices, each in a process that ends when this one was silent for *silent_after*."""

    def __init__(self, clock: Clock, keys: DeviceKeys, *, silent_after: timedelta) -> None:
        self._clock = clock
        self._keys = keys
        self.connect = whatsapp_opener(clock, keys, silent_after=silent_after)

    async def sign_in(self, attempt: SignInAttempt, prompts: DevicePrompts) -> Me:
        return await sign_in(attempt, prompts, sessions=self._keys, clock=self._clock)

    async def forget(self, account: Account, vault: Vault) -> None:
        """Delete the keys of the account's device; a loopback account has none."""
        if account.loopback is not None:
            return
        device = await vault.read(DEVICE)
        if device is not None:
            await self._keys.forget(device.decode())
