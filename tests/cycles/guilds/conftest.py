"""A mirror of a loopback Discord in the test's own process: the real client, a real database, and its clock held."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.platforms.discord.people import CONTROL
from tests.platforms.drawer import Drawer
from tests.scenes import discord_server
from tidegate.core.account import Account
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.ids import ChannelId
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_report import CycleReport
from tidegate.cycles.guild_cycle import run_guild_cycle
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.cycles.schedule.guild_scheduler import GuildScheduler
from tidegate.database.pool import Database
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.lanes import Lane
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.database_clock import hold
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.scans.scan_context import ScanContext

discord, world = discord_server.discord, discord_server.world
bot, guild = discord_server.bot, discord_server.guild

PAGES = "GET /channels/{channel.id}/messages"
CHANNELS, THREADS = "GET /guilds/{guild.id}/channels", "GET /guilds/{guild.id}/threads/active"
COUNTING = CyclePolicy(history=HistoryPolicy(reconcile_calls=0))
"""As H-01 to H-12 are counted: nothing is compared beyond what catching up needs."""


def portions_of(pages: int, **policy: Any) -> CyclePolicy:
    """A policy with portions of so many pages, one at a time."""
    budget = PortionBudget(rounds=pages, batches=1, messages=pages * 100)
    return CyclePolicy(history=replace(COUNTING.history, budget=budget, **policy))


@dataclass
class GuildMirror:
    """One bot of a loopback Discord, mirrored cycle by cycle."""

    database: Database
    discord: DiscordServer
    call_log: CallLog
    account: Account
    drawer: Drawer
    policy: CyclePolicy = COUNTING
    epoch: int = 0
    _lane: Lane | None = None
    opened: list[Lane] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.discord.world

    @property
    def lane(self) -> Lane:
        assert self._lane is not None
        return self._lane

    @property
    def context(self) -> ScanContext:
        return ScanContext(self.lane, self.database, None, self.policy.limits, self.policy.retries)

    async def connect(self, *, live: bool = False, clock: Clock | None = None) -> Lane:
        """A lane as a worker has it; a second call is a restart. *live* listens to the gateway.

        The lane waits by *clock*, the client by the machine's own.
        """
        if self._lane is not None:
            await self._lane.close()

        async def find(control: str) -> str:
            assert control == CONTROL
            return self.discord.address

        note = self.call_log.connecting(self.account.id)
        client = await discord_opener(SystemClock(), live=live, find_loopback=find)(self.account, self.drawer, note)
        self._lane = await open_lane(
            self.account, client, self.call_log, self.database, clock=clock, epoch=lambda: self.epoch
        )
        return self._lane

    async def cycle(self, *only: Channel, policy: CyclePolicy | None = None) -> CycleReport:
        """One cycle, as a command makes it; over *only* some channels where they are given."""
        return await run_guild_cycle(
            self.lane,
            self.database,
            SystemClock(),
            policy or self.policy,
            heads=self.lane.known_heads,
            only=[ChannelId(one.id) for one in only] or None,
            compared_since=await self.now(),
        )

    @asynccontextmanager
    async def working(self) -> AsyncIterator[GuildScheduler]:
        """The account being worked for in the block, as by a worker: live, with cycles when something asks for one."""
        times = CycleTimetable(timedelta(hours=1), soon=timedelta(milliseconds=10))
        rounds = GuildScheduler(self.database, SystemClock(), self.policy, times)
        task = asyncio.create_task(rounds.work(self.lane))
        try:
            yield rounds
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (problem := task.exception()) is not None:
                raise problem

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[Counter[str]]:
        """What the platform itself counts in the block."""
        before, counted = self.world.record.by_method(), Counter[str]()
        yield counted
        counted.update(self.world.record.by_method() - before)

    async def rows(self, query: str, *values: Any) -> list[asyncpg.Record]:
        return await self.database.pool.fetch(query, *values)

    async def now(self) -> datetime:
        [row] = await self.rows("SELECT clock_now() AS now")
        return row["now"]

    async def pass_time(self, **span: float) -> None:
        await self.database.pool.execute("UPDATE held_clock SET now = now + $1", timedelta(**span))

    async def stored(self, channel: Channel) -> dict[int, str]:
        """What is stored of a channel and not deleted: the text of each message."""
        rows = await self.rows(
            "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
            "WHERE c.number = $1 AND m.deleted_at IS NULL ORDER BY m.id",
            channel.id,
        )
        return {row["id"]: row["text"] for row in rows}

    async def history(self, channel: Channel) -> ChannelHistory:
        async with self.database.connection() as connection:
            [found] = await channel_histories.of_reader(connection, self.account.id, numbers=[ChannelId(channel.id)])
        return found

    async def covered(self, channel: Channel) -> list[tuple[int, int]]:
        """The stretches of a channel's history that are complete; none while it is not known."""
        async with self.database.connection() as connection:
            found = await channel_histories.of_reader(connection, self.account.id, numbers=[ChannelId(channel.id)])
        return [(low, high) for one in found for low, high in one.known.coverage.spans]

    async def at_rest(self, channel: Channel) -> bool:
        """Whether all of a channel is stored and known to be, and its threads were listed, which is done last."""
        to_list = await self.rows("SELECT FROM channels WHERE private_archives_listed_at IS NULL")
        complete = await self.equals_truth(channel) and await self.covered(channel) == [(0, channel.head)]
        return complete and not to_list

    async def state(self, channel: Channel) -> str:
        [row] = await self.rows("SELECT state FROM channels WHERE number = $1", channel.id)
        return str(row["state"])

    async def equals_truth(self, *channels: Channel) -> bool:
        return all([await self.stored(channel) == truth(channel) for channel in channels])


def truth(channel: Channel) -> dict[int, str]:
    """A channel's messages as the platform holds them."""
    return {message.id: message.text for message in channel.history}


def talk(world: World, channel: Channel, count: int, text: str = "talk") -> list[int]:
    """Somebody posts so many messages; their ids."""
    return [world.post(channel, f"{text} {number}").id for number in range(count)]


def channels_of(world: World, guild: Guild, sizes: Iterable[int]) -> list[Channel]:
    """Channels with so many messages each."""
    made = [world.add_channel(guild, f"channel-{number}") for number, _ in enumerate(sizes)]
    for channel, size in zip(made, sizes, strict=True):
        talk(world, channel, size)
    return made


@pytest.fixture
async def mirror(database: Database, discord: DiscordServer, bot: Bot) -> AsyncIterator[GuildMirror]:
    """The bot's account, not connected yet."""
    await hold(database, datetime.now(UTC))
    account = await add_account(database, "gate", DISCORD)
    call_log = CallLog(database, SystemClock())
    made = GuildMirror(database, discord, call_log, account, Drawer({SIGN_IN: discord.world.token(bot).encode()}))
    yield made
    if made._lane is not None:
        await made._lane.close()
    await call_log.close()
