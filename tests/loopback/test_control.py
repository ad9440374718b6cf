"""The control address: what demo, tests and reviewers ask of the loopback process and do to its world."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from telethon import TelegramClient, errors
from telethon.crypto import rsa
from telethon.sessions import MemorySession
from telethon.tl import functions

from tests.loopback.clients import gate, make_client, peer, sign_in
from tests.loopback.conftest import PHONE
from tests.loopback.loopback_program import loopback_process
from tests.web.web_client import PLAIN
from tidegate.loopback.telegram import TelegramServer

FORUM = {"title": "Models", "kind": "forum", "topics": [{"title": "Dragons"}]}


@pytest.fixture
async def control(asking: httpx.AsyncClient) -> httpx.AsyncClient:
    """The control address of the test's own platforms, with one forum in their world."""
    world = {"seed": 1, "telegram": {"accounts": [{"phone": PHONE}], "channels": [FORUM]}}
    assert (await asking.put("/world", json=world)).status_code == 200
    return asking


async def ask(control: httpx.AsyncClient, verb: str, path: str, **body: Any) -> Any:
    answer = await control.request(verb, path, json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def truth(control: httpx.AsyncClient, channel: str = "Models") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await ask(control, "GET", f"/truth/telegram/{channel}")
    return found


class TestWorld:
    async def test_somebody_else_writes(self, control: httpx.AsyncClient) -> None:
        """Posts with texts and files, edits and deletions are the truth at once."""
        content = b"exact bytes"
        texts = await ask(control, "POST", "/telegram/post", channel="Models", count=2, text="hi")
        files = await ask(
            control,
            "POST",
            "/telegram/post",
            channel="Models",
            topic="Dragons",
            text="set",
            files=[{"name": "a.zip", "base64": b64encode(content).decode()}, {"name": "b.zip", "size": 5000}],
        )
        assert (texts["ids"], files["ids"]) == ([3, 4], [5, 6])
        await ask(control, "POST", "/telegram/edit", channel="Models", id=3, text="edited")
        await ask(control, "POST", "/telegram/delete", channel="Models", ids=[4])
        held = {message["id"]: message for message in await truth(control)}
        assert sorted(held) == [1, 2, 3, 5, 6]
        assert (held[3]["text"], held[3]["topic"]) == ("edited", 1)
        assert (held[5]["topic"], held[5]["text"], held[6]["text"]) == (2, "set", "")
        assert held[5]["file"] | {"id": 0} == {
            "id": 0,
            "name": "a.zip",
            "size": 11,
            "kind": "document",
            "sha256": sha256(content).hexdigest(),
        }

    async def test_the_world_changes(self, control: httpx.AsyncClient, telegram: TelegramServer) -> None:
        """Everything docs/loopback.md lists under changes does what it says."""
        forum = telegram.world.channel("Models")

        async def change(**wanted: Any) -> Any:
            return await ask(control, "POST", "/telegram/change", **wanted)

        topic = (await change(channel="Models", new_topic="Knights"))["topic"]
        await change(channel="Models", topic=topic, topic_title="Sirs", topic_pinned=True, topic_closed=True)
        assert (forum.topics[topic].title, forum.topics[topic].pinned, forum.topics[topic].closed) == (
            "Sirs",
            True,
            True,
        )
        await change(channel="Models", topic="Sirs", topic_deleted=True)
        await change(channel="Models", forum=False, protected=True, pushes=False, archived=True, left=PHONE)
        assert (forum.topics[topic].deleted, forum.forum, forum.protected, forum.pushes) == (True, False, True, False)
        assert forum.members == set()
        await change(channel="Models", joined=PHONE, writers=[PHONE], oldest_pts="now", title="Minis")
        assert (len(forum.members), len(forum.writers), forum.oldest_pts, forum.title) == (1, 1, forum.pts, "Minis")
        await change(account=PHONE, premium=True, password="secret", limits={"parts": 3})
        [account] = telegram.world.accounts.values()
        assert (account.premium, account.password, telegram.world.limits.parts) == (True, "secret", 3)

    async def test_references_and_parts_can_be_forgotten(
        self, control: httpx.AsyncClient, telegram: TelegramServer
    ) -> None:
        """Time passes on the platform: references expire, and parts that were never sent are gone."""
        posted = await ask(
            control, "POST", "/telegram/post", channel="Models", album=True, files=[{"name": "a", "size": 9}] * 2
        )
        messages = [telegram.world.channel("Models").messages[number] for number in posted["ids"]]
        assert messages[0].album == messages[1].album != 0
        telegram.world.parts[1, 1] = {0: b"part"}
        await ask(control, "POST", "/telegram/change", expire_references=True, forget_uploads=True)
        assert [file.generation for file in telegram.world.files.values()] == [1, 1]
        assert telegram.world.parts == {}

    async def test_a_new_world_replaces_the_old(self, control: httpx.AsyncClient, telegram: TelegramServer) -> None:
        """Its answer names the channels' ids, and nothing of the old one is left."""
        answer = await ask(control, "PUT", "/world", seed=2, telegram={"channels": [{"title": "Other", "messages": 3}]})
        assert answer["channels"] == {"Other": telegram.world.channel("Other").id}
        assert len(await truth(control, "Other")) == 4
        assert (await control.get("/truth/telegram/Models")).status_code == 422

    @pytest.mark.parametrize(
        ("verb", "path", "body", "problem"),
        [
            ("POST", "/telegram/post", {"channel": "Nowhere"}, "no channel Nowhere"),
            ("POST", "/telegram/post", {"channel": "Models", "topic": 99}, "no topic 99"),
            ("POST", "/telegram/post", {"channel": "Models", "txt": "hi"}, "txt"),
            ("POST", "/telegram/delete", {"channel": "Models", "ids": [99]}, "no message 99"),
            ("POST", "/telegram/edit", {"channel": "Models", "id": 99, "text": ""}, "no message 99"),
            ("POST", "/telegram/change", {"account": "+99", "premium": True}, "no account"),
            ("POST", "/faults", {"platform": "telegram", "kind": "html_429"}, "knows no fault"),
            ("POST", "/faults", {"platform": "telegram", "kind": "weather"}, "kind"),
            ("PUT", "/world", {"telegram": {"channels": [{"title": "A", "topics": 2}]}}, "no forum"),
        ],
    )
    async def test_what_cannot_be_gets_a_sentence(
        self, control: httpx.AsyncClient, verb: str, path: str, body: dict[str, Any], problem: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong and where; the world is as it was."""
        before = await truth(control)
        answer = await control.request(verb, path, json=body)
        assert answer.status_code == 422
        assert problem in answer.json()["problem"]
        assert await truth(control) == before


class TestSeen:
    async def test_calls_sends_and_uploads_are_on_record(
        self, control: httpx.AsyncClient, telegram: TelegramServer
    ) -> None:
        """What a client did is what the control address tells, by method and one by one, until it is told to forget."""
        client = await sign_in(make_client(telegram), telegram, PHONE)
        forum = telegram.world.channel("Models")
        await gate(client, peer(telegram, forum))
        await client.send_file(peer(telegram, forum), b"some bytes", force_document=True)
        assert (await ask(control, "GET", "/calls?by=method"))["messages.getPeerDialogs"] == 1
        [first, *_] = await ask(control, "GET", "/calls")
        assert (first["platform"], first["method"]) == ("telegram", "help.getConfig")
        [sent] = await ask(control, "GET", "/sends")
        assert (sent["platform"], sent["account"], sent["target"]) == ("telegram", "1000001", forum.id)
        [upload] = await ask(control, "GET", "/uploads")
        assert (upload["bytes"], upload["sha256"]) == (10, sha256(b"some bytes").hexdigest())
        await ask(control, "DELETE", "/calls")
        assert await ask(control, "GET", "/calls") == []
        with pytest.raises(errors.InputMethodInvalidError):
            await client(functions.help.GetNearestDcRequest())
        assert await ask(control, "GET", "/unknown") == ["help.getNearestDc"]
        await client.disconnect()

    async def test_connections_are_on_record(self, control: httpx.AsyncClient, telegram: TelegramServer) -> None:
        """Who was connected when, and over which connection a call came: so that two owners at once would show."""
        first = await sign_in(make_client(telegram), telegram, PHONE)
        second = await sign_in(make_client(telegram), telegram, PHONE)
        seen = len(telegram.world.record.calls)
        await second(functions.updates.GetStateRequest())
        await first.disconnect()
        await second.disconnect()
        while telegram.world.record.sessions[1].closed_at is None:
            await asyncio.sleep(0)
        sessions = await ask(control, "GET", "/sessions")
        assert [(one["platform"], one["account"]) for one in sessions] == [("telegram", "1000001")] * 2
        assert sessions[1]["opened_at"] < sessions[0]["closed_at"] <= sessions[1]["closed_at"]
        assert (await ask(control, "GET", "/calls"))[seen]["session"] == 2

    async def test_signing_in_needs_only_what_is_told(
        self, control: httpx.AsyncClient, telegram: TelegramServer
    ) -> None:
        """Address, key and code: that is how the command line signs a loopback account in."""
        assert (await ask(control, "GET", "/"))["telegram"] == telegram.address
        assert (await ask(control, "GET", "/telegram/key"))["public_key"] == telegram.public_key_pem
        path = "/telegram/code?phone=%2B1000001"
        assert "No code is waiting" in (await control.get(path)).json()["problem"]
        client = make_client(telegram)
        await client.connect()
        await client.send_code_request(PHONE)
        assert await client.sign_in(PHONE, (await ask(control, "GET", path))["code"])
        await client.disconnect()

    async def test_faults_strike_and_are_called_off(self, control: httpx.AsyncClient, telegram: TelegramServer) -> None:
        """A fault can name method, channel and account; DELETE calls off those still waiting."""
        client = await sign_in(make_client(telegram), telegram, PHONE)
        await ask(
            control,
            "POST",
            "/faults",
            platform="telegram",
            method="messages.getPeerDialogs",
            kind="wait",
            seconds=60,
            channel="Models",
            account=PHONE,
            count=2,
        )
        with pytest.raises(errors.FloodWaitError):
            await gate(client, peer(telegram, telegram.world.channel("Models")))
        [waiting] = await ask(control, "GET", "/faults")
        assert (waiting["kind"], waiting["count"]) == ("wait", 1)
        await ask(control, "DELETE", "/faults")
        client._flood_waited_requests.clear()
        await gate(client, peer(telegram, telegram.world.channel("Models")))
        await client.disconnect()

    async def test_an_account_can_be_signed_out_from_outside(
        self, control: httpx.AsyncClient, telegram: TelegramServer
    ) -> None:
        """As when a person ends the session from their phone; and everybody can be hung up on."""
        client = await sign_in(make_client(telegram, auto_reconnect=False), telegram, PHONE)
        await ask(control, "POST", "/telegram/change", account=PHONE, signed_out=True)
        with pytest.raises(errors.UnauthorizedError):
            await client(functions.updates.GetStateRequest())
        await ask(control, "POST", "/telegram/change", disconnect=True)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.disconnected


class TestProcess:
    async def test_the_truth_survives_the_process(self, tmp_path: Path) -> None:
        """With --world and --state: a client that was signed in before the restart still is, on the same port."""
        world = tmp_path / "world.json"
        world.write_text(
            json.dumps({"telegram": {"accounts": [{"phone": PHONE}], "channels": [{"title": "Flat", "messages": 9}]}})
        )
        arguments = ("--world", str(world), "--state", str(tmp_path / "state.json"))
        session = MemorySession()
        async with loopback_process(*arguments) as where:
            client = await self._client(where, session)
            await client.send_code_request(PHONE)
            async with httpx.AsyncClient(base_url=where["control"], **PLAIN) as control:
                code = (await control.get("/telegram/code", params={"phone": PHONE})).json()["code"]
            await client.sign_in(PHONE, code)
            await client.disconnect()
        async with loopback_process(*arguments) as again:
            assert again["telegram"] == where["telegram"]
            client = await self._client(again, session)
            assert [dialog.title async for dialog in client.iter_dialogs()] == ["Flat"]
            await client.disconnect()
            async with httpx.AsyncClient(base_url=again["control"], **PLAIN) as control:
                assert len((await control.get("/truth/telegram/Flat")).json()) == 10
                assert (await control.get("/unknown")).json() == []

    async def _client(self, where: dict[str, str], session: MemorySession) -> TelegramClient:
        async with httpx.AsyncClient(base_url=where["control"], **PLAIN) as control:
            rsa.add_key((await control.get("/telegram/key")).json()["public_key"], old=False)
        TelegramClient._config = None
        host, _, port = where["telegram"].rpartition(":")
        session.set_dc(2, host, int(port))
        client = TelegramClient(session, 1, "loopback", request_retries=0, flood_sleep_threshold=0)
        await client.connect()
        return client
