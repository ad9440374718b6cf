"""Staying connected: what is heard live, what a lost connection costs, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from tests.platforms.discord.conftest import Opens, next_hint
from tests.waiting import until
from tidegate.core.errors import NotOurs, NotSent, SignedOut
from tidegate.core.ids import ChannelId, MessageId
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.interface import UpdateHint, UpdateStream


def streams(stream: UpdateStream) -> Callable[[UpdateHint], bool]:
    return lambda hint: hint.stream is stream


def of_news(hint: UpdateHint) -> bool:
    return hint.updates is not None


@pytest.fixture
async def client(opens: Opens, general: Channel) -> DiscordAccount:
    """One that has been told of its guild."""
    connected = await opens()
    await next_hint(connected, streams(UpdateStream.BEGAN))
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
    assert created.updates
    assert created.updates.posted[0].text == "hello"
    assert edited.updates
    assert [one.text for one in edited.updates.patched] == ["hello there"]
    assert unfurled.updates
    assert "a preview" in str(unfurled.updates)
    assert deleted.updates
    assert deleted.updates.deleted == [MessageId(posted.id)]
    assert not world.record.calls


async def test_old_messages_are_heard_of_too(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-32, H-37: nothing is remembered here, so a message's age does not matter; many deleted are one event."""
    oldest, *others = general.history.before(None, 100)[::-1]
    world.edit(general, oldest.id, text="changed after years")
    world.delete(general, [one.id for one in others])
    edited, deleted = await next_hint(client, of_news), await next_hint(client, of_news)
    assert edited.updates
    [patch] = edited.updates.patched
    assert patch.whole is not None
    assert patch.whole.text == "changed after years"
    assert deleted.updates
    assert len(deleted.updates.deleted) == len(others)


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
    await next_hint(client, streams(UpdateStream.PAUSED))
    heard = [await next_hint(client, of_news) for _ in missed]
    assert [hint.updates.posted[0].id for hint in heard if hint.updates] == missed
    assert (await next_hint(client)).stream is UpdateStream.RESUMED
    assert world.record.by_method() == {"gateway resume": 1}
    assert noted == ["gateway resume"]
    told = client.known_heads()
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
    await next_hint(client, streams(UpdateStream.PAUSED))
    assert client.known_heads() is None
    hints = [await next_hint(client, lambda hint: hint.stream is not None) for _ in range(2)]
    assert [hint.stream for hint in hints] == [UpdateStream.BROKEN, UpdateStream.BEGAN]
    assert hints[1].heads is not None
    assert hints[1].heads[ChannelId(general.id)].newest == missed
    assert noted == ["gateway resume", "GET /gateway/bot", "gateway identify"]
    after = world.post(general, "after").id
    heard = await next_hint(client, of_news)
    assert heard.updates
    assert heard.updates.posted[0].id == after


async def test_discord_asks_to_connect_again(client: DiscordAccount, discord: DiscordServer) -> None:
    """A restart on their side is resumed as well."""
    discord.gateway.ask_to_reconnect()
    await next_hint(client, streams(UpdateStream.RESUMED))


async def test_a_session_that_dies_young_is_resumed_ever_more_rarely(
    client: DiscordAccount, discord: DiscordServer
) -> None:
    """A gateway that lets the bot in and hangs up at once is left alone for longer each time."""
    told: list[str | None] = []
    client.connection_changed = told.append
    with capture_logs() as lines:
        for _ in range(2):
            discord.gateway.hang_up(4000)
            await next_hint(client, streams(UpdateStream.RESUMED))
    assert [one is None for one in told] == [False, True, False, True]
    assert [line["next_try_in"] for line in lines if line["event"] == "discord.connection_lost"] == [
        "0:00:01",
        "0:00:02",
    ]


async def test_a_token_made_anew_ends_the_listening(client: DiscordAccount, world: World, bot: Bot) -> None:
    """4004: a person has to act, whoever listens is told so."""
    world.renew_token(bot)
    with pytest.raises(SignedOut):
        await next_hint(client, lambda _: False)


async def test_hints_nobody_takes_begin_the_stream_anew(
    opens: Opens, world: World, general: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue that runs over closes what is live, and tells from where on everything comes again.

    Invariant: live-never-closes-a-gap.
    """
    client = await opens()
    monkeypatch.setattr(client._gateway.updates, "_room", 5)
    ids = [world.post(general, "flood").id for _ in range(20)]

    def is_told() -> bool:
        told = client.known_heads() or {}
        return told[ChannelId(general.id)].newest == ids[-1]

    await until(is_told)
    began = await next_hint(client, lambda hint: hint.stream is UpdateStream.BEGAN and hint.channel is None)
    while began.heads is not None and began.heads[ChannelId(general.id)].newest not in ids:
        began = await next_hint(client, streams(UpdateStream.BEGAN))
    assert began.heads is not None
    start = began.heads[ChannelId(general.id)].newest or 0
    rest = [await next_hint(client, of_news) for _ in [one for one in ids if one > start]]
    assert [hint.updates.posted[0].id for hint in rest if hint.updates] == [one for one in ids if one > start]


async def test_an_event_that_cannot_be_understood_breaks_the_stream(
    client: DiscordAccount, discord: DiscordServer, general: Channel
) -> None:
    """Nothing is lost silently: the stream begins anew at the heads as they are, and listening goes on."""
    for session in discord.gateway.sessions.values():
        session.tell("MESSAGE_CREATE", {"channel_id": str(general.id), "id": "no number"})
    assert (await next_hint(client)).stream is UpdateStream.BROKEN
    began = await next_hint(client)
    assert began.stream is UpdateStream.BEGAN
    assert ChannelId(general.id) in (began.heads or {})
    discord.world.post(general, "goes on")
    assert (await next_hint(client)).updates is not None


async def test_an_event_lost_on_its_way_is_asked_for_again(
    client: DiscordAccount, discord: DiscordServer, world: World, general: Channel
) -> None:
    """Its number is missing, so the session is resumed before it; everything comes once and in order."""
    [session] = discord.gateway.sessions.values()
    connection, session.line, session.left_at = session.line, None, world.clock.ticks()
    world.post(general, "lost on its way")
    session.line = connection
    world.post(general, "after it")
    heard = [await next_hint(client, of_news) for _ in range(2)]
    assert [hint.updates.posted[0].text for hint in heard if hint.updates] == ["lost on its way", "after it"]


async def test_numbers_that_are_missing_for_good_break_the_stream(
    client: DiscordAccount, discord: DiscordServer, world: World, general: Channel
) -> None:
    """Discord is asked once; what came is taken, and what was missed has to be read."""
    [session] = discord.gateway.sessions.values()
    session.number += 3
    with capture_logs() as lines:
        world.post(general, "after the gap")
        heard = await next_hint(client, of_news)
        await next_hint(client, streams(UpdateStream.BROKEN))
        await next_hint(client, streams(UpdateStream.BEGAN))
    assert heard.updates
    assert heard.updates.posted[0].text == "after the gap"
    assert [line["count"] for line in lines if line["event"] == "discord.events_missing"] == [3]


async def test_closing_ends_the_session(client: DiscordAccount, discord: DiscordServer, world: World) -> None:
    """one-owner-per-account: closed in order, the account can be connected elsewhere the moment after."""
    await client.close()
    await client.close()
    with pytest.raises(NotSent):
        await next_hint(client, lambda _: False)
    await until(lambda: not discord.gateway.sessions)


async def test_a_call_frozen_on_its_way_does_not_leave(client: DiscordAccount, world: World, general: Channel) -> None:
    """The last look is right before the bytes leave, and an owner that lost the account sends none.

    Invariant: one-owner-per-account.
    """
    world.record.calls.clear()

    def lost() -> None:
        raise NotOurs("This worker no longer owns the account.")

    client.pre_send_check = lost
    with pytest.raises(NotOurs):
        await client.page(ChannelId(general.id), before=None)
    assert not world.record.calls
    client.pre_send_check = lambda: None
    assert (await client.page(ChannelId(general.id), before=None)).messages


async def test_a_guild_that_throws_the_account_out(
    client: DiscordAccount, world: World, guild: Guild, bot: Bot, general: Channel
) -> None:
    """H-23: its channels are gone, by Discord's own word."""
    world.tell(News("GUILD_DELETE", guild, data={"id": str(guild.id)}))
    gone = await next_hint(client, lambda hint: hint.gone)
    assert gone.channel == ChannelId(general.id)
