"""Linking an account: by a code to scan, by one to type, and what keeps it from that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.conftest import Opens
from tests.platforms.whatsapp.people import PHONE, NoSessions, account
from tests.waiting import PATIENCE, until
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, PlatformError
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.whatsapp.world import Phone
from tidegate.platforms.interface import Me, SignInAttempt
from tidegate.platforms.whatsapp.connector import DEVICE
from tidegate.platforms.whatsapp.device_link import LinkCode, LinkedPhone, Step, international, pair

Pairs = Callable[..., AsyncGenerator[Step, None]]


@pytest.fixture
def fresh() -> Drawer:
    """A vault with nothing in it."""
    return Drawer()


@pytest.fixture
def pairs(whatsapp: WhatsAppServer, fresh: Drawer, noted: list[str]) -> Pairs:
    """Begins to link the account."""

    async def find(_: str) -> str:
        return whatsapp.address

    def begin(phone: str | None = None) -> AsyncGenerator[Step, None]:
        attempt = SignInAttempt(account(), fresh, noted.append)
        return pair(attempt, NoSessions(), clock=SystemClock(), phone=phone, find_loopback=find)

    return begin


async def test_a_qr_code_is_scanned(
    whatsapp: WhatsAppServer, phone: Phone, pairs: Pairs, fresh: Drawer, noted: list[str]
) -> None:
    """What is shown is what the phone has to see; the sign-in is kept when the link is told, and not before."""
    steps: list[Step] = []
    async with asyncio.timeout(PATIENCE), aclosing(pairs()) as linking:
        async for step in linking:
            steps.append(step)
            if isinstance(step, LinkCode):
                assert fresh.kept == {}
                (pairing,) = whatsapp.world.pairings
                assert step.text == pairing.qr
                whatsapp.scan(phone, pairing)
    assert isinstance(steps[0], LinkCode)
    assert not steps[0].is_typed
    assert steps[1:] == [LinkedPhone(Me(int(PHONE), f"+{PHONE}"))]
    assert fresh.kept == {DEVICE: f"{PHONE}:1@s.whatsapp.net".encode()}
    assert whatsapp.world.record.by_method() == {"pair": 1, "connect": 1}
    assert noted == ["pair", "connect"]


async def test_a_code_is_typed(whatsapp: WhatsAppServer, phone: Phone, pairs: Pairs) -> None:
    """For a phone that cannot scan: one code, for its number however it was written."""
    steps: list[Step] = []
    async with asyncio.timeout(PATIENCE):
        async for step in pairs(phone="+62 812-0000-0001"):
            steps.append(step)
            if isinstance(step, LinkCode):
                assert step.is_typed
                (pairing,) = whatsapp.world.pairings
                assert (pairing.code, pairing.phone) == (step.text, PHONE)
                whatsapp.scan(phone, pairing)
    assert [type(step) for step in steps] == [LinkCode, LinkedPhone]


async def test_what_was_linked_can_be_used(
    whatsapp: WhatsAppServer, pairs: Pairs, fresh: Drawer, drawer: Drawer, opens: Opens
) -> None:
    """The sign-in of a new device opens the account."""
    world = whatsapp.world
    async for step in pairs():
        if isinstance(step, LinkCode):
            whatsapp.scan(world.phones[PHONE], world.pairings[0])
    drawer.kept = fresh.kept
    world.add_group("Shops")
    client = await opens()
    assert len((await client.channels(None)).heads) == 1


async def test_giving_up_leaves_nothing_behind(whatsapp: WhatsAppServer, pairs: Pairs, fresh: Drawer) -> None:
    """No device waits on WhatsApp's side, and nothing was kept on ours."""
    async with aclosing(pairs()) as linking:
        assert isinstance(await anext(linking), LinkCode)
    await until(lambda: not whatsapp.world.pairings)
    assert fresh.kept == {}


async def test_a_whatsapp_that_is_not_there(whatsapp: WhatsAppServer, pairs: Pairs) -> None:
    """D-42: a sentence, and no account."""
    await whatsapp.close()
    with pytest.raises(PlatformError, match="cannot be reached"):
        await anext(pairs())


@pytest.mark.parametrize("phone", ["0812 3456 789", "62", "shop", "", "+62 812 3456 7890 1234 5", "٠١٢٣٤٥٦٧٨٩"])
async def test_a_number_that_cannot_be_one(pairs: Pairs, whatsapp: WhatsAppServer, phone: str) -> None:
    """bad-input-gets-a-sentence: refused before WhatsApp hears of it."""
    with pytest.raises(BadInput, match="country code"):
        await anext(pairs(phone=phone))
    assert whatsapp.world.record.calls == []


@given(st.integers(1_000_000, 10**15 - 1), st.lists(st.sampled_from(" +-()/."), max_size=4))
def test_a_number_is_its_digits(number: int, signs: list[str]) -> None:
    """However people group them."""
    written = "".join(signs) + " ".join(str(number))
    assert international(written) == str(number)
