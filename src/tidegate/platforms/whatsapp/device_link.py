"""Links an account to a phone: codes to scan or to type, one after the other, until one was used.

Each step that is yielded says what the terminal or the page shows next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tidegate.core.child_protocol import Frame
from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, PlatformError
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.interface import Me, NoteConnect, SignInAttempt
from tidegate.platforms.whatsapp.child_process import WhatsAppChild
from tidegate.platforms.whatsapp.connector import (
    DEVICE,
    SILENT_AFTER,
    FindLoopback,
    WhatsAppSessionStore,
    ask_control,
    home_of,
)
from tidegate.platforms.whatsapp.errors import connect_trouble, read_trouble, stopped_by
from tidegate.platforms.whatsapp.translation import me_of

LINKED_WITHIN = timedelta(minutes=3)
"""How long a person has. WhatsApp shows six codes, the first for a minute, the others for 20 s each."""

_ANSWERED_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class LinkCode:
    """Show this text instead of the one before."""

    text: str
    is_typed: bool  # into the phone; otherwise it is scanned as a QR code


@dataclass(frozen=True, slots=True)
class LinkedPhone:
    """The link is complete; the number of *me* is the phone's."""

    me: Me


Step = LinkCode | LinkedPhone


async def pair(
    attempt: SignInAttempt,
    sessions: WhatsAppSessionStore,
    *,
    clock: Clock,
    phone: str | None = None,
    find_loopback: FindLoopback = ask_control,
) -> AsyncGenerator[Step, None]:
    """Link an account: by QR code, or by a code typed into the phone with the number *phone*.

    The sign-in is in the vault when ``LinkedPhone`` is yielded. Close the generator to give up, as with ``aclosing``.
    """
    number = None if phone is None else international(phone)
    home = await home_of(attempt.account, "", sessions, SILENT_AFTER, find_loopback)
    home = replace(home, proxy=await proxy_of(attempt.vault))
    events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    child = await WhatsAppChild.start(
        home.open_options(),
        stand_in=home.stand_in,
        silent_after=home.silent_after,
        heard=lambda frame: events.put_nowait(dict(frame.head)),
        said=lambda _: None,
    )
    ending = asyncio.create_task(_tell_end(child, events))
    try:
        async for step in _steps(child, _LinkEvents(events, clock), number, attempt.note_connect):
            if isinstance(step, _Device):
                me = me_of(step.address)
                await _insist(child, me, attempt)
                await attempt.vault.write(DEVICE, step.address.encode())
                yield LinkedPhone(me)
                return
            yield step
    finally:
        ending.cancel()
        await child.close()


@dataclass(frozen=True, slots=True)
class _Device:
    address: str


async def _insist(child: WhatsAppChild, me: Me, attempt: SignInAttempt) -> None:
    """Unlink the device of a refused account: it would never be used."""
    try:
        await attempt.accept(me)
    except BadInput:
        with suppress(PlatformError):  # then it stays on the phone's own list of devices
            await child.call("log_out", {}, start_within=_ANSWERED_WITHIN, within=_ANSWERED_WITHIN)
            attempt.note_connect("Logout")
        raise


class _LinkEvents:
    """A child's events during linking, within the time a person has for it."""

    def __init__(self, events: asyncio.Queue[dict[str, Any] | None], clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._until = clock.ticks() + LINKED_WITHIN.total_seconds()

    async def next(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._until - self._clock.ticks()):
                event = await self._events.get()
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
    child: WhatsAppChild, telling: _LinkEvents, phone: str | None, note_connect: NoteConnect
) -> AsyncIterator[LinkCode | _Device]:
    """The child's events as steps; the device counts once it has connected with its new keys."""
    device = ""
    while True:
        event = await telling.next()
        if event["event"] == "qr" and phone is None:
            yield LinkCode(event["text"], is_typed=False)
        elif event["event"] == "qr" and phone:
            yield LinkCode(await _code(child, phone), is_typed=True)
            phone = ""  # one code is enough; the library continues to make QR codes as well
        elif event["event"] == "paired":
            note_connect("pair")
            device = event["device"]
        elif event["event"] == "connected" and device:
            note_connect("connect")
            yield _Device(device)


async def _code(child: WhatsAppChild, phone: str) -> str:
    answer: Frame = await child.call("code", {"phone": phone}, start_within=_ANSWERED_WITHIN, within=_ANSWERED_WITHIN)
    if "error" in answer.head:
        raise read_trouble(answer.head["error"], "give a code for this number")
    return str(answer.head["ok"]["code"])


async def _tell_end(child: WhatsAppChild, events: asyncio.Queue[dict[str, Any] | None]) -> None:
    await child.ended.wait()
    events.put_nowait(None)


def international(phone: str) -> str:
    """The digits of a number with its country code, in WhatsApp's format."""
    digits = "".join(sign for sign in phone if sign not in " +-()/.")
    if not (digits.isascii() and digits.isdigit() and 7 <= len(digits) <= 15) or digits.startswith("0"):
        raise BadInput(
            f"{phone} is no phone number that WhatsApp takes: write it with its country code, as in +62 812 3456 7890."
        )
    return digits
