"""The control address of the loopback WhatsApp, with neonize itself on the stand-in where a device is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.loopback.control_requests import tell
from tests.waiting import PATIENCE
from tidegate.core.child_protocol import Frame, pack, read
from tidegate.loopback.whatsapp import WhatsAppServer

PHONE = "6281200000001"
WORLD = {
    "seed": 3,
    "whatsapp": {
        "phones": [{"phone": "+62 812-0000-0001", "name": "Shop"}, {"phone": "6281200000002", "name": "Other"}],
        "groups": [
            {"name": "Shops", "count": 3},
            {"name": "News", "announce": True, "admins": ["6281200000002"]},
            {"name": "Old", "old_style": True, "members": ["6281200000002"]},
        ],
        "limits": {"per_minute": 100},
    },
}


@pytest.fixture
async def control(asking: httpx.AsyncClient) -> httpx.AsyncClient:
    """The control address of the test's own platforms, with the world above."""
    assert (await asking.put("/world", json=WORLD)).status_code == 200
    return asking


class Device:
    """A device that speaks to the platform as the stand-in does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._number = reader, writer, 0
        self.told: list[dict[str, Any]] = []

    async def ask(self, method: str, **args: Any) -> Frame:
        """The answer to a call; what is told before it is kept."""
        self._number += 1
        self._writer.write(pack({"n": self._number, "method": method, **args}))
        while (frame := await self.hear()).head.get("n") != self._number:
            self.told.append(dict(frame.head))
        return frame

    async def hear(self) -> Frame:
        async with asyncio.timeout(PATIENCE):
            frame = await read(self._reader)
        assert frame is not None
        return frame

    async def say(self, group: str, text: str) -> Frame:
        return await self.ask("SendMessage", to=group, said={"kind": "text", "text": text, "secret": ""})


@asynccontextmanager
async def device(whatsapp: WhatsAppServer) -> AsyncIterator[Device]:
    reader, writer = await asyncio.open_connection("127.0.0.1", whatsapp.port)
    try:
        yield Device(reader, writer)
    finally:
        writer.close()


async def groups(control: httpx.AsyncClient) -> dict[str, str]:
    told: dict[str, str] = (await tell(control, "/world", "PUT", **WORLD))["whatsapp"]["groups"]
    return told


class TestWorld:
    async def test_equal_input_gives_an_equal_world(self, control: httpx.AsyncClient) -> None:
        """Its answer names the addresses; a group of the old style has one that is no number."""
        first = await groups(control)
        assert set(first) == {"Shops 1", "Shops 2", "Shops 3", "News", "Old"}
        assert all(address.endswith("@g.us") for address in first.values())
        assert "-" in first["Old"]
        assert await groups(control) == first

    async def test_somebody_else_writes(self, control: httpx.AsyncClient) -> None:
        """Posts, edits and deletions are the truth at once, by name and by address."""
        ids = (await tell(control, "/whatsapp/post", channel="Shops 1", text="hello", count=2))["ids"]
        await tell(control, "/whatsapp/edit", channel="Shops 1", id=ids[0], text="changed")
        await tell(control, "/whatsapp/delete", channel="Shops 1", ids=[ids[1]])
        truth = await tell(control, "/truth/whatsapp/Shops 1", "GET")
        assert [(message["id"], message["text"]) for message in truth] == [(ids[0], "changed")]

    @pytest.mark.parametrize(
        ("path", "body", "why"),
        [
            ("/whatsapp/post", {"channel": "Nowhere"}, "no group Nowhere"),
            ("/whatsapp/receipt", {"channel": "Shops 1"}, "has sent anything"),
            ("/whatsapp/pair", {"code": "ABCD-1234"}, "No device waits"),
            ("/whatsapp/change", {"acount": "Shop"}, "acount"),
            ("/faults", {"platform": "whatsapp", "kind": "short_page"}, "knows no fault"),
        ],
    )
    async def test_what_cannot_be_is_a_sentence(
        self, control: httpx.AsyncClient, path: str, body: dict[str, str], why: str
    ) -> None:
        """bad-input-gets-a-sentence: status 422, and nothing changed."""
        answer = await control.post(path, json=body)
        assert answer.status_code == 422
        assert why in answer.json()["problem"]


class TestDevices:
    async def test_a_phone_links_one_by_the_code_it_shows(
        self, control: httpx.AsyncClient, whatsapp: WhatsAppServer
    ) -> None:
        """By QR and by typed code; the device is told its address, and is let in with it from then on."""
        async with device(whatsapp) as first, device(whatsapp) as second:
            qr = (await first.ask("pair")).head["ok"]["qr"]
            await second.ask("pair")
            code = (await second.ask("PairPhone", phone="+6281200000002")).head["ok"]["code"]
            assert await tell(control, "/whatsapp/pair", qr=qr, phone="Shop") == {"device": f"{PHONE}:1@s.whatsapp.net"}
            assert (await first.hear()).head == {"event": "paired", "device": f"{PHONE}:1@s.whatsapp.net"}
            assert (await tell(control, "/whatsapp/pair", code=code))["device"] == "6281200000002:1@s.whatsapp.net"
        async with device(whatsapp) as again:
            assert "ok" in (await again.ask("connect", device=f"{PHONE}:1@s.whatsapp.net")).head

    async def test_what_it_sends_is_on_record(self, control: httpx.AsyncClient, whatsapp: WhatsAppServer) -> None:
        """Sends, calls and sessions of all platforms come in one list; a late receipt finds its sender."""
        address = (await groups(control))["Shops 1"]
        linked = whatsapp.world.link(whatsapp.world.phone("Shop"))
        async with device(whatsapp) as phone:
            await phone.ask("connect", device=linked)
            sent = (await phone.say(address, "hello")).head["ok"]
            (row,) = await tell(control, "/sends", "GET")
            assert (row["platform"], row["account"], row["message"]) == ("whatsapp", PHONE, sent["id"])
            assert await tell(control, "/calls?by=method", "GET") == {"connect": 1, "SendMessage": 1}
            assert await tell(control, "/whatsapp/receipt", channel=address) == {"id": sent["id"], "heard": 1}
            heard = (await phone.hear()).head
            assert (heard["event"], heard["ids"], heard["chat"]) == ("receipt", [sent["id"]], address)

    async def test_who_may_write_where(self, control: httpx.AsyncClient, whatsapp: WhatsAppServer) -> None:
        """Neither where only admins post, nor where the phone is not a member, nor with a file never uploaded."""
        named = await groups(control)
        linked = whatsapp.world.link(whatsapp.world.phone("Shop"))
        async with device(whatsapp) as phone:
            await phone.ask("connect", device=linked)
            for group in ("News", "Old"):
                assert (await phone.say(named[group], "hello")).head["error"] == "server returned error 403"
            said = {"kind": "picture", "text": "", "secret": "", "file": "00"}
            lost = await phone.ask("SendMessage", to=named["Shops 1"], said=said)
            assert lost.head["error"] == "server returned error 404"
            await tell(control, "/whatsapp/change", channel="News", admins=[PHONE])
            assert "ok" in (await phone.say(named["News"], "hello")).head

    async def test_a_second_connection_takes_the_place_of_the_first(
        self, control: httpx.AsyncClient, whatsapp: WhatsAppServer
    ) -> None:
        """As on WhatsApp: the first is told, and hung up on."""
        linked = whatsapp.world.link(whatsapp.world.phone("Shop"))
        async with device(whatsapp) as first, device(whatsapp) as second:
            await first.ask("connect", device=linked)
            await second.ask("connect", device=linked)
            assert (await first.hear()).head == {"event": "replaced"}

    async def test_an_account_is_stopped_from_outside(
        self, control: httpx.AsyncClient, whatsapp: WhatsAppServer
    ) -> None:
        """Banned, it is not let in until the ban is lifted; signed out, never again."""
        linked = whatsapp.world.link(whatsapp.world.phone("Shop"))
        async with device(whatsapp) as phone:
            await phone.ask("connect", device=linked)
            await tell(control, "/whatsapp/change", account="Shop", banned_s=600)
            assert (await phone.hear()).head["event"] == "banned"
        async with device(whatsapp) as phone:
            assert await first_word(phone, linked) == "banned"
        await tell(control, "/whatsapp/change", account="Shop", banned_s=0)
        await tell(control, "/whatsapp/change", account="Shop", signed_out=True)
        async with device(whatsapp) as phone:
            assert await first_word(phone, linked) == "logged_out"


async def first_word(phone: Device, linked: str) -> str:
    """What a device is told in place of being let in."""
    with pytest.raises(AssertionError):
        await phone.ask("connect", device=linked)
    return str(phone.told[0]["event"])
