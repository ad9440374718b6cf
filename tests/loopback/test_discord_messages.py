"""Pages of messages: bounds, order and rights, by the real client and against a plain oracle."""

from __future__ import annotations

import json
from datetime import timedelta

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loopback.bots import ask, connected, logged_in
from tidegate.core.clock import HeldClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.request_handler import Asked, answer, count, find
from tidegate.loopback.discord.world.history import History, Made
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel, ChannelKind
from tidegate.loopback.discord.world.world import BEGINS

NONE = Permission(0)


def computed(count: int, *, every: timedelta = timedelta(minutes=1)) -> Made:
    return Made.until(BEGINS, count, every, low=5, title="general", authors=(1, 2, 3))


def deny(channel: Channel, *denied: Permission) -> None:
    """Take permissions from everyone."""
    channel.overwrites = [Overwrite(channel.guild, member=False, allow=NONE, deny=sum(denied, NONE))]


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    """The channel with 250 messages."""
    channel = discord_server.world.channel("general")
    for number in range(250):
        discord_server.world.post(channel, f"message {number}")
    return channel


class TestPages:
    async def test_the_client_reads_all_of_history_in_either_direction(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """discord.py's own walk finds every message once: it would repeat or miss some if a page were ordered wrong."""
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            held = [message.id for message in general.history]
            backward = [message.id async for message in channel.history(limit=None)]
            forward = [message.id async for message in channel.history(limit=None, oldest_first=True)]
        assert backward == held[::-1]
        assert forward == held
        assert discord_server.world.record.by_method()["GET /channels/{channel.id}/messages"] == 6

    async def test_every_page_is_listed_newest_first(self, discord_server: DiscordServer, general: Channel) -> None:
        """Also one after an id, which holds the messages nearest above the bound; bounds are exclusive."""
        ids = [message.id for message in general.history]
        path = f"/channels/{general.id}/messages"

        async def page(**query: int) -> list[int]:
            status, rows, _ = await ask(discord_server, "GET", path, params=query)
            assert status == 200
            return [int(row["id"]) for row in rows]

        assert await page() == ids[-50:][::-1]
        assert await page(limit=3) == ids[-3:][::-1]
        assert await page(after=ids[10], limit=3) == [ids[13], ids[12], ids[11]]
        assert await page(before=ids[10], limit=3) == [ids[9], ids[8], ids[7]]
        assert await page(around=ids[10], limit=4) == [ids[12], ids[11], ids[10], ids[9], ids[8]]
        assert await page(after=general.id, limit=1) == [ids[0]]
        assert await page(before=(1 << 63) - 1, limit=1) == [ids[-1]]
        assert await page(after=ids[-1]) == []

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ({"limit": "0"}, "NUMBER_TYPE_MIN"),
            ({"limit": "101"}, "NUMBER_TYPE_MAX"),
            ({"limit": "many"}, "NUMBER_TYPE_COERCE"),
            ({"before": "yesterday"}, "NUMBER_TYPE_COERCE"),
            ({"before": "1", "after": "1"}, "BASE_TYPE_BAD"),
        ],
    )
    async def test_what_cannot_be_asked_is_refused(
        self, discord_server: DiscordServer, general: Channel, query: dict[str, str], code: str
    ) -> None:
        """With Discord's 50035 and the field at fault, so that a client's mistake shows in a test."""
        status, told, _ = await ask(discord_server, "GET", f"/channels/{general.id}/messages", params=query)
        assert (status, told["code"]) == (400, 50035)
        [wrong] = told["errors"].values()
        assert wrong["_errors"][0]["code"] == code

    async def test_one_message_by_its_id(self, discord_server: DiscordServer, general: Channel) -> None:
        """A message that is gone is code 10008, and the channel's head still points to it."""
        world = discord_server.world
        last = general.head
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            assert (await channel.fetch_message(last)).content == "message 249"
            world.delete(general, [last])
            with pytest.raises(discord.NotFound) as gone:
                await channel.fetch_message(last)
            assert gone.value.code == 10008
            assert (await client.fetch_channel(general.id)).last_message_id == last

    async def test_an_edit_is_dated_and_moves_no_head(self, discord_server: DiscordServer, general: Channel) -> None:
        """An unfurled embed changes a message without being an edit by a person."""
        world, first = discord_server.world, next(iter(general.history)).id
        head = general.head
        world.edit(general, first, embeds=[{"type": "link", "url": "http://127.0.0.1/"}])
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            unfurled = await channel.fetch_message(first)
            assert (unfurled.edited_at, len(unfurled.embeds), unfurled.content) == (None, 1, "message 0")
            world.edit(general, first, text="changed")
            edited = await channel.fetch_message(first)
            assert (edited.content, edited.edited_at is not None, len(edited.embeds)) == ("changed", True, 1)
        assert general.head == head


class TestRights:
    async def test_who_may_not_read_history_gets_an_empty_page(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """H-21: not a refusal but 200 with nothing, which proves nothing; the client can know why."""
        deny(general, Permission.READ_MESSAGE_HISTORY)
        async with connected(discord_server) as client:
            assert await client.http.logs_from(general.id, 100) == []
            channel = client.get_channel(general.id)
            assert not channel.permissions_for(channel.guild.me).read_message_history
            with pytest.raises(discord.Forbidden):
                await channel.fetch_message(general.head)

    async def test_who_may_not_see_a_channel_is_told_50001(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """And the guild's list still has the channel, as Discord's has."""
        deny(general, Permission.VIEW_CHANNEL)
        async with logged_in(discord_server) as client:
            with pytest.raises(discord.Forbidden) as refused:
                await client.http.logs_from(general.id, 100)
            assert refused.value.code == 50001
            rows = await client.http.get_all_guild_channels(general.guild)
            assert [row["id"] for row in rows] == [str(general.id)]

    async def test_a_channel_that_is_gone_is_10003(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-22: as is one that never was."""
        status, told, _ = await ask(discord_server, "GET", "/channels/1/messages")
        assert (status, told["code"], told["message"]) == (404, 10003, "Unknown Channel")

    async def test_a_forum_holds_no_messages(self, discord_server: DiscordServer) -> None:
        """H-42: asking a forum for messages is refused; its threads have them."""
        guild = next(iter(discord_server.world.guilds.values()))
        forum = discord_server.world.add_channel(guild, "ideas", ChannelKind.FORUM)
        status, told, _ = await ask(discord_server, "GET", f"/channels/{forum.id}/messages")
        assert (status, told["code"]) == (400, 50008)

    async def test_without_the_content_intent_words_are_blank_over_rest_too(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """Unless they are the bot's own or speak to it; the application's flags tell whether it is switched on."""
        world = discord_server.world
        [bot] = world.bots.values()
        bot.switched_on.clear()
        world.post(general, f"<@{bot.id}> hello")
        world.post(general, "mine", author=bot.id)
        world.post(general, "a file", attachments=[world.attachment("a.txt", b"a")])
        async with logged_in(discord_server) as client:
            rows = await client.http.logs_from(general.id, 4)
            assert [row["content"] for row in rows] == ["", "mine", f"<@{bot.id}> hello", ""]
            assert rows[0]["attachments"] == []
            assert not client.application.flags.gateway_message_content
        bot.switched_on.add("message_content")
        async with logged_in(discord_server) as client:
            assert (await client.http.logs_from(general.id, 1))[0]["content"] == "a file"
            assert client.application.flags.gateway_message_content


class TestLaws:
    @given(
        size=st.integers(0, 40),
        posts=st.integers(0, 15),
        deleted=st.sets(st.integers(0, 54)),
        edited=st.sets(st.integers(0, 54)),
        mode=st.sampled_from(["newest", "before", "after", "around"]),
        place=st.integers(0, 54),
        shift=st.integers(-1, 1),
        limit=st.integers(1, 100),
    )
    def test_a_page_is_what_a_plain_list_gives(
        self,
        *,
        size: int,
        posts: int,
        deleted: set[int],
        edited: set[int],
        mode: str,
        place: int,
        shift: int,
        limit: int,
    ) -> None:
        """Whatever was made, posted, edited and deleted: a page is the sorted list of what is left, cut at a bound."""
        world, channel = small_world(size)
        for number in range(posts):
            world.post(channel, f"later {number}")
        ids = [message.id for message in channel.history]
        for at in edited & set(range(len(ids))):
            world.edit(channel, ids[at], text=f"edited {ids[at]}")
        world.delete(channel, [ids[at] for at in sorted(deleted) if at < len(ids)], bulk=True)
        left = [number for at, number in enumerate(ids) if at not in deleted]
        bound = (ids[place % len(ids)] if ids else channel.id) + shift
        rows = page(world, channel, {"limit": str(limit)} | ({} if mode == "newest" else {mode: str(bound)}))
        assert [int(row["id"]) for row in rows] == expected(left, mode, bound, limit)
        texts = {int(row["id"]): row["content"] for row in rows}
        assert all(texts[ids[at]] == f"edited {ids[at]}" for at in edited if at < len(ids) and ids[at] in texts)
        assert len(channel.history) == len(left)

    @given(size=st.integers(1, 1_000_000), place=st.integers(0, 999_999), every=st.integers(1, 600))
    def test_a_million_messages_cost_nothing(self, size: int, place: int, every: int) -> None:
        """What a channel is made with is computed: ids rise with the place, and a place is found from its id."""
        history = History(computed(size, every=timedelta(seconds=every)))
        assert history.made is not None
        at = place % size
        number = history.made.id_at(at)
        assert history.made.place_of(number) == at
        assert history.made.place_of(number + 1) is None
        assert [message.id for message in history.after(number - 1, 2)][-1] == number
        assert len(history.before(number, 100)) == min(at, 100)


def small_world(size: int) -> tuple[World, Channel]:
    world = World(HeldClock(BEGINS))
    world.add_bot("Tidebot")
    channel = world.add_channel(world.add_guild("Harbour"), "general")
    authors = tuple(world.people)
    made = Made.until(BEGINS, size, timedelta(minutes=1), low=5, title="general", authors=authors)
    channel.history = History(made)
    return world, channel


def page(world: World, channel: Channel, query: dict[str, str]) -> list[dict[str, str]]:
    """A page by the whole way of a call but the network."""
    method, named = find("GET", f"/channels/{channel.id}/messages")
    token = world.token(next(iter(world.bots.values())))
    asked = Asked(method, named, query, token, {}, (), "http://127.0.0.1:1")
    reply = answer(world, asked, count(world, asked), None)
    assert reply.status == 200
    return json.loads(reply.body)


def expected(ids: list[int], mode: str, bound: int, limit: int) -> list[int]:
    """The oracle: what is left, oldest first, cut by hand."""
    below = [number for number in ids if number < bound]
    above = [number for number in ids if number > bound]
    match mode:
        case "before":
            found = below[-limit:]
        case "after":
            found = above[:limit]
        case "around":
            half = limit // 2
            found = [*below[len(below) - min(half, len(below)) :], *(n for n in ids if n == bound), *above[:half]]
        case _:
            found = ids[-limit:]
    return found[::-1]
