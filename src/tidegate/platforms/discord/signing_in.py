"""Signing a bot in, with the token that Discord gave its owner."""

from __future__ import annotations

from typing import Protocol

from tidegate.clock import Clock
from tidegate.errors import BadInput, SignedOut
from tidegate.platforms.discord.opening import SIGN_IN, FindLoopback, ask_control, door, introduce
from tidegate.platforms.discord.translate import me_of
from tidegate.platforms.discord.troubles import NOT_A_BOT
from tidegate.port import Accept, Me, NoteConnect, Vault, anybody
from tidegate.words import Account


class Questions(Protocol):
    """What a person is asked."""

    async def token(self) -> str: ...


async def sign_in(
    account: Account,
    vault: Vault,
    note_connect: NoteConnect,
    questions: Questions,
    *,
    clock: Clock,
    accept: Accept = anybody,
    find_loopback: FindLoopback = ask_control,
) -> Me:
    """Sign *account* in and keep its token in the vault; nothing is kept of a token that would not do."""
    token = (await questions.token()).strip().removeprefix("Bot ").strip()
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise BadInput(NOT_A_BOT)
    rest = await door(account, clock, note_connect, find_loopback)
    try:
        me = me_of(await introduce(rest, token))
    except SignedOut as refused:
        raise BadInput(NOT_A_BOT) from refused
    finally:
        await rest.close()
    await accept(me)
    await vault.write(SIGN_IN, token.encode())
    return me
