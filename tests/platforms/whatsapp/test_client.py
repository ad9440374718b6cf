"""The verbs of a WhatsApp account, made by neonize in a real child on the loopback platform."""

from __future__ import annotations

import asyncio
import sys
from hashlib import sha256

import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.whatsapp.conftest import Opens
from tests.platforms.whatsapp.people import PHONE, NoSessions, account
from tests.platforms.whatsapp.sent_messages import KEY, say, until_back
from tests.waiting import PATIENCE
from tidegate.core.clock import SystemClock
from tidegate.core.errors import AskedToWait, ChannelGone, Halted, NotOurs, OutcomeUnknown, PlatformError, Refused
from tidegate.core.ids import ChannelId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.loopback.whatsapp.world import Group
from tidegate.platforms.interface import UnknownChannel
from tidegate.platforms.interface.uploads import OWN_CHAT, Media, MediaKind
from tidegate.platforms.whatsapp.client import WhatsAppAccount
from tidegate.platforms.whatsapp.connector import whatsapp_opener
from tidegate.platforms.whatsapp.group_ids import number_of


def media(kind: MediaKind, content: bytes, name: str) -> Media:
    mime = {MediaKind.PICTURE: "image/png", MediaKind.VIDEO: "video/mp4", MediaKind.DOCUMENT: "application/pdf"}[kind]
    return Media(sha256(content).digest(), name, mime, len(content), kind)


class TestGroups:
    async def test_they_are_listed_in_one_call(self, world: World, shops: Group, opens: Opens) -> None:
        """D-40: with their names and whether the account may write there; groups of the old style too."""
        old = world.add_group("Suppliers", old_style=True)
        news = world.add_group("News", announce=True)
        ours = world.add_group("Ours", announce=True, admins=(PHONE,))
        world.add_group("Left").members.clear()
        client = await opens()
        before = world.record.by_method()["GetJoinedGroups"]
        page = await client.channels(None)
        told = {head.channel.title: head.channel.may_post for head in page.heads.values() if head.channel}
        assert told == {"Shops": True, "Suppliers": True, "News": False, "Ours": True}
        assert page.next is None
        assert world.record.by_method()["GetJoinedGroups"] == before + 1
        assert {number_of(group.id) for group in (shops, old, news, ours)} == set(page.heads)
        await say(client, old)
        assert [message.text for message in old.messages] == ["hello"]

    async def test_no_group_is_asked_for_by_itself(
        self, world: World, shops: Group, client: WhatsAppAccount, noted: list[str]
    ) -> None:
        """The library is told of all groups when it connects; else it would ask for each, which WhatsApp throttles.

        What it took to connect is counted apart, and both counts agree.
        """
        await say(client, shops)
        assert world.record.by_method() == {"connect": 1, "GetJoinedGroups": 1, "SendMessage": 1}
        assert noted == ["connect", "GetJoinedGroups"]

    async def test_a_group_it_was_never_told_of(self, client: WhatsAppAccount) -> None:
        """Its number leads nowhere, so nothing is asked."""
        with pytest.raises(UnknownChannel):
            await client.send(number_of("62812-1500000000"), "hello", key=KEY)


class TestSends:
    async def test_the_own_chat(self, world: World, shops: Group, client: WhatsAppAccount) -> None:
        """What is sent to oneself is in no group, and costs no question about one."""
        before = world.record.by_method()
        await client.send(OWN_CHAT, "only for me", key=KEY)
        assert [one.target for one in world.record.sends] == [PHONE]
        assert shops.messages == []
        assert world.record.by_method() - before == {"SendMessage": 1}

    async def test_a_text(self, shops: Group, client: WhatsAppAccount) -> None:
        """It arrives as written, and its receipt has the name that later receipts call it by."""
        receipt = await say(client, shops, "Selamat pagi 👋 @6281234")
        (message,) = shops.messages
        assert (message.kind, message.text, message.id) == ("text", "Selamat pagi 👋 @6281234", receipt.name)
        assert receipt.at is not None
        assert abs((receipt.at - message.at).total_seconds()) < 1

    @pytest.mark.parametrize("kind", list(MediaKind))
    async def test_a_file_is_uploaded_once_and_sent_often(
        self, world: World, shops: Group, client: WhatsAppAccount, kind: MediaKind
    ) -> None:
        """D-27: the same reference serves every group, each with a caption of its own."""
        content = bytes(range(256)) * 2048
        file = media(kind, content, "poster.bin")
        ref = await client.upload(file, content)
        for number in range(3):
            await client.post(number_of(shops.id), file, ref, caption=f"for group {number}", key=KEY)
        assert [message.text for message in shops.messages] == ["for group 0", "for group 1", "for group 2"]
        assert {(message.kind, message.file) for message in shops.messages} == {
            (kind.value, sha256(content).hexdigest())
        }
        assert [(upload.bytes, upload.sha256) for upload in world.record.uploads] == [
            (len(content), sha256(content).hexdigest())
        ]

    async def test_nothing_leaves_once_the_account_is_not_ours(self, shops: Group, client: WhatsAppAccount) -> None:
        """one-owner-per-account: the last look is taken in this process, right before the child is asked."""

        def lost() -> None:
            raise NotOurs("lost")

        client.pre_send_check = lost
        with pytest.raises(NotOurs):
            await say(client, shops)
        assert shops.messages == []


class TestRefusals:
    async def test_each_is_what_it_says(self, world: World, shops: Group, client: WhatsAppAccount) -> None:
        """By way of neonize's own errors: wait, refused, not understood (D-26); none of them arrived."""
        for kind, code, meant in (
            (FaultKind.WAIT, "", AskedToWait),
            (FaultKind.ERROR, "479", Refused),
            (FaultKind.ERROR, "something new under the sun", OutcomeUnknown),
            (FaultKind.ERROR, "463", Halted),
        ):
            world.faults.add(Fault(kind, "SendMessage", code=code))
            with pytest.raises(meant):
                await say(client, shops)
        world.faults.add(Fault(FaultKind.WAIT, "GetJoinedGroups"))
        with pytest.raises(AskedToWait):
            await client.channels(None)
        assert shops.messages == []
        await say(client, shops)

    async def test_a_group_that_threw_us_out(self, world: World, shops: Group, client: WhatsAppAccount) -> None:
        """D-39: that group is gone, the others are not."""
        other = world.add_group("Other")
        await client.channels(None)
        shops.members.clear()
        with pytest.raises(ChannelGone):
            await say(client, shops)
        await say(client, other)

    async def test_an_answer_that_never_comes(self, world: World, shops: Group, client: WhatsAppAccount) -> None:
        """It may have arrived, and here it has."""
        world.faults.add(Fault(FaultKind.TIMEOUT, "SendMessage", seconds=0.1, code="accepted"))
        with pytest.raises(OutcomeUnknown):
            await say(client, shops)
        assert len(shops.messages) == 1

    @pytest.mark.parametrize(("kind", "arrived"), [(FaultKind.DISCONNECT, 0), (FaultKind.DROP_AFTER_ACCEPT, 1)])
    async def test_a_connection_that_breaks(
        self, world: World, shops: Group, client: WhatsAppAccount, kind: FaultKind, arrived: int
    ) -> None:
        """D-20: nobody can tell the two apart, so both are unknown; the library reconnects by itself."""
        world.faults.add(Fault(kind, "SendMessage"))
        with pytest.raises(OutcomeUnknown):
            await say(client, shops)
        assert len(shops.messages) == arrived
        await until_back(client, shops)
        assert len(shops.messages) == arrived + 1


class TestReceipts:
    async def test_a_message_arrives_once(
        self, whatsapp: WhatsAppServer, shops: Group, client: WhatsAppAccount
    ) -> None:
        """D-22: the platform's late word, once, however many people have it; a request to resend is no arrival."""
        first, second = await say(client, shops, "one"), await say(client, shops, "two")
        whatsapp.receipt(shops, shops.messages[0], "retry")
        for kind in ("delivered", "read", "played"):
            whatsapp.receipt(shops, shops.messages[0], kind)
        whatsapp.receipt(shops, shops.messages[1], "read")
        async with asyncio.timeout(PATIENCE):
            arrived = [await client.next_arrival(), await client.next_arrival()]
        assert [one.message for one in arrived] == [first.name, second.name]
        assert {one.channel for one in arrived} == {ChannelId(number_of(shops.id))}


async def test_a_missing_library_is_a_sentence(drawer: Drawer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tidegate installs without WhatsApp's library; whoever adds an account is told the command that installs it."""
    monkeypatch.setitem(sys.modules, "neonize", None)  # what Python does where it is not installed
    connect = whatsapp_opener(SystemClock(), NoSessions())
    with pytest.raises(PlatformError, match=r'pip install "tidegate\[whatsapp\]"'):
        await connect(account(), drawer, lambda _: None)
