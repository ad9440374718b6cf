"""The cycles of accounts whose channels live in guilds, and what is done for them besides."""

from __future__ import annotations

from datetime import datetime

from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.guild_live import GuildLive
from tidegate.mirror.guilds import list_archived, run_guild_cycle
from tidegate.mirror.report import Report
from tidegate.mirror.rounds import Desk, Rounds
from tidegate.mirror.scan import Hand
from tidegate.port import ChannelId
from tidegate.store import guilds
from tidegate.words import AccountId


class GuildRounds(Rounds):
    """As everywhere, but for what a cycle is, what is live, and that archived threads are listed once."""

    _lives: dict[AccountId, GuildLive]
    _served_since: dict[AccountId, datetime]

    async def begin(self) -> None:
        self._lives, self._served_since = {}, {}
        await super().begin()

    async def work(self, lane: Lane) -> None:
        """Make cycles for as long as the account is served; what was compared before that may have changed since."""
        async with self._database.connection() as connection:
            self._served_since[lane.account.id] = await connection.fetchval("SELECT clock_now()")
        self._lives[lane.account.id] = GuildLive(self._hand(lane), self.desk(lane.account.id), self._clock)
        await super().work(lane)

    async def _hear(self, lane: Lane, desk: Desk) -> None:
        await self._lives[lane.account.id].follow()

    async def _cycle(self, lane: Lane, only: set[ChannelId] | None, since: int | None) -> Report:
        account = lane.account.id
        return await run_guild_cycle(
            lane,
            self._database,
            self._clock,
            self._habits,
            heads=self._lives[account].heads() if only is None else None,
            only=only,
            since=since,
            compared_since=self._served_since[account],
        )

    async def _read_histories(self, hand: Hand) -> None:
        """What is missing, and then once for each channel the threads that were archived before we came."""
        await backfill_missing(hand, self._habits.history)
        async with self._database.connection() as connection:
            parents = await guilds.never_listed(connection, hand.lane.account.id)
        for parent in parents:
            await list_archived(hand, parent, [], private=True)
        if parents:
            await backfill_missing(hand, self._habits.history)

    def _hand(self, lane: Lane) -> Hand:
        return Hand(lane, self._database, None, self._habits.limits, self._habits.retries)
