"""The verbs of a Discord account against the loopback platform's truth."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.platforms.discord.conftest import Opens
from tidegate.core.errors import AskedToWait, ChannelGone, OutcomeUnknown, PlatformError, Refused, SignedOut
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.core.platform_call import ScopeKind
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Bot, Channel, ChannelKind, Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.interface import CannotAsk, ChannelDeleted, Enclosure, SendKey
from tidegate.platforms.interface import ChannelKind as OurKind

LIST = "GET /channels/{channel.id}/messages"
SEND = "POST /channels/{channel.id}/messages"
KEY = SendKey("run 1, target 2, part 3")


@pytest.fixture
async def client(opens: Opens, general: Channel) -> DiscordAccount:
    return await opens()


def fill(world: World, channel: Channel, count: int) -> list[int]:
    return [world.post(channel, f"text {number}").id for number in range(count)]


def deny(guild: Guild, channel: Channel, what: Permission) -> None:
    """Take a right in a channel away from everybody, without a word to anyone."""
    channel.overwrites.append(Overwrite(guild.id, member=False, allow=Permission(0), deny=what))


# Pages


async def test_a_short_page_reaches_the_start(client: DiscordAccount, general: Channel) -> None:
    """H-12: fewer than asked for, with the right to read: that is the beginning, and the head as well."""
    page = await client.page(ChannelId(general.id), before=None)
    assert [message.text for message in page.messages] == ["three", "two", "one"]
    assert page.reached_start
    assert page.reached_head
    assert page.may_read
    assert page.limit == 100


async def test_a_full_page_ends_nothing(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-14: there may be more below; the page after it begins where it ended."""
    fill(world, general, 97)
    page = await client.page(ChannelId(general.id), before=None)
    assert len(page.messages) == 100
    assert not page.reached_start
    below = await client.page(ChannelId(general.id), before=page.messages[-1].id)
    assert not below.messages
    assert below.reached_start


async def test_reading_upwards_ends_at_the_head(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-05: the nearest hundred above the bound, newest first; only a short page has reached the head."""
    first = world.post(general, "bound").id
    ids = fill(world, general, 130)
    page = await client.page_after(ChannelId(general.id), after=MessageId(first))
    assert [message.id for message in page.messages] == sorted(ids[:100], reverse=True)
    assert not page.reached_head
    rest = await client.page_after(ChannelId(general.id), after=page.messages[0].id)
    assert [message.id for message in rest.messages] == sorted(ids[100:], reverse=True)
    assert rest.reached_head
    assert not rest.reached_start


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(more=st.integers(0, 5), deletes=st.booleans(), place=st.integers(0, 1_000), beside=st.integers(-1, 1))
async def test_pages_are_the_platforms_truth(
    client: DiscordAccount, world: World, general: Channel, *, more: int, deletes: bool, place: int, beside: int
) -> None:
    """Whatever was posted and deleted: each page holds exactly what the platform has on that side of the bound."""
    ids = fill(world, general, more)
    if ids and deletes:
        world.delete(general, [ids[place % len(ids)]])
    truth = sorted(message.id for message in general.history.before(None, 100_000))
    bound = truth[place % len(truth)] + beside
    below = await client.page(ChannelId(general.id), before=MessageId(bound))
    above = await client.page_after(ChannelId(general.id), after=MessageId(bound))
    assert [one.id for one in below.messages] == [one for one in reversed(truth) if one < bound][:100]
    assert sorted(one.id for one in above.messages) == [one for one in truth if one > bound][:100]


async def test_an_empty_page_without_the_right_proves_nothing(
    client: DiscordAccount, world: World, guild: Guild, general: Channel
) -> None:
    """H-21: Discord answers 200 and [] where history may not be read; no end and no head is drawn from it."""
    deny(guild, general, Permission.READ_MESSAGE_HISTORY)
    page = await client.page(ChannelId(general.id), before=None)
    assert not page.messages
    assert not page.may_read
    assert not page.reached_start
    assert not page.reached_head
    upwards = await client.page_after(ChannelId(general.id), after=MessageId(1))
    assert not upwards.may_read
    assert not upwards.reached_head


async def test_a_right_lost_by_a_role_is_noticed_without_listening(
    opens: Opens, world: World, guild: Guild, general: Channel
) -> None:
    """H-21: an empty page is checked against the roles as they are now, not as they were when connecting."""
    client = await opens(live=False)
    await client.guild_channels(GuildId(guild.id))
    everyone = guild.roles[guild.id]
    everyone.permissions &= ~Permission.READ_MESSAGE_HISTORY
    assert not (await client.page(ChannelId(general.id), before=None)).may_read


async def test_a_channel_that_was_emptied_is_empty(client: DiscordAccount, world: World, general: Channel) -> None:
    """An empty page with the right to read proves that nothing is there."""
    world.delete(general, [message.id for message in general.history.before(None, 100)])
    page = await client.page(ChannelId(general.id), before=None)
    assert not page.messages
    assert page.may_read
    assert page.reached_start


async def test_what_nobody_told_of_is_looked_up(client: DiscordAccount, world: World, guild: Guild) -> None:
    """An archived thread is in no list the gateway sends; an empty page of it is proven by looking it up."""
    parent = world.add_channel(guild, "parent")
    thread = threads.start(world, parent, "old", text="hello")
    world.archive(thread, archived=True)
    world.delete(thread, [one.id for one in thread.history.before(None, 100)])
    fresh = await client.page(ChannelId(thread.id), before=None)
    assert fresh.may_read
    assert fresh.reached_start


async def test_a_conversation_has_history_like_any_channel(client: DiscordAccount, world: World, bot: Bot) -> None:
    """What one person wrote to the bot can be read, an end of it included."""
    chat = world.conversation(bot, world.person("Ada"))
    fill(world, chat, 100)
    page = await client.page(ChannelId(chat.id), before=None)
    assert len(page.messages) == 100
    assert (await client.page(ChannelId(chat.id), before=page.messages[-1].id)).reached_start


async def test_messages_by_number(client: DiscordAccount, world: World, general: Channel) -> None:
    """Those that are there, those that are gone, and nothing about those the page does not reach."""
    ids = [MessageId(one) for one in fill(world, general, 150)]
    world.delete(general, [ids[120]])
    found = await client.messages(ChannelId(general.id), [ids[0], ids[120], ids[149]])
    assert set(found) == {ids[120], ids[149]}
    assert found[ids[120]] is None
    assert found[ids[149]] is not None


async def test_what_lies_below_the_first_message_is_gone(client: DiscordAccount, general: Channel) -> None:
    """A short page reaches the start, so it speaks of every number below it."""
    assert await client.messages(ChannelId(general.id), [MessageId(5)]) == {MessageId(5): None}


async def test_boards_hold_no_messages(opens: Opens, world: World, guild: Guild) -> None:
    """H-42: neither a message call nor a private archive call is made on a forum itself."""
    forum = ChannelId(world.add_channel(guild, "forum", ChannelKind.FORUM).id)
    client = await opens()
    world.record.calls.clear()
    with pytest.raises(CannotAsk):
        await client.page(forum, before=None)
    with pytest.raises(CannotAsk):
        await client.archived_threads(forum, private=True, after=None)
    assert not world.record.calls


# Guilds, channels, threads


async def test_a_guilds_channels_and_threads_take_one_call_each(
    opens: Opens, world: World, guild: Guild, general: Channel
) -> None:
    """H-01: two calls; every head is what the platform has, and equals what the gateway tells."""
    board = world.add_channel(guild, "board", ChannelKind.FORUM)
    post = threads.start(world, board, "a post", text="hello")
    hidden = world.add_channel(guild, "hidden")
    deny(guild, hidden, Permission.VIEW_CHANNEL)
    asked = await opens(live=False)
    heads = {**await asked.guild_channels(GuildId(guild.id)), **await asked.guild_threads(GuildId(guild.id))}
    assert {number: head.newest for number, head in heads.items()} == {
        one.id: one.head or None for one in (general, board, post, hidden)
    }
    listening = await opens()
    assert listening.known_heads() == heads
    kinds = {number: head.channel.kind for number, head in heads.items() if head.channel}
    assert kinds[ChannelId(board.id)] is OurKind.BOARD
    assert kinds[ChannelId(post.id)] is OurKind.THREAD
    seen = heads[ChannelId(hidden.id)].channel
    assert seen is not None
    assert not seen.visible


async def test_archived_threads_page_by_page(
    client: DiscordAccount, world: World, guild: Guild, general: Channel
) -> None:
    """The last archived first; threads archived in the same instant are not lost where pages meet."""
    now = world.clock.now()
    made = []
    for number in range(130):
        thread = threads.start(world, general, f"thread {number}")
        world.archive(thread, archived=True, at=now if number % 2 else None)
        made.append(ChannelId(thread.id))
    found, after, pages = set(), None, 0
    while True:
        page = await client.archived_threads(ChannelId(general.id), private=False, after=after)
        found |= set(page.heads)
        pages += 1
        if page.next is None:
            break
        after = page.next
    assert found == set(made)
    assert pages == 2
    assert all(head.channel and head.channel.archived for head in page.heads.values())


async def test_a_private_archive_that_is_closed(
    client: DiscordAccount, world: World, guild: Guild, general: Channel
) -> None:
    """H-41: a refusal to list, which says nothing about the channel itself."""
    deny(guild, general, Permission.MANAGE_THREADS)
    with pytest.raises(Refused, match="private threads"):
        await client.archived_threads(ChannelId(general.id), private=True, after=None)
    assert (await client.archived_threads(ChannelId(general.id), private=False, after=None)).heads == {}


async def test_which_guilds_the_account_is_in(client: DiscordAccount, guild: Guild) -> None:
    """By name; fewer than a page of them are all."""
    page = await client.guilds(None)
    assert (page.guilds, page.next) == ({GuildId(guild.id): "The harbour"}, None)


# Trouble


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(FaultKind.WAIT, LIST, seconds=1.5), AskedToWait),
        (Fault(FaultKind.HTML_429, LIST), AskedToWait),
        (Fault(FaultKind.ERROR, LIST, code="500"), PlatformError),
        (Fault(FaultKind.ERROR, LIST, code="503"), PlatformError),
        (Fault(FaultKind.FORBIDDEN, LIST), ChannelGone),
        (Fault(FaultKind.ERROR, LIST, code="404 10003"), ChannelDeleted),
        (Fault(FaultKind.DISCONNECT, LIST), OutcomeUnknown),
        (Fault(FaultKind.SIGNED_OUT, LIST), SignedOut),
    ],
)
async def test_trouble_is_told_and_never_repeated_here(
    client: DiscordAccount, world: World, general: Channel, fault: Fault, kind: type[PlatformError]
) -> None:
    """H-22, H-24 to H-29: one request, one answer; discord.py neither sleeps nor tries again."""
    world.faults.add(replace(fault))
    world.record.calls.clear()
    with pytest.raises(PlatformError) as problem:
        await client.page(ChannelId(general.id), before=None)
    assert type(problem.value) is kind
    assert world.record.by_method()[LIST] == 1


async def test_an_account_that_is_refused_again_and_again_rests(
    client: DiscordAccount, world: World, general: Channel
) -> None:
    """H-28: far below 10,000 refusals the whole account waits ten minutes, and says why."""
    world.faults.add(Fault(FaultKind.WAIT, LIST, count=50, seconds=0.001))
    waits: list[AskedToWait] = []
    while not waits or waits[-1].scope.kind is not ScopeKind.ACCOUNT:
        with pytest.raises(AskedToWait) as asked:
            await client.page(ChannelId(general.id), before=None)
        waits.append(asked.value)
    assert len(waits) == 25
    assert waits[-1].pause == timedelta(minutes=10)
    assert "refused 25 calls in a row" in str(waits[-1])


async def test_limits_are_known_before_a_call(client: DiscordAccount, world: World, general: Channel) -> None:
    """H-25: the last call that is allowed tells how long the next would be refused; other channels go on."""
    world.limits.scale = 1.0
    for _ in range(5):
        assert client.refused_for(LIST, ChannelId(general.id)) == 0
        await client.page(ChannelId(general.id), before=None)
    assert 4 < client.refused_for(LIST, ChannelId(general.id)) <= 5
    assert client.refused_for(LIST, ChannelId(1)) == 0
    assert client.refused_for(SEND, ChannelId(general.id)) == 0


# Sends


async def test_a_send_repeated_is_one_message(client: DiscordAccount, world: World, general: Channel) -> None:
    """claim-before-send: the same key is the same message, while Discord remembers it."""
    first = await client.send(ChannelId(general.id), "hello", key=KEY)
    again = await client.send(ChannelId(general.id), "hello", key=KEY)
    assert first == again
    assert len(world.record.sends) == 1
    assert first.message == general.head
    assert await client.send(ChannelId(general.id), "hello", key=SendKey("another")) != first


async def test_a_send_nobody_answered_is_unknown(client: DiscordAccount, world: World, general: Channel) -> None:
    """claim-before-send: it was taken, and the same key finds it."""
    world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SEND))
    with pytest.raises(OutcomeUnknown):
        await client.send(ChannelId(general.id), "hello", key=KEY)
    found = await client.send(ChannelId(general.id), "hello", key=KEY)
    assert found.message == general.head
    assert len(world.record.sends) == 1


async def test_discords_own_trouble_leaves_a_send_unknown(
    client: DiscordAccount, world: World, general: Channel
) -> None:
    """Nobody knows whether it was taken before it failed."""
    world.faults.add(Fault(FaultKind.ERROR, SEND, code="500"))
    with pytest.raises(OutcomeUnknown):
        await client.send(ChannelId(general.id), "hello", key=KEY)


async def test_files_go_along_in_the_same_call(client: DiscordAccount, world: World, general: Channel) -> None:
    """Text and files are one message, and the bytes arrive as they are."""
    files = [Enclosure("tide.txt", b"low"), Enclosure("table.csv", b"\x00\xff" * 1000)]
    receipt = await client.send_with(ChannelId(general.id), "today", files, key=KEY)
    assert [(one.name, one.bytes) for one in world.record.uploads] == [("tide.txt", 3), ("table.csv", 2000)]
    page = await client.page(ChannelId(general.id), before=None)
    assert page.messages[0].id == receipt.message
    assert page.messages[0].text == "today"
    assert [(one.name, one.size) for one in page.messages[0].files] == [("tide.txt", 3), ("table.csv", 2000)]
    again = await client.send_with(ChannelId(general.id), "today", files, key=KEY)
    assert again == receipt
    assert len(world.record.sends) == 1


async def test_a_text_calls_nobody(client: DiscordAccount, world: World, general: Channel) -> None:
    """An @everyone in a reminder's text stays text: no mention is allowed."""
    await client.send(ChannelId(general.id), "@everyone hello", key=KEY)
    assert general.history.get(general.head).text == "@everyone hello"  # type: ignore[union-attr]
