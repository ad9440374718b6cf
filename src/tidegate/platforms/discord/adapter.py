"""Discord as the composition uses it (``PlatformAdapter``)."""

from __future__ import annotations

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.platforms.discord.account_sign_in import sign_in
from tidegate.platforms.discord.connector import discord_opener
from tidegate.platforms.interface import Me, SignInAttempt, TokenPrompts, Vault


class DiscordAdapter:
    """Connects bots, which listen for gateway events if they are *live*."""

    def __init__(self, clock: Clock, *, live: bool) -> None:
        self._clock = clock
        self.connect = discord_opener(clock, live=live)

    async def sign_in(self, attempt: SignInAttempt, prompts: TokenPrompts) -> Me:
        return await sign_in(attempt, prompts, clock=self._clock)

    async def forget(self, account: Account, vault: Vault) -> None:
        """Nothing is kept outside the vault."""
