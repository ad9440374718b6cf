"""The person at the terminal, or the script on standard input, that signs an account in."""

from __future__ import annotations

import asyncio
import getpass
import sys

from tidegate.errors import BadInput


class AtTheTerminal:
    """Whoever sits there (``openings.Person``)."""

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
