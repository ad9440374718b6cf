"""What stops an account: it is heard, nothing more leaves, and nobody connects over and over."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.platforms.whatsapp.conftest import Opens
from tests.platforms.whatsapp.sent_messages import say
from tests.waiting import PATIENCE
from tidegate.core.account import AccountState
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Banned, Halted, PlatformError, SignedOut
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.loopback.whatsapp.request_handler import strike_down
from tidegate.loopback.whatsapp.world import Group, Phone
from tidegate.platforms.whatsapp.client import WhatsAppAccount


def strike(whatsapp: WhatsAppServer, phone: Phone, fault: Fault) -> None:
    """The platform stops the account out of the blue."""
    whatsapp.tell(phone, strike_down(whatsapp.world, phone, fault), hang_up=True)


async def stopped(client: WhatsAppAccount) -> SignedOut | Banned:
    """What whoever waits for arrivals is told."""
    async with asyncio.timeout(PATIENCE):
        with pytest.raises((SignedOut, Banned)) as told:
            await client.next_arrival()
    return told.value


Stop = tuple[Fault, type[SignedOut | Banned], AccountState]

STOPS: list[Stop] = [
    (Fault(FaultKind.BANNED, code="104", seconds=3600), Banned, AccountState.BANNED),
    (Fault(FaultKind.SIGNED_OUT, code="403"), SignedOut, AccountState.SIGNED_OUT),
    (Fault(FaultKind.REPLACED), Halted, AccountState.PAUSED),
]


@pytest.mark.parametrize("stop", STOPS, ids=[fault.kind.value for fault, _, _ in STOPS])
async def test_it_is_heard_and_nothing_leaves_after_it(
    whatsapp: WhatsAppServer, phone: Phone, shops: Group, client: WhatsAppAccount, stop: Stop
) -> None:
    """D-36, D-37, and a session used elsewhere: every further call says why, and no new connection is made."""
    fault, meant, leaves = stop
    strike(whatsapp, phone, fault)
    told = await stopped(client)
    assert type(told) is meant
    assert told.leaves is leaves
    with pytest.raises(meant):
        await say(client, shops)
    assert shops.messages == []
    assert whatsapp.world.record.by_method()["connect"] == 1
    assert client.pid is None


async def test_a_ban_says_until_when(whatsapp: WhatsAppServer, phone: Phone, client: WhatsAppAccount) -> None:
    """D-36: at least as long as WhatsApp said, and with its reason in words."""
    before = SystemClock().now()
    strike(whatsapp, phone, Fault(FaultKind.BANNED, code="104", seconds=3600))
    told = await stopped(client)
    assert isinstance(told, Banned)
    assert told.until is not None
    assert told.until >= before + timedelta(hours=1)
    assert "the same message too often" in str(told)


async def test_who_sends_too_fast_is_banned(world: World, shops: Group, client: WhatsAppAccount) -> None:
    """The platform's own limit, which a pace has to stay below; the message before the ban arrived and says so."""
    world.limits.per_minute = 2
    for number in range(3):
        await say(client, shops, str(number))
    assert isinstance(await stopped(client), Banned)
    assert len(shops.messages) == 3


@pytest.mark.parametrize(
    ("fault", "meant"),
    [
        (Fault(FaultKind.ERROR, "connect", code="405"), Halted),
        (Fault(FaultKind.SIGNED_OUT, "connect"), SignedOut),
        (Fault(FaultKind.BANNED, "connect", seconds=60), Banned),
        (Fault(FaultKind.ERROR, "connect", code="failed to dial: 503"), PlatformError),
        (Fault(FaultKind.TIMEOUT, "connect", seconds=0.2), PlatformError),
        (Fault(FaultKind.DISCONNECT, "connect"), PlatformError),
    ],
    ids=["outdated", "signed out", "banned", "503", "silent", "hung up"],
)
async def test_a_first_connection_that_fails(
    world: World, opens: Opens, fault: Fault, meant: type[PlatformError]
) -> None:
    """D-42: an error for whoever serves the account, who tries again later; the library never does by itself."""
    world.faults.add(fault)
    with pytest.raises(PlatformError) as told:
        await opens()
    assert type(told.value) is meant
    assert world.record.by_method()["connect"] == 1


async def test_a_platform_that_is_not_there(whatsapp: WhatsAppServer, opens: Opens) -> None:
    """D-42: connection refused."""
    await whatsapp.close()
    with pytest.raises(PlatformError, match="cannot be reached"):
        await opens()
