"""The person at the terminal, or the script on standard input, that signs an account in."""

from __future__ import annotations

import asyncio
import getpass
import sys

from tidegate.cli import shell
from tidegate.errors import BadInput
from tidegate.words import Platform, Standing

_RISK = (
    "An unofficial client, which Tidegate is to WhatsApp, can get a number banned. Use one that you can afford to "
    "lose, in groups that expect you."
)


async def standing_of(platform: Platform) -> Standing:
    """How well the platform knows the account: asked where it sets the pace, and somebody can answer."""
    if platform is not Platform.WHATSAPP or not sys.stdin.isatty():
        return Standing.NORMAL
    question = (
        "How long has this number been in use? new (4 a minute, few a day at first), normal (12), established (40)"
    )
    answer = (await _ask(f"{question} [normal]")).strip().lower() or Standing.NORMAL.value
    if answer not in list(Standing):
        raise BadInput(f'"{answer}" is no standing: it is new, normal or established.')
    return Standing(answer)


class AtTheTerminal:
    """Whoever sits there (``openings.Person``); *by_phone* is the number a WhatsApp code is typed into, if any."""

    def __init__(self, by_phone: str | None = None) -> None:
        self._by_phone = by_phone

    async def linked_by(self) -> str | None:
        shell.say(_RISK)
        return self._by_phone

    async def show_code(self, code: str) -> None:
        shell.say(f"Type this code into the phone (Linked devices, Link with phone number): {code}")

    async def show_qr(self, text: str) -> None:
        """The code as blocks where somebody looks, else as the text it stands for."""
        if not sys.stderr.isatty():
            shell.say(f"QR code: {text}")
            return
        import segno

        shell.say("Scan this with the phone: WhatsApp, Linked devices, Link a device. Newer ones follow.")
        segno.make_qr(text).terminal(out=sys.stderr, compact=True)

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
