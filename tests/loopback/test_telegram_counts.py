"""What changes without an edit: reactions, votes, views, pins, late previews. Most of it moves no pts."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon import TelegramClient, errors, events
from telethon.tl import functions, types

from tests.held import NOON
from tests.loopback.clients import peer
from tests.loopback.conftest import Connects
from tests.waiting import PATIENCE
from tidegate.core.clock import HeldClock
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.schema import PostSpec, ReactSpec, VoteSpec
from tidegate.loopback.telegram.world.world_changes import post, react, vote

EMOJI = 5_368_324_170_671_202_286


@pytest.fixture
def news(telegram: TelegramServer) -> Channel:
    return telegram.world.add_channel("News", broadcast=True)


class Heard:
    """The updates a client got, in their order."""

    def __init__(self, client: TelegramClient) -> None:
        self._updates: asyncio.Queue[Any] = asyncio.Queue()
        client.add_event_handler(self._take, events.Raw)

    async def _take(self, update: Any) -> None:
        await self._updates.put(update)

    async def next(self, kind: type) -> Any:
        """The next one of this class; others before it are dropped."""
        async with asyncio.timeout(PATIENCE):
            while not isinstance(update := await self._updates.get(), kind):
                pass
        return update


async def ask(asking: httpx.AsyncClient, path: str, **body: Any) -> Any:
    answer = await asking.post(f"/telegram/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["ids"]


async def read(client: TelegramClient, server: TelegramServer, channel: Channel, number: int) -> Any:
    return (await client.get_messages(peer(server, channel), ids=[number]))[0]


async def difference(client: TelegramClient, server: TelegramServer, channel: Channel, pts: int) -> Any:
    named = peer(server, channel)
    place = types.InputChannel(named.channel_id, named.access_hash)
    every = types.ChannelMessagesFilterEmpty()
    return await client(functions.updates.GetChannelDifferenceRequest(place, every, pts, 100))


def counts(reactions: Any) -> dict[str, int]:
    """Each reaction with its count."""
    return {getattr(row.reaction, "emoticon", type(row.reaction).__name__): row.count for row in reactions.results}


class TestReactions:
    async def test_without_a_client_they_move_nothing(
        self, connect: Connects, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Nobody hears them: the message shows them when it is read again, and so does the call for them."""
        [number] = await ask(asking, "post", channel="News", text="hello")
        pts = news.pts
        await ask(asking, "react", channel="News", message=number, emoji="👍", count=4)
        await ask(asking, "react", channel="News", message=number, custom_emoji=EMOJI)
        await ask(asking, "react", channel="News", message=number, paid=True, change=50)
        assert news.pts == pts
        client = await connect()
        found = await read(client, telegram, news, number)
        assert counts(found.reactions) == {"ReactionPaid": 50, "👍": 4, "ReactionCustomEmoji": 1}
        assert (found.edit_date, found.edit_hide) == (None, False)
        named = peer(telegram, news)
        answer = await client(functions.messages.GetMessagesReactionsRequest(named, [number, 99]))
        assert [(update.msg_id, counts(update.reactions)) for update in answer.updates] == [
            (number, counts(found.reactions))
        ]
        [document] = await client(functions.messages.GetCustomEmojiDocumentsRequest([EMOJI, 5]))
        assert (document.id, document.mime_type) == (EMOJI, "application/x-tgsticker")
        assert (await client.download_media(document, bytes))[:2] == b"\x1f\x8b"

    async def test_a_connected_client_hears_them_twice(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """Once without pts, and once as an edit that is hidden, until a person edits the message."""
        [number] = await ask(asking, "post", channel="News", text="hello")
        heard, pts = Heard(client), news.pts
        await ask(asking, "react", channel="News", message=number, emoji="❤")
        assert counts((await heard.next(types.UpdateMessageReactions)).reactions) == {"❤": 1}
        hidden = await heard.next(types.UpdateEditChannelMessage)
        assert (hidden.pts, hidden.message.edit_hide, hidden.message.edit_date is None) == (pts + 1, True, False)
        await ask(asking, "edit", channel="News", id=number, text="edited")
        await ask(asking, "react", channel="News", message=number, emoji="❤", count=9)
        answer = await difference(client, telegram, news, pts)
        assert [type(update).__name__ for update in answer.other_updates] == ["UpdateEditChannelMessage"] * 3
        last = answer.other_updates[-1].message
        assert (last.message, last.edit_hide, counts(last.reactions)) == ("edited", False, {"❤": 9})

    async def test_the_edit_can_be_chosen_and_people_named(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient
    ) -> None:
        """A test can have a reaction without the edit, and say who reacted."""
        group = telegram.world.add_channel("Group")
        [number] = await ask(asking, "post", channel="Group", text="hello")
        pts = group.pts
        for count in (1, 0, 2):
            await ask(asking, "react", channel="Group", message=number, emoji="🔥", count=count, as_edit=False)
        await ask(asking, "react", channel="Group", message=number, emoji="👏", people=["Somebody"], as_edit=False)
        found = (await read(client, telegram, group, number)).reactions
        assert (group.pts, counts(found), found.can_see_list) == (pts, {"🔥": 2, "👏": 1}, True)
        assert [row.peer_id.user_id for row in found.recent_reactions] == [777_001]
        await ask(asking, "react", channel="Group", message=number, emoji="👏", count=0, as_edit=True)
        assert (await read(client, telegram, group, number)).reactions.recent_reactions is None
        assert group.pts == pts + 1


class TestPolls:
    async def test_votes_move_no_pts(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """They are pushed, can be asked for, and are not in the difference."""
        [number] = await ask(asking, "post", channel="News", kind="quiz")
        heard, pts = Heard(client), news.pts
        await ask(asking, "vote", channel="News", message=number, option=1, count=100)
        told = await heard.next(types.UpdateMessagePoll)
        assert (told.msg_id, told.results.total_voters) == (number, 109)
        await ask(asking, "vote", channel="News", message=number, option=0)
        named = peer(telegram, news)
        answer = await client(functions.messages.GetPollResultsRequest(named, number, 0))
        assert [row.voters for row in answer.updates[0].results.results] == [10, 100]
        found = await read(client, telegram, news, number)
        assert (found.media.results.total_voters, found.media.results.results[0].correct) == (110, True)
        assert news.pts == pts
        assert isinstance(await difference(client, telegram, news, pts), types.updates.ChannelDifferenceEmpty)
        with pytest.raises(errors.MessageIdInvalidError):
            await client(functions.messages.GetPollResultsRequest(named, 1, 0))

    @given(
        kind=st.sampled_from(["poll", "quiz"]),
        votes=st.lists(
            st.tuples(st.integers(0, 1), st.none() | st.integers(0, 50), st.none() | st.integers(-9, 9)), max_size=12
        ),
    )
    def test_counts_add_up(self, kind: str, votes: list[tuple[int, int | None, int | None]]) -> None:
        """With one choice the voters are the sum; with several no answer has more votes than there are voters."""
        world = World(HeldClock(NOON))
        world.add_channel("News")
        post(world, PostSpec(channel="News", kind=kind))
        media = world.channel("News").messages[2].fields["media"]
        for option, count, change in votes:
            vote(world, VoteSpec(channel="News", message=2, option=option, count=count, change=change))
        voters = [row.voters for row in media.results.results]
        assert all(count >= 0 for count in voters)
        if kind == "quiz":
            assert media.results.total_voters == sum(voters)
        else:
            assert max(voters) <= media.results.total_voters <= sum(voters)


class TestViews:
    async def test_views_and_forwards_move_no_pts(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """They are pushed and can be asked for, a hundred messages a call."""
        first, second = await ask(asking, "post", channel="News", text="hello", count=2)
        heard, pts = Heard(client), news.pts
        await ask(asking, "view", channel="News", messages=[first], views=1200, forwards=30)
        assert (await heard.next(types.UpdateChannelMessageViews)).views == 1200
        assert (await heard.next(types.UpdateChannelMessageForwards)).forwards == 30
        await ask(asking, "view", channel="News", messages=[first, second])
        named = peer(telegram, news)
        answer = await client(functions.messages.GetMessagesViewsRequest(named, [first, second, 99], False))
        assert [(row.views, row.forwards) for row in answer.views] == [(1201, 30), (1, 0), (None, None)]
        await client(functions.messages.GetMessagesViewsRequest(named, [second], True))
        assert (await read(client, telegram, news, second)).views == 2
        assert news.pts == pts
        with pytest.raises(errors.RPCError):
            await client(functions.messages.GetMessagesViewsRequest(named, list(range(1, 102)), False))


class TestPins:
    async def test_a_pin_moves_pts_and_is_said(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """The difference has the pin and the service message; unpinning is not said."""
        [number] = await ask(asking, "post", channel="News", text="hello")
        heard, pts = Heard(client), news.pts
        assert await ask(asking, "pin", channel="News", message=number) == [number, number + 1]
        told = await heard.next(types.UpdatePinnedChannelMessages)
        assert (told.messages, told.pinned, told.pts) == ([number], True, pts + 1)
        assert await ask(asking, "pin", channel="News", message=number, pinned=False) == [number]
        answer = await difference(client, telegram, news, pts)
        assert [(type(update).__name__, update.pinned) for update in answer.other_updates] == [
            ("UpdatePinnedChannelMessages", True),
            ("UpdatePinnedChannelMessages", False),
        ]
        [said] = answer.new_messages
        assert (type(said.action), said.reply_to.reply_to_msg_id) == (types.MessageActionPinMessage, number)
        assert (answer.pts, news.pts) == (pts + 3, pts + 3)


class TestPreviews:
    async def test_a_late_preview_is_in_no_difference(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """It is pushed with a pts of its own; who was away finds the number moved and nothing else."""
        [number] = await ask(asking, "post", channel="News", kind="link_pending")
        heard, pts = Heard(client), news.pts
        await ask(asking, "preview", channel="News", message=number, url="https://example.com/tides")
        told = await heard.next(types.UpdateChannelWebPage)
        assert (told.webpage.url, told.pts, told.pts_count) == ("https://example.com/tides", pts + 1, 1)
        answer = await difference(client, telegram, news, pts)
        assert (answer.pts, answer.new_messages, answer.other_updates) == (pts + 1, [], [])
        found = await read(client, telegram, news, number)
        assert found.media.webpage.photo.id == told.webpage.photo.id
        assert (await client.download_media(found.media.webpage.photo, bytes))[:4] == b"\x89PNG"


class TestChannels:
    async def test_title_and_description(
        self, client: TelegramClient, telegram: TelegramServer, asking: httpx.AsyncClient, news: Channel
    ) -> None:
        """A new title is said in the channel; a new description is found by asking for the whole channel."""
        await asking.post("/telegram/change", json={"channel": "News", "about": "Tides", "username": "tides"})
        assert len(news.messages) == 1
        await asking.post("/telegram/change", json={"channel": "News", "title": "Daily News"})
        said = await read(client, telegram, news, 2)
        assert said.action.title == "Daily News"
        full = await client(functions.channels.GetFullChannelRequest(peer(telegram, news)))
        assert (full.full_chat.about, full.chats[0].title, full.chats[0].username) == ("Tides", "Daily News", "tides")
        [shown] = (await asking.get("/telegram/channels")).json()
        assert (shown["about"], shown["title"], shown["kind"]) == ("Tides", "Daily News", "channel")


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("react", {"message": 1}, "exactly one of"),
        ("react", {"message": 99, "emoji": "x"}, "no message 99"),
        ("react", {"message": 1, "emoji": "x", "people": ["Nobody"]}, "no person Nobody"),
        ("vote", {"message": 1, "option": 0}, "not a poll"),
        ("view", {"messages": [1, 99]}, "no message 99"),
        ("pin", {"message": 99}, "no message 99"),
        ("preview", {"message": 99}, "no message 99"),
        ("preview", {"message": 1, "raw": {"_": "PeerUser", "user_id": 1}}, "no web page"),
    ],
)
async def test_what_cannot_be_gets_a_sentence(
    asking: httpx.AsyncClient, news: Channel, path: str, body: dict[str, Any], problem: str
) -> None:
    """bad-input-gets-a-sentence: nothing changes."""
    answer = await asking.post(f"/telegram/{path}", json={"channel": "News", **body})
    assert answer.status_code == 422
    assert problem in answer.json()["problem"]
    assert [message.fields for message in news.messages.values()] == [{}]


@given(
    steps=st.lists(st.tuples(st.sampled_from("👍❤🔥"), st.none() | st.integers(0, 9), st.integers(-5, 5)), max_size=15)
)
def test_reactions_are_sorted_and_never_negative(steps: list[tuple[str, int | None, int]]) -> None:
    """Whatever people do, the most frequent comes first and none is there with nobody."""
    world = World(HeldClock(NOON))
    channel = world.add_channel("News")
    for emoji, count, change in steps:
        react(world, ReactSpec(channel="News", message=1, emoji=emoji, count=count, change=change))
        held = channel.messages[1].fields.get("reactions")
        rows = [row.count for row in held.results] if held else []
        assert rows == sorted(rows, reverse=True)
        assert all(row > 0 for row in rows)
        assert held is None or rows
