"""How linked accounts are connected to WhatsApp, or to a loopback WhatsApp on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec
from typing import Protocol

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, PlatformError, SignedOut
from tidegate.platforms import loopback_address as control_of
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.interface import NoteConnect, Opener, Vault
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.platforms.whatsapp.child_process import STAND_IN
from tidegate.platforms.whatsapp.child_supervisor import ChildSetup, ChildSupervisor
from tidegate.platforms.whatsapp.client import HAND_ON_WITHIN, WhatsAppAccount
from tidegate.platforms.whatsapp.errors import NOT_LINKED
from tidegate.platforms.whatsapp.translation import me_of

DEVICE = "whatsapp.device"
SILENT_AFTER = timedelta(seconds=10)

FindLoopback = Callable[[str], Awaitable[str]]
"""Finds the address of the loopback WhatsApp behind a control address, such as ``tcp://127.0.0.1:PORT``."""


class WhatsAppSessionStore(Protocol):
    """Where the library stores its keys: in the database, separate from other tables."""

    async def address(self) -> str:
        """The address of that store for the library; created on first use."""

    async def holds(self, device: str) -> bool:
        """Whether the keys of a linked device are stored."""

    async def names_under(self, secret: bytes) -> Collection[str]:
        """The messages that the library recorded under a secret before it sent them."""


def whatsapp_opener(
    clock: Clock,
    sessions: WhatsAppSessionStore,
    *,
    silent_after: timedelta = SILENT_AFTER,
    hand_on_within: timedelta = HAND_ON_WITHIN,
    find_loopback: FindLoopback | None = None,
) -> Opener:
    """Connects accounts that are linked; their process ends when this one has been silent for *silent_after*."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> WhatsAppAccount:
        device = await vault.read(DEVICE)
        if device is None:
            raise SignedOut(NOT_LINKED)
        home = await home_of(account, device.decode(), sessions, silent_after, find_loopback or ask_control)
        home = replace(home, proxy=await proxy_of(vault))
        if account.loopback is None and not await sessions.holds(home.device):
            raise SignedOut(NOT_LINKED)
        wire = ChildSupervisor(home, clock, note_connect)
        recorded = sessions.names_under if account.loopback is None else None
        client = WhatsAppAccount(wire, me_of(home.device), names_under=recorded, hand_on_within=hand_on_within)
        wire.warm_up = lambda: client.warm_up(note_connect)
        try:
            await wire.open()
            await client.warm_up(note_connect)
        except BaseException:
            await client.close()
            raise
        return client

    return connect


async def home_of(
    account: Account, device: str, sessions: WhatsAppSessionStore, silent_after: timedelta, find_loopback: FindLoopback
) -> ChildSetup:
    """The setup of an account's child: with the real library, or with a stand-in for the loopback it was added with."""
    if find_spec("neonize") is None:
        raise PlatformError(
            'The library for WhatsApp is not installed here. Install it with: pip install "tidegate[whatsapp]"'
        )
    if account.loopback is None:
        return ChildSetup(account.name, await sessions.address(), device, silent_after)
    address = await find_loopback(account.loopback)
    if not address.startswith("tcp://127.0.0.1:"):
        raise BadInput(f"{address} is no loopback WhatsApp: those listen on 127.0.0.1.")
    return ChildSetup(account.name, address, device, silent_after, STAND_IN)


async def ask_control(control: str) -> str:
    """Ask a loopback process where its WhatsApp is."""
    return await control_of.where(control, WHATSAPP)
