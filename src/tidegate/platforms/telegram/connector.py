"""How accounts are connected to Telegram, or to a loopback Telegram on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from telethon.crypto import rsa

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, PlatformError, SignedOut
from tidegate.platforms import loopback_address as control_of
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.interface import NoteConnect, Opener, Vault
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.platforms.telegram.connection import TelegramConnection
from tidegate.platforms.telegram.pre_send_check import PreSendCheck
from tidegate.platforms.telegram.raw_client import RawTelegramClient, TelegramApplication
from tidegate.platforms.telegram.session import VaultSession

LOOPBACK_APPLICATION = TelegramApplication(id=1, hash="loopback")
"""The application id for a loopback Telegram, which needs no registration."""

_LOOPBACK_CENTRE = 2


@dataclass(frozen=True, slots=True)
class LoopbackTelegram:
    """The address of a loopback Telegram, and the key that identifies it."""

    address: str
    public_key: str


FindLoopback = Callable[[str], Awaitable[LoopbackTelegram]]
"""Finds the loopback Telegram behind a control address."""


def telegram_opener(
    application: TelegramApplication | None, clock: Clock, *, find_loopback: FindLoopback | None = None
) -> Opener:
    """Connects accounts that are signed in; *application* may be missing where all accounts are loopback ones."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> TelegramAccount:
        session = await prepared_session(account, vault, find_loopback or ask_control)
        if not session.has_key:
            raise SignedOut(f'Account "{account.name}" is not signed in to Telegram.')
        registered = application_of(account, application)
        proxy = await proxy_of(vault)

        def make_line(on_push: Callable[[Any], None], pre_send_check: PreSendCheck) -> RawTelegramClient:
            return RawTelegramClient(session, registered, note_connect, on_push, pre_send_check, proxy=proxy)

        return TelegramAccount(await TelegramConnection.open(make_line, clock, account.id), session)

    return connect


async def prepared_session(account: Account, vault: Vault, find_loopback: FindLoopback) -> VaultSession:
    """An account's session, with the address of its loopback Telegram when it has one: that changes at each start."""
    session = await VaultSession.load(vault)
    if account.loopback is not None:
        found = await find_loopback(account.loopback)
        host, _, port = found.address.rpartition(":")
        if host != "127.0.0.1":
            raise BadInput(f"{found.address} is no loopback Telegram: those listen on 127.0.0.1.")
        rsa.add_key(found.public_key, old=False)
        session.set_dc(_LOOPBACK_CENTRE, host, int(port))
    return session


def application_of(account: Account, application: TelegramApplication | None) -> TelegramApplication:
    """The application with which the account introduces itself."""
    if account.loopback is not None:
        return LOOPBACK_APPLICATION
    if application is None:
        raise PlatformError(
            "Telegram wants to know the application: register one at my.telegram.org, and set its api_id and api_hash."
        )
    return application


async def ask_control(control: str) -> LoopbackTelegram:
    """Ask a loopback process where its Telegram is."""
    key = await control_of.get(control, "/telegram/key")
    return LoopbackTelegram(await control_of.where(control, TELEGRAM), key["public_key"])
