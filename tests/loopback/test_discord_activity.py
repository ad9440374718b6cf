"""Reactions, votes, pins and people: what happens to messages and their authors later, and which events tell of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import discord
import httpx
import pytest

from tests.loopback.bots import Listener, ask, connected, everything_but_members, first_bot, logged_in
from tests.loopback.control_requests import tell
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel

RAW_EVENTS = ("raw_reaction_add", "raw_reaction_remove", "raw_reaction_clear_emoji", "raw_reaction_clear")


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    return discord_server.world.channel("general")


async def posted(control: httpx.AsyncClient, **more: Any) -> int:
    [number] = (await tell(control, "/discord/post", channel="general", **more))["ids"]
    assert isinstance(number, int)
    return number


async def truth(control: httpx.AsyncClient, number: int) -> dict[str, Any]:
    rows = await tell(control, "/truth/discord/general", "GET")
    found: dict[str, Any] = next(row for row in rows if row["id"] == number)
    return found


def allow(channel: Channel, *granted: Permission) -> None:
    """Give permissions to everyone."""
    none = Permission(0)
    channel.overwrites = [Overwrite(channel.guild, member=False, allow=sum(granted, none), deny=none)]


def told(client: Listener, *events: str) -> list[str]:
    return [name for name, _ in client.heard if name in events]


class TestReactions:
    async def test_each_reaction_is_an_event_and_the_count_is_the_truth(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """A count, a change, one person, a super reaction; then one emoji is removed, and then all. No edit is told."""
        number = await posted(asking, text="react to me")
        there = {"channel": "general", "message": number}
        async with connected(discord_server) as client:
            await tell(asking, "/discord/react", **there, emoji="👍", count=3)
            await tell(asking, "/discord/react", **there, emoji="👍", change=-1)
            await tell(asking, "/discord/react", **there, emoji="👍", user="Zoe")
            await tell(asking, "/discord/react", **there, emoji="buoy:123456789012345678", change=9)
            await tell(asking, "/discord/react", **there, emoji="🌊", burst=True)
            counts = (await truth(asking, number))["reactions"]
            assert counts == {"👍": 3, "buoy:123456789012345678": 9, "🌊": 1}
            channel = client.get_channel(general.id)
            read = await channel.fetch_message(number)
            assert [(str(one.emoji), one.count, one.burst_count) for one in read.reactions] == [
                ("👍", 3, 0),
                ("<:buoy:123456789012345678>", 9, 0),
                ("🌊", 1, 1),
            ]
            await tell(asking, "/discord/unreact", **there, emoji="👍")
            await tell(asking, "/discord/unreact", **there)
            await client.until("raw_reaction_clear")
            heard = [client.all(name) for name in RAW_EVENTS]
            assert [len(one) for one in heard] == [3 + 1 + 9 + 1, 1, 1, 1]
            assert (heard[0][-1].burst, heard[0][-1].type) == (True, discord.ReactionType.burst)
            assert client.all("raw_message_edit") == []
        assert (await truth(asking, number))["reactions"] == {}

    async def test_who_reacted_is_told_in_pages(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """A hundred a page, by id; super reactions are asked for by their own type."""
        number = await posted(asking, text="popular")
        await tell(asking, "/discord/react", channel="general", message=number, emoji="👍", count=130)
        await tell(asking, "/discord/react", channel="general", message=number, emoji="👍", burst=True, count=2)
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            [reaction] = (await channel.fetch_message(number)).reactions
            assert (reaction.count, reaction.normal_count, reaction.burst_count) == (132, 130, 2)
            normal = [user.id async for user in reaction.users(type=discord.ReactionType.normal)]
            burst = [user.id async for user in reaction.users(type=discord.ReactionType.burst)]
        assert (len(set(normal)), len(burst)) == (130, 2)
        status, problem, _ = await ask(
            discord_server, "GET", f"/channels/{general.id}/messages/{number}/reactions/%F0%9F%A6%80"
        )
        assert (status, problem["code"]) == (400, 10014)

    async def test_a_bot_removes_reactions_of_others(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """Of one person, one emoji or all, with the right to manage messages, and not without it."""
        number = await posted(asking, kind="reactions")
        async with logged_in(discord_server) as client:
            message = await (await client.fetch_channel(general.id)).fetch_message(number)
            with pytest.raises(discord.Forbidden):
                await message.clear_reactions()
            allow(general, Permission.MANAGE_MESSAGES)
            someone = next(iter(discord_server.world.people))
            await message.remove_reaction("👍", discord.Object(someone))
            assert (await truth(asking, number))["reactions"]["👍"] == 2
            await message.clear_reaction(message.reactions[2].emoji)
            assert list((await truth(asking, number))["reactions"]) == ["👍", "🌊"]
            await message.clear_reactions()
        assert (await truth(asking, number))["reactions"] == {}


class TestPolls:
    async def test_votes_are_events_without_totals(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """In a poll with one choice a person moves their vote, in two events; the totals come with the message."""
        number = await posted(asking, kind="poll")
        there = {"channel": "general", "message": number}
        async with connected(discord_server) as client:
            await tell(asking, "/discord/vote", **there, answer=3, change=4)
            await tell(asking, "/discord/vote", **there, answer=1, change=-1)
            await tell(asking, "/discord/vote", **there, answer=2, user="Zoe")
            await tell(asking, "/discord/vote", **there, answer=1, user="Zoe")
            await client.until("raw_poll_vote_add", 6)
            assert len(client.all("raw_poll_vote_remove")) == 2
            read = await client.get_channel(general.id).fetch_message(number)
            assert [answer.vote_count for answer in read.poll.answers] == [3, 2, 4]
            voters = [user async for user in read.poll.answers[2].voters()]
            assert len(voters) == 4
            assert client.all("raw_message_edit") == []
        assert (await truth(asking, number))["poll"] == {"votes": {"1": 3, "2": 2, "3": 4}, "finalized": False}

    async def test_several_choices_count_each(self, asking: httpx.AsyncClient, discord_server: DiscordServer) -> None:
        """One person may vote for all answers; results that the platform does not tell are not zero."""
        number = await posted(asking, kind="poll_multiple")
        for answer in (1, 2, 3):
            await tell(asking, "/discord/vote", channel="general", message=number, answer=answer, user="Zoe")
        assert (await truth(asking, number))["poll"]["votes"] == {"1": 6, "2": 5, "3": 3}
        silent = await posted(asking, kind="poll_without_results")
        row = await truth(asking, silent)
        assert (row["poll"], "results" in row["raw"]["poll"]) == (None, False)

    async def test_a_poll_ends_with_a_message_about_its_result(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """The poll is final, its author's message of type 46 names the winner, and nobody can vote any more."""
        number = await posted(asking, kind="poll")
        async with connected(discord_server) as client:
            [result] = (await tell(asking, "/discord/end-poll", channel="general", message=number))["ids"]
            [message] = await client.until("message")
            assert (message.id, message.type) == (result, discord.MessageType.poll_result)
            assert message.reference.message_id == number
            fields = {field.name: field.value for field in message.embeds[0].fields}
            assert (fields["victor_answer_id"], fields["victor_answer_votes"], fields["total_votes"]) == ("1", "3", "5")
            [edit] = await client.until("raw_message_edit")
            assert edit.data["poll"]["results"]["is_finalized"]
            assert edit.data["edited_timestamp"] is None
            assert (await client.get_channel(general.id).fetch_message(number)).poll.is_finalised()
        for path, more in (("vote", {"answer": 1}), ("end-poll", {})):
            body = {"channel": "general", "message": number, **more}
            refused = await asking.post(f"/discord/{path}", json=body)
            assert (refused.status_code, refused.json()["problem"]) == (422, "The poll has ended.")

    async def test_a_bot_makes_and_ends_its_own_poll(self, discord_server: DiscordServer, general: Channel) -> None:
        """Hours become a time to end at, answers get numbers; a poll of somebody else it cannot end."""
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            poll = discord.Poll("High tide?", timedelta(hours=2), multiple=True)
            poll.add_answer(text="yes", emoji="🌊").add_answer(text="no")
            sent = await channel.send(poll=poll)
            assert [(one.id, one.text) for one in sent.poll.answers] == [(1, "yes"), (2, "no")]
            assert sent.poll.duration == timedelta(hours=2)
            ended = await sent.poll.end()
            assert ended.is_finalised()
            discord_server.world.post(general, "not mine", fields={"poll": {"answers": []}})
            with pytest.raises(discord.Forbidden):
                await client.http.end_poll(general.id, general.head)


class TestPins:
    async def test_a_pin_is_told_without_the_message_and_by_a_message(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """CHANNEL_PINS_UPDATE, and message type 6; a second pin changes nothing, a deletion of it is not told."""
        number = await posted(asking, text="remember")
        there = {"channel": "general", "message": number}
        async with connected(discord_server) as client:
            [system] = (await tell(asking, "/discord/pin", **there, user="Zoe"))["ids"]
            assert (await tell(asking, "/discord/pin", **there))["ids"] == []
            [message] = await client.until("message")
            assert (message.id, message.type, message.author.global_name) == (
                system,
                discord.MessageType.pins_add,
                "Zoe",
            )
            assert message.reference.message_id == number
            await client.until("guild_channel_pins_update")
            channel = client.get_channel(general.id)
            [pin] = [one async for one in channel.pins()]
            assert (pin.id, pin.pinned, pin.pinned_at is not None) == (number, True, True)
            await tell(asking, "/discord/unpin", **there)
            await client.until("guild_channel_pins_update", 2)
            assert [one async for one in channel.pins()] == []
            await tell(asking, "/discord/pin", **there)
            await tell(asking, "/discord/delete", channel="general", ids=[number])
            await client.until("raw_message_delete")
            assert len(client.all("guild_channel_pins_update")) == 3

    async def test_pins_are_listed_in_pages_and_in_the_older_list(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """Fifty a page, the last pinned first, bounded by a time; without the right to read history there are none."""
        numbers = (await tell(asking, "/discord/post", channel="general", count=60))["ids"]
        world = discord_server.world
        for place, number in enumerate(numbers):
            world.message(general, number)
            await tell(asking, "/discord/edit", channel="general", id=number, raw={"pinned": True})
            general.history.held[number].pinned_at = world.clock.now() + timedelta(seconds=place)
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            assert [one.id async for one in channel.pins(limit=None)] == numbers[::-1]
        pages = discord_server.world.record.by_method()["GET /channels/{channel.id}/messages/pins"]
        assert pages == 2
        status, rows, _ = await ask(discord_server, "GET", f"/channels/{general.id}/pins")
        assert (status, [int(row["id"]) for row in rows]) == (200, numbers[:9:-1])
        none = Permission(0)
        general.overwrites = [Overwrite(general.guild, member=False, allow=none, deny=Permission.READ_MESSAGE_HISTORY)]
        _, page, _ = await ask(discord_server, "GET", f"/channels/{general.id}/messages/pins")
        assert page == {"items": [], "has_more": False}

    async def test_a_bot_pins_with_the_right_to_do_so(self, discord_server: DiscordServer, general: Channel) -> None:
        """By the new path and the old one; the message about it is the bot's own."""
        message = discord_server.world.post(general, "pin me")
        async with logged_in(discord_server) as client:
            read = await (await client.fetch_channel(general.id)).fetch_message(message.id)
            with pytest.raises(discord.Forbidden):
                await read.pin()
            allow(general, Permission.PIN_MESSAGES)
            await read.pin()
            assert general.history.before(None, 1)[0].author == client.user.id
            await read.unpin()
        assert (await ask(discord_server, "PUT", f"/channels/{general.id}/pins/{message.id}"))[0] == 204
        assert general.history.get(message.id).pinned_at is not None
        assert (await ask(discord_server, "DELETE", f"/channels/{general.id}/pins/{message.id}"))[0] == 204


class TestIntents:
    @pytest.mark.parametrize(
        ("off", "silent"),
        [
            ("reactions", ("raw_reaction_add", "raw_reaction_clear")),
            ("polls", ("raw_poll_vote_add",)),
            ("guild_messages", ("message", "raw_message_edit")),
        ],
    )
    async def test_an_event_comes_only_with_its_intent(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, off: str, silent: tuple[str, ...]
    ) -> None:
        """All the others still come."""
        intents = everything_but_members()
        setattr(intents, off, False)
        number = await posted(asking, kind="poll")
        there = {"channel": "general", "message": number}
        every = {"raw_reaction_add", "raw_reaction_clear", "raw_poll_vote_add", "message", "raw_message_edit"}
        async with connected(discord_server, intents=intents) as client:
            await tell(asking, "/discord/react", **there, emoji="👍")
            await tell(asking, "/discord/unreact", **there)
            await tell(asking, "/discord/vote", **there, answer=1)
            await tell(asking, "/discord/pin", **there)
            await tell(asking, "/discord/change", channel="general", topic="the end")
            await client.until("guild_channel_update")
            assert set(told(client, *every)) == every - set(silent)
            assert len(client.all("guild_channel_pins_update")) == 1


class TestPeople:
    async def test_people_rename_themselves_and_leave(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """Old messages show the name of now; a deleted account has no name, and is no member any more."""
        number = await posted(asking, text="hello", author="Ada")
        ada = discord_server.world.person("Ada").id

        async def author() -> Any:
            _, row, _ = await ask(discord_server, "GET", f"/channels/{general.id}/messages/{number}")
            return row["author"]

        intents = discord.Intents.all()
        async with connected(discord_server, intents=intents) as client:
            await client.get_guild(general.guild).chunk()
            names = {"username": "lovelace", "global_name": "Countess", "nick": "The Countess", "is_bot": True}
            await tell(asking, "/discord/change", person="Ada", guild="Harbour", **names)
            await client.until("member_update")
            seen = await author()
            assert (seen["username"], seen["global_name"], seen["bot"]) == ("lovelace", "Countess", True)
            await posted(asking, text="again", author="Ada")
            [message] = await client.until("message")
            assert (message.author.nick, message.author.name) == ("The Countess", "lovelace")
            assert (await client.get_guild(general.guild).fetch_member(ada)).nick == "The Countess"
            await tell(asking, "/discord/change", person="Ada", global_name="", nick="")
            assert (await author())["global_name"] is None
            await tell(asking, "/discord/change", person="Ada", account_deleted=True)
            await client.until("raw_member_remove")
            assert (await author())["username"].startswith("deleted_user_")
            with pytest.raises(discord.NotFound):
                await client.get_guild(general.guild).fetch_member(ada)
        refused = await asking.post("/discord/change", json={"person": "Nobody", "username": "a"})
        assert "no person Nobody" in refused.json()["problem"]

    async def test_names_of_people_come_only_with_the_members_intent(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """As Discord keeps who renamed themselves from bots that may not list members."""
        async with connected(discord_server) as client:
            await tell(asking, "/discord/change", person="Ada", username="lovelace")
            await tell(asking, "/discord/change", channel="general", name="harbour-talk", topic="tides")
            [before] = await client.until("guild_channel_update")
            after = client.get_channel(before.id)
            assert (before.name, after.name, after.topic) == ("general", "harbour-talk", "tides")
            assert [name for name in client.frames if name.startswith("GUILD_MEMBER")] == []

    async def test_mentions_are_resolved_to_names_of_now(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient, general: Channel
    ) -> None:
        """People, roles, channels and everyone; over the gateway with the member, and nobody who does not exist."""
        role = discord_server.world.add_role(discord_server.world.guilds[general.guild], "crew")
        async with connected(discord_server) as client:
            await posted(asking, kind="mentions")
            await posted(asking, kind="mention_everyone")
            await posted(asking, text="<@1> <@&1> user@example.com")
            one, two, three = await client.until("message", 3)
            assert [who.global_name for who in one.mentions] == ["Brook", "Cleo"]
            assert all(isinstance(who, discord.Member) for who in one.mentions)
            assert (one.raw_role_mentions, one.raw_channel_mentions) == ([role.id], [general.id])
            assert (two.mention_everyone, one.mention_everyone, three.mention_everyone) == (True, False, False)
            assert (three.mentions, three.role_mentions) == ([], [])


class TestPrivate:
    async def test_a_person_writes_to_the_bot(self, discord_server: DiscordServer, asking: httpx.AsyncClient) -> None:
        """The bot hears of the channel by its first message, and reads words there without the content intent."""
        [bot] = discord_server.world.bots.values()
        bot.switched_on.clear()
        async with connected(discord_server, intents=discord.Intents.default()) as client:
            assert list(client.private_channels) == []
            [number] = (await tell(asking, "/discord/post", channel="@Zoe", kind="poll", text="hello bot"))["ids"]
            [message] = await client.until("message")
            assert (message.content, message.poll is not None) == ("hello bot", True)
            assert isinstance(message.channel, discord.DMChannel)
            assert message.author.global_name == "Zoe"
            await tell(asking, "/discord/react", channel="@Zoe", message=number, emoji="👍")
            await tell(asking, "/discord/vote", channel="@Zoe", message=number, answer=1)
            await tell(asking, "/discord/pin", channel="@Zoe", message=number)
            await client.until("raw_poll_vote_add")
            [reaction] = await client.until("raw_reaction_add")
            assert (reaction.guild_id, reaction.channel_id) == (None, message.channel.id)
            zoe = discord_server.world.person("Zoe")
            opened = await client.create_dm(discord.Object(zoe.id))
            assert opened.id == message.channel.id
            await opened.send("hello Zoe")
            assert [one.content async for one in opened.history(limit=1)] == ["hello Zoe"]
        rows = await tell(asking, "/truth/discord/@Zoe", "GET")
        assert [row["text"] for row in rows] == ["hello bot", "", "hello Zoe"]

    async def test_each_bot_has_its_own_conversation(
        self, discord_server: DiscordServer, asking: httpx.AsyncClient
    ) -> None:
        """``@Zoe:Other`` names the one with another bot; nobody else may read it, and it needs its intent."""
        other = discord_server.world.add_bot("Other")
        intents = everything_but_members()
        intents.dm_messages = False
        async with connected(discord_server, other, intents=intents) as client:
            await tell(asking, "/discord/post", channel="@Zoe:Other", text="for Other")
            await tell(asking, "/discord/post", channel="general", text="for all")
            where = discord_server.world.channel("@Zoe:Other")
            assert where.between[0] == other.id
            assert client.all("message") == []
            token = discord_server.world.token(first_bot(discord_server))
            status, _, _ = await ask(discord_server, "GET", f"/channels/{where.id}/messages", token=token)
            assert status == 403
            rows = await client.http.logs_from(where.id, 10)
            assert [row["content"] for row in rows] == ["for Other"]
        refused = await asking.post("/discord/post", json={"channel": "@Zoe:Nobody", "text": "a"})
        assert "no bot Nobody" in refused.json()["problem"]


class TestSending:
    async def test_a_bot_sends_what_people_cannot(self, discord_server: DiscordServer, general: Channel) -> None:
        """Embeds that show a file, buttons, components alone, a silent message, a forward: read back as sent."""
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            embed = discord.Embed(title="shown").set_image(url="attachment://a.png")
            sent = await channel.send(embed=embed, file=discord.File(__file__, "a.png"), silent=True)
            assert (sent.attachments, sent.flags.suppress_notifications) == ([], True)
            assert sent.embeds[0].image.url.startswith(discord_server.address)
            view = discord.ui.LayoutView()
            view.add_item(discord.ui.Container(discord.ui.TextDisplay("only components")))
            shown = await channel.send(view=view)
            assert (shown.flags.components_v2, shown.components[0].children[0].content) == (True, "only components")
            forward = await sent.forward(channel)
            assert forward.message_snapshots[0].embeds[0].title == "shown"
            described = await channel.send(file=discord.File(__file__, "b.png", description="a harbour", spoiler=True))
            [file] = described.attachments
            assert (file.description, file.filename, file.is_spoiler()) == ("a harbour", "SPOILER_b.png", True)
            with pytest.raises(discord.HTTPException):
                await client.http.request(
                    discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=general.id),
                    json={"message_reference": {"type": 1, "channel_id": str(general.id), "message_id": "1"}},
                )
