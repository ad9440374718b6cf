"""``cycle --channel`` on Discord looks, whatever is remembered; other commands do only what is asked."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, channels_of, talk
from tests.waiting import until
from tidegate.channels.queries import channels
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId
from tidegate.cycles.guild_cycle import sync_guilds
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.cycles.schedule.guild_scheduler import GuildScheduler
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel, ChannelKind, Guild
from tidegate.loopback.discord.world.threads import start
from tidegate.scans.queries import scan_memory
from tidegate.scans.rules.scan_decision import Verdict


async def ask(mirror: GuildMirror, channel: Channel) -> None:
    async with mirror.database.transaction() as connection:
        await scan_memory.ask(connection, (await channels.find(connection, str(channel.id))).key)


async def test_a_channel_that_is_complete_is_looked_at_when_somebody_asks(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """One page, and the missing message by its number: what changed without a word is found, the wish fulfilled."""
    made, other = channels_of(world, guild, [5, 5])
    await mirror.connect()
    await mirror.cycle()
    made.history.remove(next(iter(made.history)).id)
    await ask(mirror, made)
    async with mirror.counted() as calls:
        report = await mirror.cycle(made)
    assert (calls[PAGES], report.verdicts[Verdict.ASKED]) == (2, 1)
    assert await mirror.equals_truth(made, other)
    async with mirror.counted() as calls:
        await mirror.cycle(made)
    assert calls[PAGES] == 0


async def test_a_board_that_somebody_asks_for_has_its_threads_listed(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """A board has no messages of its own: looking at it is asking for its threads."""
    board = world.add_channel(guild, "board", ChannelKind.FORUM)
    start(world, board, "a post", text="first")
    await mirror.connect()
    await mirror.cycle()
    await ask(mirror, board)
    async with mirror.counted() as calls:
        await mirror.cycle(board)
    assert calls["GET /channels/{channel.id}/threads/archived/public"] == 1


async def test_a_command_that_serves_an_account_for_itself_starts_no_cycle(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The gateway tells of every channel when a command connects; only what somebody asked for is done."""
    made, asked = channels_of(world, guild, [5, 5])
    await mirror.connect(live=True)
    rounds = GuildScheduler(
        mirror.database, SystemClock(), COUNTING, CycleTimetable(None, soon=timedelta(milliseconds=10))
    )
    working = asyncio.create_task(rounds.work(mirror.lane))
    try:
        await until(lambda: mirror.rows("SELECT FROM channels WHERE number = $1", made.id))
        async with mirror.counted() as calls:
            await ask(mirror, asked)
            await rounds.requests(mirror.account.id).ask(ChannelId(asked.id))
        assert calls[PAGES] == 1
        assert await mirror.stored(made) == {}
        assert await mirror.equals_truth(asked)
    finally:
        working.cancel()
        await asyncio.wait([working])


async def test_a_sync_counts_what_the_list_shows(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """A channel that the account may not see is in neither."""
    hidden, made = channels_of(world, guild, [1, 1])
    hidden.overwrites.append(Overwrite(guild.id, member=False, allow=Permission(0), deny=Permission.VIEW_CHANNEL))
    talk(world, made, 1)
    await mirror.connect()
    counted = await sync_guilds(mirror.context)
    async with mirror.database.connection() as connection:
        listed = await channels.listing(connection, mirror.account.id)
    assert counted == len(listed) == 1
