"""Connecting accounts to Telegram, or to a loopback Telegram on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from telethon.crypto import rsa

from tidegate.clock import Clock
from tidegate.errors import BadInput, PlatformError, SignedOut
from tidegate.platforms import control as control_of
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.platforms.telegram.line import Application, Line
from tidegate.platforms.telegram.looking import Look
from tidegate.platforms.telegram.session import VaultSession
from tidegate.platforms.telegram.wire import Wire
from tidegate.port import NoteConnect, Opener, Vault
from tidegate.words import Account, Platform

LOOPBACK_APPLICATION = Application(id=1, hash="loopback")
"""What a loopback Telegram is told; it asks for no registration."""

_LOOPBACK_CENTRE = 2


@dataclass(frozen=True, slots=True)
class Loopback:
    """Where a loopback Telegram listens, and the key it is recognised by."""

    address: str
    public_key: str


FindLoopback = Callable[[str], Awaitable[Loopback]]
"""Finds the loopback Telegram behind a control address."""


def telegram_opener(
    application: Application | None, clock: Clock, *, find_loopback: FindLoopback | None = None
) -> Opener:
    """Connects accounts that are signed in; *application* may be missing where all accounts are loopback ones."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> TelegramAccount:
        session = await prepared_session(account, vault, find_loopback or ask_control)
        if not session.has_key:
            raise SignedOut(f'Account "{account.name}" is not signed in to Telegram.')
        registered = application_of(account, application)

        def make_line(on_push: Callable[[Any], None], last_look: Look) -> Line:
            return Line(session, registered, note_connect, on_push, last_look)

        return TelegramAccount(await Wire.open(make_line, clock), session)

    return connect


async def prepared_session(account: Account, vault: Vault, find_loopback: FindLoopback) -> VaultSession:
    """An account's session, pointed at its loopback Telegram when it has one: that moves at each start."""
    session = await VaultSession.load(vault)
    if account.loopback is not None:
        found = await find_loopback(account.loopback)
        host, _, port = found.address.rpartition(":")
        if host != "127.0.0.1":
            raise BadInput(f"{found.address} is no loopback Telegram: those listen on 127.0.0.1.")
        rsa.add_key(found.public_key, old=False)
        session.set_dc(_LOOPBACK_CENTRE, host, int(port))
    return session


def application_of(account: Account, application: Application | None) -> Application:
    """What to introduce ourselves as."""
    if account.loopback is not None:
        return LOOPBACK_APPLICATION
    if application is None:
        raise PlatformError(
            "Telegram wants to know the application: register one at my.telegram.org, and set its api_id and api_hash."
        )
    return application


async def ask_control(control: str) -> Loopback:
    """Ask a loopback process where its Telegram is."""
    key = await control_of.get(control, "/telegram/key")
    return Loopback(await control_of.where(control, Platform.TELEGRAM), key["public_key"])
