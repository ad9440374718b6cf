"""Signing an account in, with the phone, the code Telegram sends to it, and the password where there is one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Protocol

from telethon import errors
from telethon.password import compute_check
from telethon.tl import functions, types

from tidegate.errors import BadInput
from tidegate.platforms.telegram.line import Application, Line
from tidegate.platforms.telegram.opening import FindLoopback, application_of, ask_control, prepared_session
from tidegate.platforms.telegram.translate import me_of
from tidegate.platforms.telegram.troubles import connect_trouble
from tidegate.port import Accept, Me, NoteConnect, Vault, anybody
from tidegate.words import Account

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


class Questions(Protocol):
    """What a person is asked; *again* is why the last answer would not do, and empty the first time."""

    async def phone(self) -> str: ...
    async def code(self, sent_to: str, *, again: str) -> str: ...
    async def password(self, hint: str, *, again: str) -> str: ...


async def sign_in(
    account: Account,
    vault: Vault,
    note_connect: NoteConnect,
    questions: Questions,
    *,
    application: Application | None = None,
    accept: Accept = anybody,
    find_loopback: FindLoopback = ask_control,
) -> Me:
    """Sign *account* in and keep the sign-in in its vault; one that is signed in already asks nothing."""
    session = await prepared_session(account, vault, find_loopback)
    line = Line(session, application_of(account, application), note_connect, on_push=lambda _: None)
    try:
        await line.connect()
        me = me_of(line.user or await _converse(line, questions))
        await _insist(line, me, accept)
        await session.keep()
    except _LIBRARY as problem:
        raise connect_trouble(problem, line.place) from problem
    finally:
        await line.hang_up()
    return me


async def _insist(line: Line, me: Me, accept: Accept) -> None:
    """Sign whoever is refused out again: nobody would use that session."""
    try:
        await accept(me)
    except BadInput:
        with suppress(TimeoutError, *_LIBRARY):  # it is on the person's own list of devices then
            await _ask(line, functions.auth.LogOutRequest())
        raise


async def _converse(line: Line, questions: Questions) -> types.User:
    phone = "".join(sign for sign in await questions.phone() if sign in "+0123456789")
    try:
        sent = await _ask(line, functions.auth.SendCodeRequest(phone, line.api_id, line.api_hash, types.CodeSettings()))
    except _NO_SUCH_PHONE as problem:
        raise BadInput(f"Telegram has no account with the number {phone}; give it with its country code.") from problem
    try:
        welcome = await _with_code(line, phone, sent, questions)
    except errors.SessionPasswordNeededError:
        welcome = await _with_password(line, questions)
    if not isinstance(welcome, types.auth.Authorization):
        raise BadInput(f"There is no Telegram account with the number {phone} yet; make it in an app first.")
    return welcome.user


async def _with_code(line: Line, phone: str, sent: types.auth.SentCode, questions: Questions) -> Any:
    again = ""
    for _ in range(TRIES):
        code = (await questions.code(_where(sent.type), again=again)).strip()
        try:
            return await _ask(line, functions.auth.SignInRequest(phone, sent.phone_code_hash, code))
        except _WRONG_CODE:
            again = "That is not the code Telegram sent."
        except errors.PhoneCodeExpiredError as problem:
            raise BadInput("This code is no longer valid; start again to be sent another.") from problem
    raise BadInput(f"That was the wrong code {TRIES} times; start again to be sent another.")


async def _with_password(line: Line, questions: Questions) -> Any:
    again = ""
    for _ in range(TRIES):
        asked = await _ask(line, functions.account.GetPasswordRequest())
        password = await questions.password(asked.hint or "", again=again)
        proof = await asyncio.to_thread(compute_check, asked, password)  # 100,000 rounds of hashing
        try:
            return await _ask(line, functions.auth.CheckPasswordRequest(proof))
        except errors.PasswordHashInvalidError:
            again = "That is not the password of this account."
    raise BadInput(f"That was the wrong password {TRIES} times; start again.")


async def _ask(line: Line, request: Any) -> Any:
    """One call, repeated only where Telegram says that the account lives in another data centre."""
    async with asyncio.timeout(_ANSWER_WITHIN):
        try:
            return await line.ask_to_connect(request)
        except _MOVED as moved:
            await line._switch_dc(moved.new_dc)
            return await line.ask_to_connect(request)


def _where(kind: Any) -> str:
    """Where the person finds the code."""
    if isinstance(kind, types.auth.SentCodeTypeApp):
        return "the Telegram app"
    if isinstance(kind, types.auth.SentCodeTypeSms):
        return "a text message"
    if isinstance(kind, types.auth.SentCodeTypeEmailCode):
        return "an e-mail"
    return "a call"
