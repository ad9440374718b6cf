"""Connecting linked accounts to WhatsApp, or to a loopback WhatsApp on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Protocol

from tidegate.clock import Clock
from tidegate.errors import BadInput, SignedOut
from tidegate.platforms import control as control_of
from tidegate.platforms.whatsapp.client import HAND_ON_WITHIN, WhatsAppAccount
from tidegate.platforms.whatsapp.line import STAND_IN
from tidegate.platforms.whatsapp.translate import me_of
from tidegate.platforms.whatsapp.troubles import NOT_LINKED
from tidegate.platforms.whatsapp.wire import Home, Wire
from tidegate.port import NoteConnect, Opener, Vault
from tidegate.words import Account, Platform

DEVICE = "whatsapp.device"
SILENT_AFTER = timedelta(seconds=10)

FindLoopback = Callable[[str], Awaitable[str]]
"""Finds where the loopback WhatsApp behind a control address is, as in ``tcp://127.0.0.1:PORT``."""


class Sessions(Protocol):
    """Where the library keeps its keys: in the database, in a corner of its own."""

    async def address(self) -> str:
        """What the library reaches that corner by; made on first use."""

    async def holds(self, device: str) -> bool:
        """Whether the keys of a linked device are there."""


def whatsapp_opener(
    clock: Clock,
    sessions: Sessions,
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
        if account.loopback is None and not await sessions.holds(home.device):
            raise SignedOut(NOT_LINKED)
        wire = Wire(home, clock, note_connect)
        client = WhatsAppAccount(wire, me_of(home.device), hand_on_within=hand_on_within)
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
    account: Account, device: str, sessions: Sessions, silent_after: timedelta, find_loopback: FindLoopback
) -> Home:
    """The child of an account: with the real library, or with a stand-in on the loopback it was added with."""
    if account.loopback is None:
        return Home(account.name, await sessions.address(), device, silent_after)
    address = await find_loopback(account.loopback)
    if not address.startswith("tcp://127.0.0.1:"):
        raise BadInput(f"{address} is no loopback WhatsApp: those listen on 127.0.0.1.")
    return Home(account.name, address, device, silent_after, STAND_IN)


async def ask_control(control: str) -> str:
    """Ask a loopback process where its WhatsApp is."""
    return await control_of.where(control, Platform.WHATSAPP)
