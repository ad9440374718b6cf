"""Signing an account in: a person scans a code with the phone, or types one there."""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

from tidegate.clock import Clock
from tidegate.errors import PlatformError
from tidegate.platforms.whatsapp.opening import FindLoopback, Sessions, ask_control
from tidegate.platforms.whatsapp.pairing import Linked, Scan, pair
from tidegate.port import Accept, Me, NoteConnect, Vault, anybody
from tidegate.words import Account


class Questions(Protocol):
    """What a person is asked and shown."""

    async def linked_by(self) -> str | None:
        """The number of the phone a code is typed into; None when it scans one."""

    async def show_qr(self, text: str) -> None: ...
    async def show_code(self, code: str) -> None: ...


async def sign_in(
    account: Account,
    vault: Vault,
    note_connect: NoteConnect,
    questions: Questions,
    *,
    sessions: Sessions,
    clock: Clock,
    accept: Accept = anybody,
    find_loopback: FindLoopback = ask_control,
) -> Me:
    """Link *account* to a phone and keep which device it is in the vault; its keys are where the library keeps them."""
    phone = await questions.linked_by()
    steps = pair(
        account, vault, note_connect, sessions, clock=clock, phone=phone, accept=accept, find_loopback=find_loopback
    )
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, Linked):
                return step.me
            await (questions.show_qr(step.text) if isinstance(step, Scan) else questions.show_code(step.code))
    raise PlatformError("The account was not linked. Try again.")
