"""Signing an account in from the terminal, or from a script that answers on standard input."""

from __future__ import annotations

import asyncio
import getpass
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.cli import shell
from tidegate.errors import BadInput
from tidegate.words import Platform

if TYPE_CHECKING:
    from tidegate.app import House
    from tidegate.port import Me
    from tidegate.words import Account


@dataclass
class SignedIn:
    """What signing in has brought: secrets to keep (``port.Vault``, in memory), and the calls it took."""

    secrets: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def read(self, name: str) -> bytes | None:
        return self.secrets.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.secrets[name] = secret


async def sign_in(house: House, account: Account) -> SignedIn:
    """Sign an account in where its platform has an adapter; nothing is stored yet."""
    found = SignedIn()
    if account.platform is Platform.TELEGRAM:
        me = await _to_telegram(house, account, found)
    elif account.platform is Platform.DISCORD:
        me = await _to_discord(account, found)
    else:
        return found
    shell.say(f"Signed in as {me.name}.")
    return found


async def _to_telegram(house: House, account: Account, found: SignedIn) -> Me:
    from tidegate.openings import telegram_application
    from tidegate.platforms import telegram

    application = telegram_application(house.settings)
    return await telegram.sign_in(account, found, found.calls.append, _Person(), application=application)


async def _to_discord(account: Account, found: SignedIn) -> Me:
    from tidegate.clock import SystemClock
    from tidegate.platforms import discord

    return await discord.sign_in(account, found, found.calls.append, _Person(), clock=SystemClock())


class _Person:
    """Whoever sits at the terminal (``telegram.Questions``, ``discord.Questions``)."""

    async def token(self) -> str:
        return await _ask("Bot token, from https://discord.com/developers/applications", hidden=True)

    async def phone(self) -> str:
        return await _ask("Phone number, with country code")

    async def code(self, sent_to: str, *, again: str) -> str:
        return await _ask(f"{again} Code (sent to {sent_to})".strip())

    async def password(self, hint: str, *, again: str) -> str:
        return await _ask(f"{again} Password{f' (hint: {hint})' if hint else ''}".strip(), hidden=True)


async def _ask(question: str, *, hidden: bool = False) -> str:
    """One answer; nothing is asked aloud where standard input is not a terminal."""
    if not sys.stdin.isatty():
        line: str = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            raise BadInput(f"Standard input ended before the answer to: {question}.")
        return line.rstrip("\n")
    if hidden:
        return await asyncio.to_thread(getpass.getpass, f"{question}: ")
    print(f"{question}: ", end="", file=sys.stderr, flush=True)
    typed: str = await asyncio.to_thread(sys.stdin.readline)
    return typed.rstrip("\n")
