"""Staying connected: what is heard live, what a lost connection costs, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.platforms.discord.conftest import Opens, next_hint
from tests.waiting import until
from tidegate.errors import NotOurs, NotSent, SignedOut
from tidegate.loopback.discord import DiscordServer, World, threads
from tidegate.loopback.discord.news import News
from tidegate.loopback.discord.places import Bot, Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.port import ChannelId, Hint, MessageId, Stream


def streams(stream: Stream) -> Callable[[Hint], bool]:
    return lambda hint: hint.stream is stream


def of_news(hint: Hint) -> bool:
    return hint.news is not None


@pytest.fixture
async def client(opens: Opens, general: Channel) -> DiscordAccount:
    """One that has been told of its guild."""
    connected = await opens()
    await next_hint(connected, streams(Stream.BEGAN))
    return connected


async def test_what_happens_is_heard(client: DiscordAccount, world: World, general: Channel) -> None:
    """Posted, edited, deleted, in the order it happened, and without a call."""
    world.record.calls.clear()
    posted = world.post(general, "hello")
    world.edit(general, posted.id, text="hello there")
    world.edit(general, posted.id, embeds=[{"title": "a preview"}])
    world.delete(general, [posted.id])
    created, edited, unfurled, deleted = [await next_hint(client, of_news) for _ in range(4)]
    assert created.channel == ChannelId(general.id)
    assert created.news
    assert created.news.posted[0].text == "hello"
    assert edited.news
    assert edited.news.edited[0].text == "hello there"
    assert unfurled.news
    assert "a preview" in str(unfurled.news)
    assert deleted.news
    assert deleted.news.deleted == [MessageId(posted.id)]
    assert not world.record.calls


async def test_old_messages_are_heard_of_too(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-32, H-37: nothing is remembered here, so a message's age does not matter; many deleted are one event."""
    oldest, *others = general.history.before(None, 100)[::-1]
    world.edit(general, oldest.id, text="changed after years")
    world.delete(general, [one.id for one in others])
    edited, deleted = await next_hint(client, of_news), await next_hint(client, of_news)
    assert edited.news
    assert edited.news.edited[0].text == "changed after years"
    assert deleted.news
    assert len(deleted.news.deleted) == len(others)


async def test_a_thread_is_heard_of(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-23: made and deleted, with no call."""
    thread = threads.start(world, general, "a thread", text="hello")
    made = await next_hint(client, lambda hint: hint.channel == thread.id and hint.heads is not None)
    assert ChannelId(thread.id) in (made.heads or {})
    threads.delete(world, thread)
    gone = await next_hint(client, lambda hint: hint.gone)
    assert gone.channel == ChannelId(thread.id)


async def test_a_short_drop_is_made_good(
    client: DiscordAccount, discord: DiscordServer, world: World, general: Channel, noted: list[str]
) -> None:
    """H-08: resumed; all that was missed comes in order, the sequence is unbroken, and no REST call is made."""
    world.record.calls.clear()
    noted.clear()
    discord.gateway.hang_up(4000)
    missed = [world.post(general, f"missed {number}").id for number in range(3)]
    await next_hint(client, streams(Stream.PAUSED))
    heard = [await next_hint(client, of_news) for _ in missed]
    assert [hint.news.posted[0].id for hint in heard if hint.news] == missed
    assert (await next_hint(client)).stream is Stream.RESUMED
    assert world.record.by_method() == {"gateway resume": 1}
    assert noted == ["gateway resume"]
    told = client.told()
    assert told is not None
    assert told[ChannelId(general.id)].newest == missed[-1]


async def test_a_session_that_is_refused_begins_anew(
    client: DiscordAccount, discord: DiscordServer, world: World, general: Channel, noted: list[str]
) -> None:
    """H-09: what was live ends, and the new session tells the exact head from which everything comes again."""
    noted.clear()
    world.faults.add(Fault(FaultKind.INVALID_SESSION, "gateway resume"))
    discord.gateway.hang_up(4000)
    missed = world.post(general, "missed").id
    await next_hint(client, streams(Stream.PAUSED))
    assert client.told() is None
    hints = [await next_hint(client, lambda hint: hint.stream is not None) for _ in range(2)]
    assert [hint.stream for hint in hints] == [Stream.BROKEN, Stream.BEGAN]
    assert hints[1].heads is not None
    assert hints[1].heads[ChannelId(general.id)].newest == missed
    assert noted == ["gateway resume", "GET /gateway/bot", "gateway identify"]
    after = world.post(general, "after").id
    heard = await next_hint(client, of_news)
    assert heard.news
    assert heard.news.posted[0].id == after


async def test_discord_asks_to_connect_again(client: DiscordAccount, discord: DiscordServer) -> None:
    """A restart on their side is resumed as well."""
    discord.gateway.ask_to_reconnect()
    await next_hint(client, streams(Stream.RESUMED))


async def test_a_token_made_anew_ends_the_listening(client: DiscordAccount, world: World, bot: Bot) -> None:
    """4004: a person has to act, whoever listens is told so."""
    world.renew_token(bot)
    with pytest.raises(SignedOut):
        await next_hint(client, lambda _: False)


async def test_hints_nobody_takes_begin_the_stream_anew(
    opens: Opens, world: World, general: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 4: a queue that runs over closes what is live, and tells from where on everything comes again."""
    client = await opens()
    monkeypatch.setattr(client._ears, "_room", 5)
    ids = [world.post(general, "flood").id for _ in range(20)]

    def is_told() -> bool:
        told = client.told() or {}
        return told[ChannelId(general.id)].newest == ids[-1]

    await until(is_told)
    began = await next_hint(client, lambda hint: hint.stream is Stream.BEGAN and hint.channel is None)
    while began.heads is not None and began.heads[ChannelId(general.id)].newest not in ids:
        began = await next_hint(client, streams(Stream.BEGAN))
    assert began.heads is not None
    start = began.heads[ChannelId(general.id)].newest or 0
    rest = [await next_hint(client, of_news) for _ in [one for one in ids if one > start]]
    assert [hint.news.posted[0].id for hint in rest if hint.news] == [one for one in ids if one > start]


async def test_an_event_that_cannot_be_understood_breaks_the_stream(
    client: DiscordAccount, discord: DiscordServer, general: Channel
) -> None:
    """Nothing is lost silently: the stream begins anew at the heads as they are, and listening goes on."""
    for session in discord.gateway.sessions.values():
        session.tell("MESSAGE_CREATE", {"channel_id": str(general.id), "id": "no number"})
    assert (await next_hint(client)).stream is Stream.BROKEN
    began = await next_hint(client)
    assert began.stream is Stream.BEGAN
    assert ChannelId(general.id) in (began.heads or {})
    discord.world.post(general, "goes on")
    assert (await next_hint(client)).news is not None


async def test_closing_ends_the_session(client: DiscordAccount, discord: DiscordServer, world: World) -> None:
    """Law 8: closed in order, the account can be connected elsewhere the moment after."""
    await client.close()
    await client.close()
    with pytest.raises(NotSent):
        await next_hint(client, lambda _: False)
    await until(lambda: not discord.gateway.sessions)


async def test_a_call_frozen_on_its_way_does_not_leave(client: DiscordAccount, world: World, general: Channel) -> None:
    """Law 8: the last look is right before the bytes leave, and an owner that lost the account sends none."""
    world.record.calls.clear()

    def lost() -> None:
        raise NotOurs("This worker no longer owns the account.")

    client.last_look = lost
    with pytest.raises(NotOurs):
        await client.page(ChannelId(general.id), before=None)
    assert not world.record.calls
    client.last_look = lambda: None
    assert (await client.page(ChannelId(general.id), before=None)).messages


async def test_a_guild_that_throws_the_account_out(
    client: DiscordAccount, world: World, guild: Guild, bot: Bot, general: Channel
) -> None:
    """H-23: its channels are gone, by Discord's own word."""
    world.tell(News("GUILD_DELETE", guild, data={"id": str(guild.id)}))
    gone = await next_hint(client, lambda hint: hint.gone)
    assert gone.channel == ChannelId(general.id)
