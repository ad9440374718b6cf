"""Sign-in of a bot with its token."""

from __future__ import annotations

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput, SignedOut
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.discord.connector import SIGN_IN, FindLoopback, ask_control, door, introduce
from tidegate.platforms.discord.errors import NOT_A_BOT
from tidegate.platforms.discord.translation import me_of
from tidegate.platforms.interface import Me, SignInAttempt, TokenPrompts


async def sign_in(
    attempt: SignInAttempt, questions: TokenPrompts, *, clock: Clock, find_loopback: FindLoopback = ask_control
) -> Me:
    """Sign a bot in and store its token in the vault; an unusable token is not stored."""
    token = (await questions.token()).strip().removeprefix("Bot ").strip()
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise BadInput(NOT_A_BOT)
    proxy = await proxy_of(attempt.vault)
    rest = await door(attempt.account, clock, attempt.note_connect, find_loopback, proxy=proxy)
    try:
        me = me_of(await introduce(rest, token))
    except SignedOut as refused:
        raise BadInput(NOT_A_BOT) from refused
    finally:
        await rest.close()
    await attempt.accept(me)
    await attempt.vault.write(SIGN_IN, token.encode())
    return me
