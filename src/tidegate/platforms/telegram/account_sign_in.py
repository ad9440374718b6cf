"""Sign-in of an account with its phone number, the code Telegram sends, and the password if there is one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from telethon import errors
from telethon.password import compute_check
from telethon.tl import functions, types

from tidegate.core.errors import BadInput
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.interface import Accept, Me, PhonePrompts, SignInAttempt
from tidegate.platforms.telegram.connector import FindLoopback, application_of, ask_control, prepared_session
from tidegate.platforms.telegram.errors import connect_trouble
from tidegate.platforms.telegram.raw_client import RawTelegramClient, TelegramApplication
from tidegate.platforms.telegram.translation import me_of

TRIES = 3

_ANSWER_WITHIN = 60
_LIBRARY = (
    OSError,
    errors.RPCError,
    errors.AuthKeyNotFound,
    errors.SecurityError,
    BufferError,
    asyncio.IncompleteReadError,
)
_MOVED = (errors.PhoneMigrateError, errors.NetworkMigrateError, errors.UserMigrateError)
_NO_SUCH_PHONE = (errors.PhoneNumberInvalidError, errors.PhoneNumberUnoccupiedError)
_WRONG_CODE = (errors.PhoneCodeInvalidError, errors.PhoneCodeEmptyError)


async def sign_in(
    attempt: SignInAttempt,
    questions: PhonePrompts,
    *,
    application: TelegramApplication | None = None,
    find_loopback: FindLoopback = ask_control,
) -> Me:
    """Sign an account in and store the sign-in in its vault; an account that is already signed in needs no answers."""
    session = await prepared_session(attempt.account, attempt.vault, find_loopback)
    known_as = application_of(attempt.account, application)
    proxy = await proxy_of(attempt.vault)
    client = RawTelegramClient(session, known_as, attempt.note_connect, on_push=lambda _: None, proxy=proxy)
    try:
        await client.connect()
        me = me_of(client.user or await _converse(client, questions))
        await _insist(client, me, attempt.accept)
        await session.keep()
    except _LIBRARY as problem:
        raise connect_trouble(problem, client.place) from problem
    finally:
        await client.hang_up()
    return me


async def _insist(client: RawTelegramClient, me: Me, accept: Accept) -> None:
    """Sign a refused account out again: that session would never be used."""
    try:
        await accept(me)
    except BadInput:
        with suppress(TimeoutError, *_LIBRARY):  # then it stays on the person's own list of devices
            await _ask(client, functions.auth.LogOutRequest())
        raise


async def _converse(client: RawTelegramClient, questions: PhonePrompts) -> types.User:
    phone = "".join(sign for sign in await questions.phone() if sign in "+0123456789")
    try:
        sent = await _ask(
            client, functions.auth.SendCodeRequest(phone, client.api_id, client.api_hash, types.CodeSettings())
        )
    except _NO_SUCH_PHONE as problem:
        raise BadInput(f"Telegram has no account with the number {phone}; give it with its country code.") from problem
    try:
        welcome = await _with_code(client, phone, sent, questions)
    except errors.SessionPasswordNeededError:
        welcome = await _with_password(client, questions)
    if not isinstance(welcome, types.auth.Authorization):
        raise BadInput(f"There is no Telegram account with the number {phone} yet; make it in an app first.")
    return welcome.user


async def _with_code(client: RawTelegramClient, phone: str, sent: types.auth.SentCode, questions: PhonePrompts) -> Any:
    again = ""
    for _ in range(TRIES):
        code = (await questions.code(_where(sent.type), again=again)).strip()
        try:
            return await _ask(client, functions.auth.SignInRequest(phone, sent.phone_code_hash, code))
        except _WRONG_CODE:
            again = "That is not the code Telegram sent."
        except errors.PhoneCodeExpiredError as problem:
            raise BadInput("This code is no longer valid; start again to be sent another.") from problem
    raise BadInput(f"That was the wrong code {TRIES} times; start again to be sent another.")


async def _with_password(client: RawTelegramClient, questions: PhonePrompts) -> Any:
    again = ""
    for _ in range(TRIES):
        asked = await _ask(client, functions.account.GetPasswordRequest())
        password = await questions.password(asked.hint or "", again=again)
        proof = await asyncio.to_thread(compute_check, asked, password)  # 100,000 rounds of hashing
        try:
            return await _ask(client, functions.auth.CheckPasswordRequest(proof))
        except errors.PasswordHashInvalidError:
            again = "That is not the password of this account."
    raise BadInput(f"That was the wrong password {TRIES} times; start again.")


async def _ask(client: RawTelegramClient, request: Any) -> Any:
    """One call, repeated only where Telegram says that the account is in another data centre."""
    async with asyncio.timeout(_ANSWER_WITHIN):
        try:
            return await client.ask_to_connect(request)
        except _MOVED as moved:
            await client._switch_dc(moved.new_dc)
            return await client.ask_to_connect(request)


def _where(kind: Any) -> str:
    """Where the person finds the code."""
    if isinstance(kind, types.auth.SentCodeTypeApp):
        return "the Telegram app"
    if isinstance(kind, types.auth.SentCodeTypeSms):
        return "a text message"
    if isinstance(kind, types.auth.SentCodeTypeEmailCode):
        return "an e-mail"
    return "a call"
