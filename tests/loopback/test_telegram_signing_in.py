"""Signing in as a person does: phone, code, password."""

from __future__ import annotations

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions

from tests.loopback.clients import make_client
from tests.loopback.conftest import Connects
from tidegate.loopback.telegram import TelegramServer


class TestSigningIn:
    async def test_a_wrong_code_is_refused_and_the_right_one_still_works(self, telegram: TelegramServer) -> None:
        """A typo costs nothing but another try."""
        client = make_client(telegram)
        await client.connect()
        await client.send_code_request("+1000001")
        account = telegram.world.account_by_phone("+1000001")
        assert account is not None
        wrong = "00000" if account.code != "00000" else "11111"
        with pytest.raises(errors.PhoneCodeInvalidError):
            await client.sign_in("+1000001", wrong)
        assert (await client.sign_in("+1000001", account.code)).first_name == "Ada"
        await client.disconnect()

    async def test_an_account_with_a_password_asks_for_it(self, telegram: TelegramServer) -> None:
        """The password is proven and never sent; a wrong one is refused."""
        account = telegram.world.add_account("+1000002", password="correct horse")
        client = make_client(telegram)
        await client.connect()
        await client.send_code_request(account.phone)
        with pytest.raises(errors.SessionPasswordNeededError):
            await client.sign_in(account.phone, account.code)
        with pytest.raises(errors.PasswordHashInvalidError):
            await client.sign_in(password="wrong horse")
        assert (await client.sign_in(password="correct horse")).id == account.id
        await client.disconnect()

    async def test_a_number_nobody_has_is_refused(self, telegram: TelegramServer) -> None:
        """The world knows its accounts; it makes none up."""
        client = make_client(telegram)
        await client.connect()
        with pytest.raises(errors.PhoneNumberInvalidError):
            await client.send_code_request("+999")
        await client.disconnect()

    async def test_logging_out_ends_the_sign_in(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """After a log-out the key belongs to nobody."""
        await client(functions.auth.LogOutRequest())
        with pytest.raises(errors.UnauthorizedError):
            await client(functions.updates.GetStateRequest())

    async def test_two_accounts_are_two_people(self, connect: Connects, telegram: TelegramServer) -> None:
        """Several accounts are served at once, each as itself; premium is a fact of one of them."""
        telegram.world.add_account("+1000002", "Bob", premium=True)
        first, second = await connect(), await connect("+1000002")
        assert [(await client.get_me()).first_name for client in (first, second)] == ["Ada", "Bob"]
        assert [bool((await client.get_me()).premium) for client in (first, second)] == [False, True]

    async def test_the_limits_are_the_platforms_word(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """How many parts a file may have is read, not assumed; tests lower it."""
        telegram.world.limits.parts = 12
        answer = await client(functions.help.GetAppConfigRequest(hash=0))
        values = {entry.key: entry.value.value for entry in answer.config.value}
        assert values["upload_max_fileparts_default"] == 12
        assert values["upload_max_fileparts_premium"] == 8000
