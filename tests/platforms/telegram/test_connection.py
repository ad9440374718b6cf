"""The connection: one request out, one answer or a reason in, and made again when it is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from tests.platforms.telegram.conftest import Opens, all_channels
from tests.platforms.telegram.people import come_back
from tests.waiting import PATIENCE
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.core.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.core.ids import ChannelId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.platforms.interface import SendKey, UpdateHint
from tidegate.platforms.telegram import connection
from tidegate.platforms.telegram.client import TelegramAccount

GATE = "messages.getPeerDialogs"
NOON = SystemClock().now()


@pytest.fixture
def models(client: TelegramAccount, world: World) -> Channel:
    return world.channel("Models")


def number(channel: Channel) -> ChannelId:
    return ChannelId(channel.id)


async def reconnected(client: TelegramAccount) -> None:
    """Wait until the connection is there again: the hint that says that anything may have changed comes then."""
    async with asyncio.timeout(PATIENCE):
        while await client.hints(most=1) != [UpdateHint(None)]:
            pass


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(FaultKind.WAIT, GATE, seconds=4), AskedToWait),
        (Fault(FaultKind.WAIT, GATE, seconds=4, code="premium"), AskedToWait),
        (Fault(FaultKind.ERROR, GATE, code="500"), PlatformError),
        (Fault(FaultKind.ERROR, GATE, code="400 SOMETHING_NEW"), Refused),
        (Fault(FaultKind.FORBIDDEN, GATE), ChannelGone),
        (Fault(FaultKind.SIGNED_OUT, GATE), SignedOut),
        (Fault(FaultKind.BANNED, GATE), Banned),
        (Fault(FaultKind.DISCONNECT, GATE), OutcomeUnknown),
    ],
)
async def test_a_call_goes_out_once_whatever_comes_back(
    client: TelegramAccount, models: Channel, world: World, fault: Fault, kind: type
) -> None:
    """S-44: Telethon neither waits nor repeats; the lane decides. A short flood wait would be slept off by default."""
    world.record.calls.clear()
    world.faults.add(fault)
    with pytest.raises(kind) as raised:
        await client.heads([number(models)])
    assert type(raised.value) is kind
    assert [call.method for call in world.record.calls if call.method == GATE] == [GATE]


async def test_a_flood_wait_is_never_refused_by_the_library_itself(
    client: TelegramAccount, models: Channel, world: World
) -> None:
    """The lane waits by its own clock; a call it makes reaches the platform, or the ledger would count too much."""
    world.faults.add(Fault(FaultKind.WAIT, GATE, seconds=300))
    with pytest.raises(AskedToWait):
        await client.heads([number(models)])
    assert number(models) in await client.heads([number(models)])
    assert world.record.by_method()[GATE] == 2


async def test_a_lost_connection_is_made_again(
    client: TelegramAccount, models: Channel, telegram: TelegramServer, noted: list[str]
) -> None:
    """Without anybody asking; then one hint says that some may have been missed, and calls work again."""
    noted.clear()
    telegram.disconnect_all()
    await reconnected(client)
    assert number(models) in await client.heads([number(models)])
    assert noted == ["help.getConfig", "users.getUsers", "updates.getState", "updates.getDifference"]


async def test_a_connection_that_dies_young_is_made_ever_more_rarely(
    client: TelegramAccount, telegram: TelegramServer
) -> None:
    """Being let in proves nothing: an account that connects over and over looks like an attack."""
    with capture_logs() as lines:
        for _ in range(2):
            telegram.disconnect_all()
            await reconnected(client)
    assert [line["next_try_in"] for line in lines if line["event"] == "telegram.connection_lost"] == [
        "0:00:01",
        "0:00:02",
    ]


async def test_while_there_is_no_connection_nothing_is_sent(
    client: TelegramAccount, models: Channel, telegram: TelegramServer
) -> None:
    """error-class-says-what-to-do: proven not handed over, so a send goes back to pending and a read is tried again."""
    told: list[str | None] = []
    client.connection_changed = told.append
    await telegram.close()
    with pytest.raises((NotSent, OutcomeUnknown)):
        await client.heads([number(models)])
    with pytest.raises(NotSent, match="is lost"):
        await client.heads([number(models)])
    while client._connection._client is not None:
        await asyncio.sleep(0)
    with pytest.raises(NotSent, match="made again"):
        await client.heads([number(models)])
    await come_back(telegram)
    await reconnected(client)
    assert number(models) in await client.heads([number(models)])
    assert told[0] is not None
    assert "lost" in told[0]
    assert told[-1] is None


async def test_calls_in_flight_when_the_connection_breaks_are_unknown(
    client: TelegramAccount, models: Channel, telegram: TelegramServer, world: World
) -> None:
    """What was handed over and not answered may have happened, all of it, and none is sent again by Telethon.

    Invariant: claim-before-send.
    """
    world.faults.add(Fault(FaultKind.TIMEOUT, "messages.sendMessage", count=5))
    sends = [
        asyncio.ensure_future(client.send(number(models), "hello", key=SendKey(f"k{index}"))) for index in range(5)
    ]
    while world.record.by_method()["messages.sendMessage"] < 5:
        await asyncio.sleep(0)
    telegram.disconnect_all()
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert {type(answer) for answer in answers} == {OutcomeUnknown}
    await reconnected(client)
    assert world.record.by_method()["messages.sendMessage"] == 5


async def test_an_answer_that_does_not_come_is_given_up(opens: Opens, world: World) -> None:
    """A call does not wait for ever; its outcome is unknown, and the connection goes on."""
    clock = HeldClock(NOON)
    world.add_channel("Models")
    client = await opens(clock=clock)
    await all_channels(client)
    models = number(world.channel("Models"))
    world.faults.add(Fault(FaultKind.TIMEOUT, GATE))
    asking = asyncio.ensure_future(client.heads([models]))
    while not world.record.by_method()[GATE]:
        await asyncio.sleep(0)
    await clock.advance(connection.ANSWER_WITHIN - timedelta(seconds=1))
    assert not asking.done()
    await clock.advance(timedelta(seconds=1))
    with pytest.raises(OutcomeUnknown, match="within 60 s"):
        await asking
    assert models in await client.heads([models])


async def test_a_sign_in_that_ends_while_away_is_told(
    client: TelegramAccount, models: Channel, telegram: TelegramServer, world: World
) -> None:
    """S-45: the next call says so, and nobody goes on connecting with a dead key."""
    world.sign_ins.clear()
    telegram.disconnect_all()
    async with asyncio.timeout(PATIENCE):
        while True:
            with pytest.raises(PlatformError) as raised:
                await client.heads([number(models)])
            if isinstance(raised.value, SignedOut):
                break
            await asyncio.sleep(0)
    with pytest.raises(SignedOut):
        await client.heads([number(models)])
    with pytest.raises(SignedOut):
        await asyncio.wait_for(client.hints(most=1), PATIENCE)


async def test_whoever_waits_for_a_hint_is_told_of_the_end(client: TelegramAccount) -> None:
    """A listener does not wait for ever for a connection that was closed."""
    waiting = asyncio.ensure_future(client.hints(most=1))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(NotSent, match="closed"):
        await asyncio.wait_for(waiting, PATIENCE)


async def test_closing_twice_is_harmless(client: TelegramAccount, models: Channel) -> None:
    """port.Client: close may be called at any time and more than once; afterwards nothing is sent."""
    await client.close()
    await client.close()
    with pytest.raises(NotSent):
        await client.heads([number(models)])


async def test_closing_in_the_middle_of_a_call_ends_it(client: TelegramAccount, models: Channel, world: World) -> None:
    """one-owner-per-account: connections are closed while calls are in flight; those end at once, unknown."""
    world.faults.add(Fault(FaultKind.TIMEOUT, GATE))
    asking = asyncio.ensure_future(client.heads([number(models)]))
    while not world.record.by_method()[GATE]:
        await asyncio.sleep(0)
    await client.close()
    with pytest.raises(OutcomeUnknown):
        await asking


class TestHints:
    async def test_what_is_pushed_arrives_without_a_call(
        self, client: TelegramAccount, models: Channel, world: World
    ) -> None:
        """New, edited and deleted, each with the counter it reached; the library asks for nothing on its own."""
        world.record.calls.clear()
        posted = world.post(models, "one")
        world.edit(models, posted.id, text="two")
        world.delete(models, [posted.id])
        hints = [hint for _ in range(3) for hint in await client.hints(most=1)]
        assert {hint.channel for hint in hints} == {models.id}
        news = [hint.updates for hint in hints if hint.updates is not None]
        assert [one.upto for one in news] == [models.pts - 2, models.pts - 1, models.pts]
        assert [one.steps for one in news] == [1, 1, 1]
        assert [message.text for message in news[0].posted] == ["one"]
        assert [message.text for message in news[1].edited] == ["two"]
        assert list(news[2].deleted) == [posted.id]
        assert world.record.calls == []
