"""Linking an account to a phone: codes to scan or to type, one after the other, until somebody did.

A terminal shows them, and a page can as well: what is yielded says what to show next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tidegate.clock import Clock
from tidegate.errors import BadInput, PlatformError
from tidegate.frames import Frame
from tidegate.platforms.whatsapp.line import Line
from tidegate.platforms.whatsapp.opening import DEVICE, SILENT_AFTER, FindLoopback, Sessions, ask_control, home_of
from tidegate.platforms.whatsapp.translate import me_of
from tidegate.platforms.whatsapp.troubles import connect_trouble, read_trouble, stopped_by
from tidegate.port import Accept, Me, NoteConnect, Vault, anybody
from tidegate.words import Account

LINKED_WITHIN = timedelta(minutes=3)
"""How long a person has. WhatsApp shows six codes, the first for a minute, the others for 20 s each."""

_ANSWERED_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Scan:
    """Show this text as a QR code, in place of the one before it."""

    text: str


@dataclass(frozen=True, slots=True)
class Type:
    """Show this code, to be typed into the phone."""

    code: str


@dataclass(frozen=True, slots=True)
class Linked:
    """It is done; the number of *me* is the phone's."""

    me: Me


Step = Scan | Type | Linked


async def pair(
    account: Account,
    vault: Vault,
    note_connect: NoteConnect,
    sessions: Sessions,
    *,
    clock: Clock,
    phone: str | None = None,
    accept: Accept = anybody,
    find_loopback: FindLoopback = ask_control,
) -> AsyncGenerator[Step, None]:
    """Link *account*: by QR code, or by a code typed into the phone with the number *phone*.

    The sign-in is in the vault when ``Linked`` is yielded. Close the generator to give up, as with ``aclosing``.
    """
    number = None if phone is None else international(phone)
    home = await home_of(account, "", sessions, SILENT_AFTER, find_loopback)
    told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    line = await Line.start(
        home.opening(),
        stand_in=home.stand_in,
        silent_after=home.silent_after,
        heard=lambda frame: told.put_nowait(dict(frame.head)),
        said=lambda _: None,
    )
    ending = asyncio.create_task(_tell_end(line, told))
    try:
        async for step in _steps(line, _Telling(told, clock), number, note_connect):
            if isinstance(step, _Device):
                me = me_of(step.address)
                await _insist(line, me, accept, note_connect)
                await vault.write(DEVICE, step.address.encode())
                yield Linked(me)
                return
            yield step
    finally:
        ending.cancel()
        await line.close()


@dataclass(frozen=True, slots=True)
class _Device:
    address: str


async def _insist(line: Line, me: Me, accept: Accept, note_connect: NoteConnect) -> None:
    """Unlink the device of whoever is refused: nobody would use it."""
    try:
        await accept(me)
    except BadInput:
        with suppress(PlatformError):  # it is on the phone's own list of devices then
            await line.call("log_out", {}, start_within=_ANSWERED_WITHIN, within=_ANSWERED_WITHIN)
            note_connect("Logout")
        raise


class _Telling:
    """What a child tells while it is linked, for as long as a person has for that."""

    def __init__(self, told: asyncio.Queue[dict[str, Any] | None], clock: Clock) -> None:
        self._told = told
        self._clock = clock
        self._until = clock.ticks() + LINKED_WITHIN.total_seconds()

    async def next(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._until - self._clock.ticks()):
                event = await self._told.get()
        except TimeoutError:
            raise PlatformError("Nobody entered the code in time, so the account was not linked. Try again.") from None
        if event is None:
            raise PlatformError("The WhatsApp process ended before the account was linked. Try again.")
        if problem := self._problem(event):
            raise problem
        return event

    def _problem(self, event: dict[str, Any]) -> PlatformError | None:
        if event["event"] == "not_paired":
            return PlatformError(f"WhatsApp did not link the account: {event['error']}.")
        if event["event"] == "failed":
            return connect_trouble(event["error"])
        return stopped_by(event, self._clock.now())


async def _steps(
    line: Line, telling: _Telling, phone: str | None, note_connect: NoteConnect
) -> AsyncIterator[Scan | Type | _Device]:
    """What the child tells, as steps; the device counts once it is let in with its new keys."""
    device = ""
    while True:
        event = await telling.next()
        if event["event"] == "qr" and phone is None:
            yield Scan(event["text"])
        elif event["event"] == "qr" and phone:
            yield Type(await _code(line, phone))
            phone = ""  # one code is enough; the library goes on making QR codes beside it
        elif event["event"] == "paired":
            note_connect("pair")
            device = event["device"]
        elif event["event"] == "connected" and device:
            note_connect("connect")
            yield _Device(device)


async def _code(line: Line, phone: str) -> str:
    answer: Frame = await line.call("code", {"phone": phone}, start_within=_ANSWERED_WITHIN, within=_ANSWERED_WITHIN)
    if "error" in answer.head:
        raise read_trouble(answer.head["error"], "give a code for this number")
    return str(answer.head["ok"]["code"])


async def _tell_end(line: Line, told: asyncio.Queue[dict[str, Any] | None]) -> None:
    await line.ended.wait()
    told.put_nowait(None)


def international(phone: str) -> str:
    """The digits of a number with its country code, which is what WhatsApp takes."""
    digits = "".join(sign for sign in phone if sign not in " +-()/.")
    if not (digits.isascii() and digits.isdigit() and 7 <= len(digits) <= 15) or digits.startswith("0"):
        raise BadInput(
            f"{phone} is no phone number that WhatsApp takes: write it with its country code, as in +62 812 3456 7890."
        )
    return digits
