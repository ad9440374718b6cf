"""Telegram as the composition uses it (``PlatformAdapter``)."""

from __future__ import annotations

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.platforms.interface import Me, PhonePrompts, SignInAttempt, Vault
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import telegram_opener
from tidegate.platforms.telegram.raw_client import TelegramApplication


class TelegramAdapter:
    """Connects accounts as the operator's registered application."""

    def __init__(self, clock: Clock, *, api_id: int | None, api_hash: str | None) -> None:
        """Without both parts of the registration, only loopback accounts can be connected."""
        self._application: TelegramApplication | None = None
        if api_id is not None and api_hash is not None:
            self._application = TelegramApplication(api_id, api_hash)
        self.connect = telegram_opener(self._application, clock)

    async def sign_in(self, attempt: SignInAttempt, prompts: PhonePrompts) -> Me:
        return await sign_in(attempt, prompts, application=self._application)

    async def forget(self, account: Account, vault: Vault) -> None:
        """Nothing is kept outside the vault."""
