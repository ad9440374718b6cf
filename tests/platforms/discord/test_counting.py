"""calls-through-a-lane: what the ledger counts and what the platform counts is the same, method by method."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.platforms.drawer import Drawer
from tests.waiting import PATIENCE
from tidegate.core.clock import SystemClock
from tidegate.core.errors import ChannelGone, OutcomeUnknown, Refused, SignedOut
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog, sums
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.platforms.interface import CannotAsk, Enclosure, SendKey

QUICK = ReadLimits(per_second=None, at_once=100)
BRISK = SendLimits(Allowance(ceiling=1_000, burst=50, floor=1), at_once=5)
LIST = "GET /channels/{channel.id}/messages"
SEND = "POST /channels/{channel.id}/messages"


@dataclass
class Harbour:
    """A lane on a loopback Discord, whose ledger counts connecting as well."""

    lane: Lane
    call_log: CallLog
    database: Database
    world: World
    guild: Guild
    general: Channel

    @property
    def channel(self) -> ChannelId:
        return ChannelId(self.general.id)

    async def ledgered(self) -> Counter[str]:
        await self.call_log.flush()
        counted: Counter[str] = Counter()
        async with self.database.connection() as connection:
            for one in await sums(connection):
                counted[one.method] += one.count
        return +counted


@pytest.fixture
async def harbour(
    database: Database, discord: DiscordServer, bot: Bot, guild: Guild, general: Channel
) -> AsyncIterator[Harbour]:
    clock, world = SystemClock(), discord.world
    call_log = CallLog(database, clock)
    account = await add_account(database, "gate", DISCORD)

    async def find(_: str) -> str:
        return discord.address

    drawer = Drawer({SIGN_IN: world.token(bot).encode()})
    client = await discord_opener(clock, find_loopback=find)(account, drawer, call_log.connecting(account.id))
    assert isinstance(client, DiscordAccount)
    lane = await open_lane(account, client, call_log, database, sends=BRISK)
    yield Harbour(lane, call_log, database, world, guild, general)
    await lane.close()
    await call_log.close()


async def test_every_verb_counts_as_discord_counts(harbour: Harbour) -> None:
    """Reads, sends, listings and connecting: equal sums, and what was told costs nothing."""
    lane, channel = harbour.lane, harbour.channel
    await lane.survey()
    await lane.guilds()
    await lane.guild_channels(GuildId(harbour.guild.id))
    await lane.guild_threads(GuildId(harbour.guild.id))
    await lane.archived_threads(channel)
    await lane.archived_threads(channel, private=True)
    await lane.page(channel, before=None)
    await lane.page_after(channel, after=MessageId(1))
    await lane.messages(channel, [MessageId(harbour.general.head)])
    await lane.send(channel, "hello", key=SendKey("1"))
    await lane.send_with(channel, "a file", [Enclosure("a.txt", b"a")], key=SendKey("2"))
    harbour.world.delete(harbour.general, [one.id for one in harbour.general.history.before(None, 100)])
    await lane.page(channel, before=None)  # empty, so the right to read has to be proven
    counted = await harbour.ledgered()
    assert counted == harbour.world.record.by_method()
    assert counted[LIST] == 4
    assert counted[SEND] == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.WAIT, LIST, count=3, seconds=0.02),
        Fault(FaultKind.WAIT, LIST, count=2, seconds=0.02, code="global"),
        Fault(FaultKind.WAIT, LIST, count=2, seconds=0.02, code="shared"),
        Fault(FaultKind.ERROR, LIST, count=2, code="503"),
        Fault(FaultKind.DISCONNECT, LIST, count=2),
    ],
    ids=["bucket", "global", "shared", "503", "broken"],
)
async def test_what_is_tried_again_is_counted_again(harbour: Harbour, fault: Fault) -> None:
    """H-25, H-26, H-29: the lane tries again, once for each refusal, and the page is right in the end."""
    tries = fault.count + 1
    harbour.world.faults.add(fault)
    page = await harbour.lane.page(harbour.channel, before=None)
    assert len(page.messages) == 3
    counted = await harbour.ledgered()
    assert counted == harbour.world.record.by_method()
    assert counted[LIST] == tries


async def test_what_is_final_is_asked_once(harbour: Harbour) -> None:
    """H-22, H-24, H-42: a closed door, a refused question and a sign-out cost one call, or none."""
    lane, world, general = harbour.lane, harbour.world, harbour.general
    general.overwrites.append(
        Overwrite(harbour.guild.id, member=False, allow=Permission(0), deny=Permission.MANAGE_THREADS)
    )
    with pytest.raises(Refused):
        await lane.archived_threads(harbour.channel, private=True)
    with pytest.raises(CannotAsk):
        await lane.page(harbour.channel, before=MessageId(0))
    with pytest.raises(ChannelGone):
        await lane.page(ChannelId(12345), before=None)
    world.faults.add(Fault(FaultKind.SIGNED_OUT, LIST))
    with pytest.raises(SignedOut):
        await lane.page(harbour.channel, before=None)
    with pytest.raises(SignedOut):
        await lane.page(harbour.channel, before=None)
    assert lane.gate.stopped is not None
    await lane.close()
    assert await harbour.ledgered() == world.record.by_method()


async def test_a_send_in_doubt_is_counted_once(harbour: Harbour) -> None:
    """claim-before-send: the lane does not repeat a send; whoever does so with the same key finds the first."""
    harbour.world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SEND))
    with pytest.raises(OutcomeUnknown):
        await harbour.lane.send(harbour.channel, "hello", key=SendKey("1"))
    assert len(harbour.world.record.sends) == 1
    assert await harbour.ledgered() == harbour.world.record.by_method()
    assert harbour.lane.removes_duplicates


async def test_the_lane_keeps_discords_limits_without_a_refusal(harbour: Harbour) -> None:
    """H-25: five pages in a (scaled) window a channel; twelve pages of two channels at once get no 429."""
    other = harbour.world.add_channel(harbour.guild, "other")
    harbour.world.post(other, "hello")
    harbour.world.limits.scale = 0.05
    both = [harbour.channel, ChannelId(other.id)]
    await asyncio.gather(*(harbour.lane.page(channel, before=None) for channel in both for _ in range(12)))
    assert [call for call in harbour.world.record.calls if call.status == 429] == []
    assert await harbour.ledgered() == harbour.world.record.by_method()


async def test_reconnecting_is_counted_too(harbour: Harbour, discord: DiscordServer) -> None:
    """A lost connection costs a resume, counted as connecting on both sides; a new thread costs nothing."""
    discord.gateway.hang_up(4000)
    thread = threads.start(harbour.world, harbour.general, "a thread", text="hello")
    async with asyncio.timeout(PATIENCE):
        while ChannelId(thread.id) not in (harbour.lane.known_heads() or {}):
            await harbour.lane.hints(most=1)
    counted = await harbour.ledgered()
    assert counted == harbour.world.record.by_method()
    assert counted["gateway resume"] == 1
