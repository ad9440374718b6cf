"""The protocol itself, with the unmodified client on the other side."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest
from telethon import TelegramClient
from telethon.errors import ConnectionLayerInvalidError, InputMethodInvalidError, ServerError, UnauthorizedError
from telethon.errors.common import AuthKeyNotFound
from telethon.network import ConnectionTcpAbridged, ConnectionTcpFull
from telethon.sessions import MemorySession
from telethon.tl import functions
from telethon.tl.alltlobjects import LAYER

from tests.held import NOON
from tests.loopback.clients import make_client, sign_in
from tests.loopback.conftest import PHONE, Connects
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.handshake import PRIME


class TestKeys:
    @pytest.mark.parametrize("transport", [ConnectionTcpFull, ConnectionTcpAbridged])
    async def test_a_new_client_agrees_on_a_key_over_either_transport(
        self, enter: Connects, telegram: TelegramServer, transport: type
    ) -> None:
        """Both transports Telethon offers without a proxy reach the same platform."""
        client = await enter(connection=transport)
        assert (await client.get_me()).first_name == "Ada"
        assert len(telegram.world.sign_ins) == 1

    async def test_a_secret_with_a_leading_zero_byte_is_a_key_like_any_other(self) -> None:
        """One secret in 256 begins with a zero byte; here all do, so padding them could not go unnoticed."""
        world = World(SystemClock())
        world.add_account(PHONE)
        server = TelegramServer(world, world.clock, prime=PRIME >> 8 | 1)
        await server.start()
        client = await sign_in(make_client(server), server, PHONE)
        [sign] = world.sign_ins.values()
        assert len(sign.secret) <= 255
        await client.disconnect()
        await server.close()

    async def test_a_saved_key_signs_in_without_a_code(self, enter: Connects, telegram: TelegramServer) -> None:
        """A client that comes back with its key is who it was; that is what Tidegate keeps in its vault."""
        session = MemorySession()
        first = await enter(session=session)
        await first.disconnect()
        codes = telegram.world.record.by_method()["auth.sendCode"]
        second = make_client(telegram, session)
        await second.connect()
        assert (await second.get_me()).first_name == "Ada"
        assert telegram.world.record.by_method()["auth.sendCode"] == codes
        await second.disconnect()

    async def test_an_unknown_key_is_told_so(self, enter: Connects, telegram: TelegramServer) -> None:
        """A platform that lost a sign-in says so; Telethon has a name for it, and it is no RPC error."""
        session = MemorySession()
        first = await enter(session=session)
        await first.disconnect()
        telegram.world.sign_ins.clear()
        second = make_client(telegram, session)
        with pytest.raises(AuthKeyNotFound):
            await second.connect()
        with pytest.raises(AuthKeyNotFound):
            await second.disconnected

    async def test_the_key_of_a_program_is_its_own(self, telegram: TelegramServer) -> None:
        """No key is committed anywhere: each start of the program makes a new one, for all its servers."""
        again = TelegramServer(World(SystemClock()), SystemClock())
        asked = "from tidegate.loopback.telegram import handshake; print(handshake.key_of_this_process().public_pem)"
        other = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", asked], capture_output=True, text=True, check=True
        )
        assert "BEGIN RSA PUBLIC KEY" in telegram.public_key_pem
        assert again.public_key_pem == telegram.public_key_pem != other.stdout.rstrip() + "\n"
        assert "BEGIN RSA PUBLIC KEY" in other.stdout


class TestCalls:
    async def test_thirty_calls_in_one_container_are_thirty_calls(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """A container saves packets, not calls: each is counted by its name."""
        before = telegram.world.record.by_method()["updates.getState"]
        answers = await client([functions.updates.GetStateRequest() for _ in range(30)])
        assert len(answers) == 30
        assert telegram.world.record.by_method()["updates.getState"] == before + 30

    async def test_a_ping_is_answered_and_is_no_call(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Keeping a connection alive is the protocol's own business: the answer comes bare, and nothing is counted."""
        seen = len(telegram.world.record.calls)
        assert (await client(functions.PingRequest(ping_id=7))).ping_id == 7
        assert len(telegram.world.record.calls) == seen

    async def test_a_fault_of_the_platform_itself_is_told_and_listed(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """A method that breaks answers at once, and the test that met it turns red instead of waiting."""
        telegram.world.limits.parts = "many"
        with pytest.raises(ServerError):
            await client(functions.help.GetAppConfigRequest(hash=0))
        assert telegram.world.record.unknown == ["help.getAppConfig (broke)"]
        telegram.world.record.unknown.clear()

    @pytest.mark.parametrize(
        "noise",
        [
            b"",
            b"GET / HTTP/1.1\r\n\r\n",
            b"\xef\x00",  # abridged, of no length
            b"\x14\0\0\0" + bytes(20),  # full, with a wrong checksum
            b"\xef\x06" + bytes(24),  # a plain packet that is no step of a key exchange
        ],
    )
    async def test_noise_ends_its_own_connection_alone(
        self, client: TelegramClient, telegram: TelegramServer, noise: bytes
    ) -> None:
        """What is no packet is hung up on; everybody else is served."""
        host, _, port = telegram.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(noise)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        assert (await client.get_me()).first_name == "Ada"

    async def test_what_connecting_costs_is_on_the_record(self, enter: Connects, telegram: TelegramServer) -> None:
        """Wrapped requests are counted by what is inside, before and after the sign-in."""
        await enter()
        calls = telegram.world.record.calls
        assert calls[0].method == "help.getConfig"
        assert calls[0].account == ""
        assert {call.account for call in calls if call.method == "updates.getState"} == {"1000001"}

    async def test_an_unknown_method_gets_the_platforms_error_and_is_listed(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """What the world lacks turns a test red instead of being guessed."""
        with pytest.raises(InputMethodInvalidError):
            await client(functions.help.GetNearestDcRequest())
        assert telegram.world.record.unknown == ["help.getNearestDc"]
        telegram.world.record.unknown.clear()

    async def test_another_layer_is_refused_and_listed(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Telegram would answer in the client's own layer; the loopback has only one, and says so."""
        with pytest.raises(ConnectionLayerInvalidError):
            await client(functions.InvokeWithLayerRequest(LAYER - 1, functions.help.GetConfigRequest()))
        assert telegram.world.record.unknown == [f"layer {LAYER - 1}"]
        telegram.world.record.unknown.clear()

    async def test_nothing_is_answered_to_a_stranger(self, telegram: TelegramServer) -> None:
        """Without a sign-in the platform tells nothing of its world."""
        client = make_client(telegram)
        await client.connect()
        assert await client.get_me() is None
        with pytest.raises(UnauthorizedError):
            await client(functions.updates.GetStateRequest())
        await client.disconnect()

    async def test_calls_wait_side_by_side(self) -> None:
        """Latency is per call, not per connection: four at once take as long as one, by the clock the test holds."""
        clock = HeldClock(NOON)
        world = World(clock)
        world.add_account(PHONE)
        server = TelegramServer(world, clock)
        await server.start()
        client = await sign_in(make_client(server), server, PHONE)
        server.latency = timedelta(milliseconds=50)
        seen = len(world.record.calls)
        asked = [asyncio.ensure_future(client(functions.updates.GetStateRequest())) for _ in range(4)]
        while len(world.record.calls) < seen + 4:
            await asyncio.sleep(0)
        assert server.busy
        await clock.advance(timedelta(milliseconds=50))
        await asyncio.gather(*asked)
        await client.disconnect()
        await server.close()

    async def test_a_client_that_is_hung_up_on_comes_back(self, connect: Connects, telegram: TelegramServer) -> None:
        """The platform's restart is a disconnect; the sign-in survives it."""
        client = await connect(auto_reconnect=False)
        telegram.disconnect_all()
        with pytest.raises(asyncio.IncompleteReadError):
            await client.disconnected
        await client.connect()
        assert (await client.get_me()).first_name == "Ada"
