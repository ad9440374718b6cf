"""The questions of a sign-in, answered by a person at the terminal or by a script on standard input."""

from __future__ import annotations

import asyncio
import sys

from tidegate.core import terminal
from tidegate.core.account import Standing
from tidegate.core.errors import BadInput
from tidegate.core.platform import Platform


async def standing_of(platform: Platform) -> Standing:
    """How well the platform knows the account: asked at a terminal, on platforms where it sets the pace."""
    if not platform.paced_by_standing or not sys.stdin.isatty():
        return Standing.NORMAL
    question = (
        "How long has this number been in use? new (4 a minute, few a day at first), normal (12), established (40)"
    )
    answer = (await _ask(f"{question} [normal]")).strip().lower() or Standing.NORMAL.value
    if answer not in list(Standing):
        raise BadInput(f'"{answer}" is not a standing: it is new, normal or established.')
    return Standing(answer)


class TerminalPrompts:
    """Asks the person at the terminal (``SignInPrompts``); *by_phone* is the number a code is typed into, if any."""

    def __init__(self, platform: Platform, by_phone: str | None = None) -> None:
        self._platform = platform
        self._by_phone = by_phone

    async def linked_by(self) -> str | None:
        if self._platform.sign_in_warning:
            terminal.say(self._platform.sign_in_warning)
        return self._by_phone

    async def show_code(self, code: str) -> None:
        terminal.say(f"Type this code into the phone (Linked devices, Link with phone number): {code}")

    async def show_qr(self, text: str) -> None:
        """A QR code at a terminal, else the text it encodes."""
        if not sys.stderr.isatty():
            terminal.say(f"QR code: {text}")
            return
        brand = self._platform.brand
        terminal.say(f"Scan this with the phone: {brand}, Linked devices, Link a device. Newer ones follow.")
        terminal.print_qr(text)

    async def token(self) -> str:
        made_at = self._platform.tokens_made_at
        return await _ask(f"Bot token, from {made_at}" if made_at else "Token", hidden=True)

    async def phone(self) -> str:
        return await _ask("Phone number, with country code")

    async def code(self, sent_to: str, *, again: str) -> str:
        return await _ask(f"{again} Code (sent to {sent_to})".strip())

    async def password(self, hint: str, *, again: str) -> str:
        return await _ask(f"{again} Password{f' (hint: {hint})' if hint else ''}".strip(), hidden=True)


async def hidden_answer(question: str) -> str:
    """A secret: hidden while it is typed, or read from standard input."""
    return await _ask(question, hidden=True)


async def _ask(question: str, *, hidden: bool = False) -> str:
    """One answer; without a terminal it is read from standard input and no question is printed."""
    if not sys.stdin.isatty():
        line: str = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            raise BadInput(f"Standard input ended before the answer to: {question}.")
        return line.rstrip("\n")
    return await asyncio.to_thread(terminal.ask_hidden if hidden else terminal.ask, question)
