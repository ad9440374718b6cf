"""The control address of the loopback Discord: what demo, tests and reviewers ask of it and do to its world."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import discord
import httpx
import pytest
import yarl

from tests.loopback.bots import Listener, connected, logged_in
from tests.loopback.control_requests import tell
from tests.loopback.loopback_program import loopback_process
from tests.web.web_client import PLAIN
from tidegate.loopback.discord import DiscordServer

WORLD = {
    "seed": 3,
    "discord": {
        "bots": [{"name": "Tidebot"}, {"name": "Other"}],
        "guilds": [
            {
                "name": "Harbour",
                "roles": [{"name": "reader", "permissions": ["VIEW_CHANNEL"]}],
                "channels": [
                    {"name": "general", "messages": 120, "threads": [{"name": "plans", "messages": 2}]},
                    {"name": "ideas", "kind": "forum", "threads": 1},
                ],
            }
        ],
    },
}


@pytest.fixture
async def control(asking: httpx.AsyncClient) -> httpx.AsyncClient:
    """The control address of the test's own platforms, with the world above."""
    assert (await asking.put("/world", json=WORLD)).status_code == 200
    return asking


async def truth(control: httpx.AsyncClient, channel: str = "general") -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = await tell(control, f"/truth/discord/{channel}", "GET")
    return told


class TestChanges:
    async def test_a_new_world_replaces_the_old(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """Its answer names the ids; equal input gives an equal world."""
        first = await tell(control, "/world", "PUT", **WORLD)
        told = first["discord"]
        assert set(told["channels"]) == {"general", "plans", "ideas", "ideas thread 1"}
        assert (set(told["bots"]), set(told["guilds"])) == ({"Tidebot", "Other"}, {"Harbour"})
        before = await truth(control)
        assert await tell(control, "/world", "PUT", **WORLD) == first
        assert await truth(control) == before
        assert len(before) == 120
        some = await truth(control, f"general?after={before[9]['id']}&limit=3")
        assert some == before[10:13]

    async def test_others_post_edit_and_delete(self, control: httpx.AsyncClient) -> None:
        """What the truth then holds, by the ids that were answered."""
        file = {"name": "a.txt", "base64": "Ynl0ZXM="}
        [one] = (await tell(control, "/discord/post", channel="general", text="hello", author="Zoe", files=[file]))[
            "ids"
        ]
        joins = await tell(control, "/discord/post", channel="general", count=3, kind=7)
        [reply] = (await tell(control, "/discord/post", channel="general", text="yes", reply_to=one))["ids"]
        [inside] = (await tell(control, "/discord/post", channel="general", topic="plans", text="deeper"))["ids"]
        await tell(control, "/discord/edit", channel="general", id=one, text="changed")
        await tell(control, "/discord/delete", channel="general", ids=joins["ids"][:1])
        held = {message["id"]: message for message in (await truth(control))[120:]}
        assert list(held) == [one, *joins["ids"][1:], reply]
        assert (held[one]["text"], held[one]["author_name"]) == ("changed", "Zoe")
        assert held[one]["edited_at"]
        assert held[one]["files"][0]["sha256"] == sha256(b"bytes").hexdigest()
        assert [held[number]["kind"] for number in joins["ids"][1:]] == [7, 7]
        assert held[reply]["reply_to"] == one
        assert [message["text"] for message in await truth(control, "plans")][-1:] == ["deeper"]
        assert (await truth(control, "plans"))[-1]["id"] == inside

    async def test_every_change_reaches_a_connected_client(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """Channels, threads, reactions, permissions, roles, guilds: each as the event Discord has for it."""

        async def change(**what: Any) -> Any:
            return await tell(control, "/discord/change", **what)

        head = discord_server.world.channel("general").head
        async with connected(discord_server) as client:
            made = await change(guild="Harbour", new_channel={"name": "news", "kind": "news"})
            await change(channel=made["channel"], name="renamed", topic="what is new")
            thread = (await change(channel="general", new_thread={"name": "talk", "message": head}))["thread"]
            assert thread == head
            await change(channel="general", message=head, user="Zoe", reaction_added="🌊")
            await change(channel="general", message=head, user="Zoe", reaction_removed="🌊")
            await change(channel="general", message=head, reactions_cleared=True)
            await change(channel="talk", archived=True, locked=True)
            await change(channel="talk", deleted=True)
            await change(channel="renamed", deleted=True)
            await change(guild="Harbour", guild_name="Port", premium_tier=2)
            await change(guild="Port", role="reader", permissions=["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"])
            await change(guild="Port", bot="Tidebot", bot_roles=["reader"])
            await change(guild="Port", unavailable=True)
            await change(guild="Port", unavailable=False)
            await change(guild="Port", bot="Tidebot", in_guild=False)
            await change(guild="Port", bot="Tidebot", in_guild=True)
            await client.until("guild_join")
            heard = [name for name, _ in client.heard]
            [port] = client.guilds
            assert (port.name, port.premium_tier) == ("Port", 2)
        expected = [
            "guild_channel_create", "guild_channel_update", "thread_create", "raw_message_edit", "message",
            "raw_reaction_add", "raw_reaction_remove", "raw_reaction_clear", "raw_thread_update", "raw_thread_delete",
            "guild_channel_delete", "guild_update", "guild_role_update", "guild_unavailable", "guild_available",
            "guild_remove", "guild_join",
        ]  # fmt: skip
        last = heard.index("ready")
        for name in expected:
            assert name in heard[last:], name
            last = heard.index(name, last)

    async def test_a_channel_that_may_be_seen_again_brings_its_threads(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """THREAD_LIST_SYNC, and until then the channel is silent."""
        general = discord_server.world.channel("general")
        hidden = {"channel": "general", "overwrites": [{"deny": ["VIEW_CHANNEL"]}]}
        await tell(control, "/discord/change", **hidden)
        async with connected(discord_server) as client:
            assert client.get_channel(discord_server.world.channel("plans").id) is None
            await tell(control, "/discord/post", channel="general", text="unheard")
            await tell(control, "/discord/change", channel="general", overwrites=[])
            await client.until("thread_join")
            await tell(control, "/discord/post", channel="general", text="heard")
            [message] = await client.until("message")
            assert message.content == "heard"
            assert [thread.name for thread in client.get_channel(general.id).threads] == ["plans"]

    async def test_connections_sessions_and_tokens_end_when_told(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """A resume after a hang-up, a new session after an invalid one, and the end when the token is made anew."""
        async with connected(discord_server) as client:
            await tell(control, "/discord/change", disconnect=True)
            await client.until("resumed")
            await tell(control, "/discord/change", reconnect=True)
            await client.until("resumed", 2)
            await tell(control, "/discord/change", invalidate_sessions=True)
            await client.until("ready", 2)
            before = await tell(control, "/discord/token", "GET")
            await tell(control, "/discord/change", bot="Tidebot", signed_out=True)
            await client.until_so(client.is_closed)
        after = await tell(control, "/discord/token", "GET")
        assert (before["bot"], before["token"] != after["token"]) == ("Tidebot", True)
        assert (await tell(control, "/discord/token?bot=Other", "GET"))["bot"] == "Other"
        assert len(await tell(control, "/sessions", "GET")) == 4

    async def test_intents_are_switched_off_and_limits_set(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """As a person does in the developer portal; other limits apply from the next call on."""
        await tell(control, "/discord/change", bot="Tidebot", intents=[], limits={"scale": 0.5, "nonce_s": 9})
        async with logged_in(discord_server) as client:
            assert not client.application.flags.gateway_message_content
        assert (discord_server.world.limits.scale, discord_server.world.limits.nonce_s) == (0.5, 9)

    @pytest.mark.parametrize(
        ("verb", "path", "body", "problem"),
        [
            ("POST", "/discord/post", {"channel": "nowhere"}, "no channel nowhere"),
            ("POST", "/discord/post", {"channel": "ideas"}, "holds no messages"),
            ("POST", "/discord/post", {"channel": "general", "topic": "none"}, "no thread none"),
            ("POST", "/discord/post", {"channel": "general", "txt": "hi"}, "txt"),
            ("POST", "/discord/edit", {"channel": "general", "id": 9, "text": "a"}, "no message 9"),
            ("POST", "/discord/delete", {"channel": "general", "ids": [9]}, "no message 9"),
            ("POST", "/discord/change", {"guild": "none", "guild_name": "a"}, "no guild none"),
            ("POST", "/discord/change", {"bot": "none", "signed_out": True}, "no bot none"),
            ("POST", "/discord/change", {"channel": "plans", "new_thread": {"name": "a"}}, "No such thread"),
            ("POST", "/faults", {"platform": "discord", "kind": "search_lag"}, "knows no fault"),
            ("POST", "/faults", {"platform": "discord", "kind": "wait", "account": "none"}, "no bot none"),
            ("POST", "/faults", {"platform": "smoke", "kind": "wait"}, "platform"),
            ("PUT", "/world", {"discord": {"bots": [{"name": "a"}, {"name": "a"}]}}, "Two bots"),
            ("PUT", "/world", {"discord": {"guilds": [{"name": "a", "channels": [], "messages": 2}]}}, "are listed"),
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
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """What a client did is what the control address tells, by method and one by one, until it is told to forget."""
        general = discord_server.world.channel("general")
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            assert len([message async for message in channel.history(limit=None)]) == 120
            sent = await channel.send("hi", file=discord.File(__file__, "a.py"), nonce="k1")
        by_method = await tell(control, "/calls?by=method", "GET")
        assert by_method["GET /channels/{channel.id}/messages"] == 2
        calls = await tell(control, "/calls", "GET")
        page = next(call for call in calls if call["method"].endswith("/messages"))
        assert (page["platform"], page["account"], page["channel"], page["query"], page["status"]) == (
            ("discord", "Tidebot", general.id, "limit=100", 200)
        )
        [accepted] = await tell(control, "/sends", "GET")
        assert (accepted["account"], accepted["target"], accepted["key"]) == ("Tidebot", general.id, "k1")
        assert (accepted["message"], accepted["part"]) == (sent.id, "a.py")
        [upload] = await tell(control, "/uploads", "GET")
        assert upload["sha256"] == sha256(Path(__file__).read_bytes()).hexdigest()
        await tell(control, "/calls", "DELETE")
        assert await tell(control, "/calls", "GET") == []

    async def test_an_unknown_path_is_discords_own_404_and_listed(
        self, control: httpx.AsyncClient, discord_server: DiscordServer
    ) -> None:
        """A test fails when that list is not empty."""
        async with aiohttp.ClientSession() as session:
            for path in ("/api/v10/stickers/1", "/api/v6/users/@me"):
                async with session.get(discord_server.address + path) as answer:
                    assert (answer.status, await answer.json()) == (404, {"message": "404: Not Found", "code": 0})
        listed = await tell(control, "/unknown", "GET")
        assert listed == ["GET /stickers/1", "GET /api/v6/users/@me"]
        discord_server.world.record.unknown.clear()

    async def test_faults_of_both_platforms_wait_side_by_side(self, control: httpx.AsyncClient) -> None:
        """Each is listed with its platform; DELETE calls all off."""
        await tell(control, "/faults", platform="discord", kind="wait", seconds=2, account="Tidebot", channel="general")
        told = await tell(control, "/faults", platform="telegram", kind="wait", seconds=2)
        assert told == {"waiting": 2}
        assert {one["platform"] for one in await tell(control, "/faults", "GET")} == {"telegram", "discord"}
        await tell(control, "/faults", "DELETE")
        assert await tell(control, "/faults", "GET") == []


class TestProcess:
    async def test_the_truth_survives_the_process(self, tmp_path: Path) -> None:
        """With --world and --state: token, address, messages and what was sent are there again after a restart."""
        world = tmp_path / "world.json"
        world.write_text(json.dumps(WORLD))
        arguments = ("--world", str(world), "--state", str(tmp_path / "state.json"))
        async with loopback_process(*arguments) as where:
            async with httpx.AsyncClient(base_url=where["control"], **PLAIN) as control:
                token = (await tell(control, "/discord/token", "GET"))["token"]
                [posted] = (await tell(control, "/discord/post", channel="general", text="kept"))["ids"]
            assert await self._newest(where["discord"], token) == (posted, "kept")
        async with loopback_process(*arguments) as again:
            assert again["discord"] == where["discord"]
            assert await self._newest(again["discord"], token) == (posted, "kept")
            async with httpx.AsyncClient(base_url=again["control"], **PLAIN) as control:
                assert len(await truth(control)) == 121
                assert (await control.get("/unknown")).json() == []

    async def _newest(self, address: str, token: str) -> tuple[int, str]:
        before = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
        discord.http.Route.BASE = f"{address}/api/v10"
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(address.replace("http", "ws"))
        try:
            async with Listener() as client:
                await client.login(token)
                [guild] = [guild async for guild in client.fetch_guilds()]
                channels = await client.http.get_all_guild_channels(guild.id)
                number = next(row["id"] for row in channels if row["name"] == "general")
                [row] = await client.http.logs_from(int(number), 1)
                return int(row["id"]), row["content"]
        finally:
            discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = before
