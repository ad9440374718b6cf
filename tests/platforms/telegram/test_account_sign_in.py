"""Signing in: what is asked, what is kept, and what is said when it does not work."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from tests.held import NOON
from tests.platforms.drawer import Drawer
from tests.platforms.telegram.conftest import Opens, all_channels
from tests.platforms.telegram.people import Person, account, come_back, finding
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import AskedToWait, BadInput, Banned, PlatformError, SignedOut
from tidegate.core.ids import ChannelId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.connect_timeout import CONNECT_WITHIN
from tidegate.platforms.interface import Me, SignInAttempt
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import LoopbackTelegram, telegram_opener
from tidegate.platforms.telegram.session import CHANNELS, SIGN_IN, VaultSession


async def signed_in(telegram: TelegramServer, drawer: Drawer, person: Person, noted: list[str] | None = None) -> Me:
    note = (noted if noted is not None else []).append
    return await sign_in(SignInAttempt(account(), drawer, note), person, find_loopback=finding(telegram))


async def test_a_code_is_enough_for_most(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """Phone and code are asked once each, and the key is in the vault when it is done."""
    person = Person(world)
    me = await signed_in(telegram, drawer, person)
    assert me == Me(1_000_001, "Ada", premium=False)
    assert person.asked == ["phone", "code in the Telegram app"]
    assert set(drawer.kept) == {SIGN_IN}


async def test_a_wrong_code_is_asked_for_again(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """A slip is forgiven twice; the third ends it with a sentence, and the account stays signed out."""
    person = Person(world, wrong=2)
    await signed_in(telegram, drawer, person)
    assert len(person.asked) == 4
    assert person.asked[-1].endswith("That is not the code Telegram sent.")
    with pytest.raises(BadInput, match="3 times"):
        await signed_in(telegram, Drawer(), Person(world, wrong=3))


async def test_a_password_is_asked_where_there_is_one(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """Two-step sign-in: after the code comes the password, and a slip is forgiven."""
    person = Person(world, "+1000002", wrong_passwords=1)
    me = await signed_in(telegram, drawer, person)
    assert me.name == "Bob"
    assert person.asked[2:] == ["password", "password; That is not the password of this account."]
    with pytest.raises(BadInput, match="wrong password 3 times"):
        await signed_in(telegram, Drawer(), Person(world, "+1000002", wrong_passwords=3))


async def test_a_number_nobody_has_gets_a_sentence(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """bad-input-gets-a-sentence: what was wrong and what to do."""
    with pytest.raises(BadInput, match=r"\+4900.*country code"):
        await signed_in(telegram, drawer, Person(world, "+49 00"))


async def test_a_code_that_is_too_old_gets_a_sentence(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """Nobody is asked again and again for a code that cannot be right."""
    world.faults.add(Fault(FaultKind.ERROR, "auth.signIn", code="400 PHONE_CODE_EXPIRED"))
    with pytest.raises(BadInput, match="no longer valid"):
        await signed_in(telegram, drawer, Person(world))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(FaultKind.WAIT, "auth.sendCode", seconds=600), AskedToWait),
        (Fault(FaultKind.ERROR, "auth.sendCode", code="400 PHONE_NUMBER_BANNED"), Banned),
        (Fault(FaultKind.ERROR, "auth.sendCode", code="500"), PlatformError),
        (Fault(FaultKind.DISCONNECT, "auth.sendCode"), PlatformError),
    ],
)
async def test_trouble_while_signing_in_is_told_as_everywhere(
    telegram: TelegramServer, world: World, drawer: Drawer, fault: Fault, kind: type
) -> None:
    """error-class-says-what-to-do holds before there is a lane: no library error comes through, and nothing is
    repeated.
    """
    world.faults.add(fault)
    with pytest.raises(kind):
        await signed_in(telegram, drawer, Person(world))
    assert world.record.by_method()["auth.sendCode"] == 1


async def test_signing_in_twice_asks_nothing(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """A sign-in that still holds is kept."""
    await signed_in(telegram, drawer, Person(world))
    again = Person(world)
    assert (await signed_in(telegram, drawer, again)).name == "Ada"
    assert again.asked == []


async def test_every_call_of_signing_in_is_noted(telegram: TelegramServer, world: World, drawer: Drawer) -> None:
    """calls-through-a-lane: all of it is of the kind connect, and the platform counted the same."""
    noted: list[str] = []
    await signed_in(telegram, drawer, Person(world, "+1000002"), noted)
    assert sorted(noted) == sorted(world.record.by_method().elements())


async def test_no_secret_is_shown(telegram: TelegramServer, world: World, drawer: Drawer, capsys, caplog) -> None:
    """Neither code, password nor key reach a log or a terminal."""
    caplog.set_level("DEBUG")
    person = Person(world, "+1000002", wrong=1)
    await signed_in(telegram, drawer, person)
    key = json.loads(drawer.kept[SIGN_IN])["key"]
    said = caplog.text + "".join(capsys.readouterr())
    assert key not in said
    assert "opensesame" not in said
    assert "nonsense" not in said


class TestOpening:
    async def test_an_account_that_never_signed_in_is_signed_out(self, telegram: TelegramServer) -> None:
        """Nothing is asked of Telegram without a key."""
        opener = telegram_opener(None, SystemClock(), find_loopback=finding(telegram))
        with pytest.raises(SignedOut, match="not signed in"):
            await opener(account(), Drawer(), lambda _: None)
        assert telegram.world.record.calls == []

    async def test_a_key_telegram_forgot_is_signed_out(self, opens: Opens, telegram: TelegramServer) -> None:
        """S-45: neither a key it does not know nor one it ended is tried for ever."""
        await (await opens()).close()
        telegram.world.faults.add(Fault(FaultKind.SIGNED_OUT, "users.getUsers"))
        with pytest.raises(SignedOut):
            await opens()
        telegram.world.sign_ins.clear()
        with pytest.raises(SignedOut):
            await opens()

    async def test_a_banned_account_says_so(self, opens: Opens, world: World) -> None:
        """What a person has to know is told when connecting, not at the first call."""
        await (await opens()).close()
        world.faults.add(Fault(FaultKind.BANNED, "updates.getState"))
        with pytest.raises(Banned):
            await opens()

    async def test_a_platform_that_is_away_is_no_loss(self, opens: Opens, telegram: TelegramServer) -> None:
        """A network that is down says nothing about the sign-in."""
        await (await opens()).close()
        await telegram.close()
        with pytest.raises(PlatformError, match="cannot be reached") as raised:
            await opens()
        assert type(raised.value) is PlatformError
        await come_back(telegram)

    async def test_connecting_costs_four_calls_of_its_own(self, opens: Opens, world: World, noted: list[str]) -> None:
        """What Telethon asks for by itself is known, counted apart, and equals the platform's count."""
        await (await opens()).close()
        noted.clear()
        world.record.calls.clear()
        await opens()
        assert noted == ["help.getConfig", "users.getUsers", "updates.getState", "updates.getDifference"]
        assert noted == [call.method for call in world.record.calls]

    async def test_loopback_means_this_machine(self, drawer: Drawer) -> None:
        """A loopback account is never led elsewhere, whatever its control address says."""

        async def find(control: str) -> LoopbackTelegram:
            return LoopbackTelegram("192.0.2.1:443", "")

        opener = telegram_opener(None, SystemClock(), find_loopback=find)
        with pytest.raises(BadInput, match=r"127\.0\.0\.1"):
            await opener(account(), drawer, lambda _: None)
        with pytest.raises(BadInput, match="control address"):
            await telegram_opener(None, SystemClock())(
                replace(account(), loopback="http://192.0.2.1:1"), drawer, lambda _: None
            )

    async def test_a_real_account_needs_a_registered_application(
        self, telegram: TelegramServer, world: World, drawer: Drawer
    ) -> None:
        """The sentence says where to get one; Telegram is not asked."""
        await signed_in(telegram, drawer, Person(world))
        with pytest.raises(PlatformError, match=r"my\.telegram\.org"):
            await telegram_opener(None, SystemClock())(replace(account(), loopback=None), drawer, lambda _: None)


class TestSession:
    async def test_the_key_is_written_before_it_is_used(self, telegram: TelegramServer, world: World) -> None:
        """A crash between the key exchange and the sign-in loses nothing: the next one goes on with the same key."""
        drawer = Drawer()
        world.faults.add(Fault(FaultKind.DISCONNECT, "auth.sendCode"))
        with pytest.raises(PlatformError):
            await signed_in(telegram, drawer, Person(world))
        assert drawer.writes == [SIGN_IN]
        key = json.loads(drawer.kept[SIGN_IN])["key"]
        await signed_in(telegram, drawer, Person(world))
        assert json.loads(drawer.kept[SIGN_IN])["key"] == key

    async def test_access_hashes_survive_a_restart(self, opens: Opens, world: World, drawer: Drawer) -> None:
        """Channels once listed can be asked for at once, and a listing that brings nothing new writes nothing."""
        channel = world.add_channel("Models")
        first = await opens()
        await all_channels(first)
        await all_channels(first)
        assert drawer.writes.count(CHANNELS) == 1
        await first.close()
        second = await opens()
        assert ChannelId(channel.id) in await second.heads([ChannelId(channel.id)])

    async def test_hashes_of_another_account_are_not_there(self, drawer: Drawer) -> None:
        """They belong to one account each: an empty vault knows no channel."""
        session = await VaultSession.load(drawer)
        assert session.access_hash(ChannelId(5)) is None
        assert not session.has_key


async def test_a_connection_that_hangs_is_given_up(opens: Opens, world: World) -> None:
    """A platform that takes the connection and says nothing does not hold a worker for ever."""
    await (await opens()).close()
    world.record.calls.clear()
    world.faults.add(Fault(FaultKind.TIMEOUT, "help.getConfig"))
    clock = HeldClock(NOON)
    opening = asyncio.ensure_future(opens(clock=clock))
    while not world.record.calls:
        await asyncio.sleep(0)
    await clock.advance(CONNECT_WITHIN)
    with pytest.raises(PlatformError, match="too long"):
        await opening
