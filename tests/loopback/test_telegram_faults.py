"""Trouble on purpose: each kind strikes the calls it is meant for, as often as it was asked to."""

from __future__ import annotations

import asyncio

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions

from tests.loopback.clients import gate, peer
from tests.loopback.conftest import Connects
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer

GET_STATE = functions.updates.GetStateRequest


class TestFaults:
    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            ("", errors.FloodWaitError),
            ("premium", errors.FloodPremiumWaitError),
            ("slowmode", errors.SlowModeWaitError),
        ],
    )
    async def test_a_wait_names_its_seconds(
        self, client: TelegramClient, telegram: TelegramServer, code: str, kind: type[errors.RPCError]
    ) -> None:
        """S-42: each kind of wait comes as the class Telethon has for it; the next call is served."""
        telegram.world.faults.add(Fault(FaultKind.WAIT, "updates.getState", seconds=300, code=code))
        with pytest.raises(kind) as told:
            await client(GET_STATE())
        assert told.value.seconds == 300
        client._flood_waited_requests.clear()
        await client(GET_STATE())

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            ("500", errors.RpcCallFailError),
            ("CHANNEL_PRIVATE", errors.ChannelPrivateError),
            ("403 CHAT_WRITE_FORBIDDEN", errors.ChatWriteForbiddenError),
            ("406", errors.AuthKeyDuplicatedError),
        ],
    )
    async def test_an_error_can_be_named(
        self, client: TelegramClient, telegram: TelegramServer, code: str, kind: type[errors.RPCError]
    ) -> None:
        """By number, by name, or both."""
        telegram.world.faults.add(Fault(FaultKind.ERROR, "updates.getState", code=code))
        with pytest.raises(kind):
            await client(GET_STATE())

    async def test_a_fault_strikes_only_what_it_fits(self, connect: Connects, telegram: TelegramServer) -> None:
        """Method, account and channel narrow it down; others go on as if nothing were (S-42)."""
        other = telegram.world.add_account("+1000002")
        one, two = telegram.world.add_channel("one"), telegram.world.add_channel("two")
        first, second = await connect(), await connect("+1000002")
        telegram.world.faults.add(
            Fault(FaultKind.FORBIDDEN, "messages.getPeerDialogs", count=2, account="1000001", channel=two.id)
        )
        await gate(first, peer(telegram, one))
        await gate(second, peer(telegram, two, other.id))
        for _ in range(2):
            with pytest.raises(errors.ChannelPrivateError):
                await gate(first, peer(telegram, one), peer(telegram, two))
        await gate(first, peer(telegram, one), peer(telegram, two))

    @pytest.mark.parametrize(
        ("kind", "told"),
        [(FaultKind.SIGNED_OUT, errors.AuthKeyUnregisteredError), (FaultKind.BANNED, errors.UserDeactivatedBanError)],
    )
    async def test_a_lost_account_stays_lost(
        self, client: TelegramClient, telegram: TelegramServer, kind: FaultKind, told: type[errors.RPCError]
    ) -> None:
        """S-45: it is told once why, and from then on that nobody is signed in."""
        telegram.world.faults.add(Fault(kind, "updates.getState"))
        with pytest.raises(told):
            await client(GET_STATE())
        with pytest.raises(errors.UnauthorizedError):
            await client(GET_STATE())

    async def test_a_call_that_times_out_is_never_answered(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """It was received and counted; the connection stands and other calls are answered."""
        telegram.world.faults.add(Fault(FaultKind.TIMEOUT, "updates.getState"))
        seen = len(telegram.world.record.calls)
        silent = asyncio.ensure_future(client(GET_STATE()))
        while len(telegram.world.record.calls) == seen:
            await asyncio.sleep(0)
        await client(GET_STATE())
        assert not silent.done()
        silent.cancel()

    async def test_a_disconnect_comes_before_the_call_is_done(
        self, connect: Connects, telegram: TelegramServer
    ) -> None:
        """Unlike one after: the message is not there."""
        client = await connect(auto_reconnect=False)
        channel = telegram.world.add_channel("Destination")
        telegram.world.faults.add(Fault(FaultKind.DISCONNECT, "messages.sendMessage"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client(functions.messages.SendMessageRequest(peer(telegram, channel), "hi", random_id=1))
        assert telegram.world.record.sends == []
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.disconnected
