"""What a platform with guilds tells by itself, stored as it comes (law 4).

Its news of all channels are one stream. While that is unbroken, everything above the head at which it began is told, so
it is covered; what lies below that head and above what is stored is a gap, exactly, and left to the cycle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import structlog

from tidegate.clock import Clock
from tidegate.errors import Banned, NotOurs, PlatformError, SignedOut
from tidegate.mirror.desk import Desk
from tidegate.mirror.intake import Tally, take_in
from tidegate.mirror.scan import Hand
from tidegate.port import ChannelId, Head, Hint, MessageId, Stream
from tidegate.rules.history import Content, unbroken
from tidegate.side_by_side import first_of
from tidegate.store import accounts, coverage, guilds, histories
from tidegate.store.database import AWAY, Connection
from tidegate.store.places import Place

log = structlog.get_logger()

MOST_WAITING = 1_000
"""Hints that wait to be stored; beyond that the platform's client keeps them, or says that it lost some."""

_AGAIN = timedelta(seconds=1)


class GuildLive:
    """One account's stream. *since* is, for each channel, the head at which it began; empty while it is broken."""

    def __init__(self, hand: Hand, desk: Desk, clock: Clock) -> None:
        self.since: dict[ChannelId, int] = {}
        self._hand = hand
        self._desk = desk
        self._clock = clock
        self._waiting: asyncio.Queue[Hint] = asyncio.Queue(MOST_WAITING)
        self._lost = False

    def heads(self) -> Mapping[ChannelId, Head] | None:
        """Where the channels stand as far as a cycle has to read them; None when the platform has to be asked.

        What comes after the stream began is told by it, so a channel stands where it stood then.
        """
        told = self._hand.lane.told()
        if told is None:
            return None
        return {number: replace(head, newest=self._newest(number, head)) for number, head in told.items()}

    def lost_news(self) -> bool:
        """Whether the stream broke since this was last asked, so that edits and deletions may have been missed."""
        lost, self._lost = self._lost, False
        return lost

    def _newest(self, number: ChannelId, head: Head) -> MessageId | None:
        since = self.since.get(number)
        return head.newest if since is None else MessageId(since) if since else None

    async def follow(self) -> None:
        """Hear and store, for as long as the platform tells anything; what stops either is raised."""
        try:
            await first_of(self._hear(), self._store())
        finally:
            self.since.clear()

    async def _hear(self) -> None:
        lane = self._hand.lane
        while True:
            try:
                hint = await lane.hint()
            except NotOurs:  # no beat just now; when it is back, so are the hints
                await self._clock.sleep(_AGAIN)
            except (SignedOut, Banned):
                raise
            except PlatformError as problem:
                log.debug("hints.ended", account=lane.account.name, problem=str(problem))
                return
            else:
                await self._waiting.put(hint)

    async def _store(self) -> None:
        """Store whatever has come, in its order; nothing is dropped while the database is away."""
        while True:
            batch = [await self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            # Apart, because rows are locked in one order: those of channels never before those of messages.
            for about_channels, hints in groupby(batch, key=lambda hint: hint.news is None):
                take = self._take_heads if about_channels else self._take_news
                group = list(hints)
                while not await self._stored(take, group):
                    await self._clock.sleep(_AGAIN)

    async def _stored(self, take: Callable[[Connection, Sequence[Hint]], Awaitable[None]], hints: list[Hint]) -> bool:
        before = dict(self.since)
        try:
            async with self._hand.database.transaction() as connection:
                await accounts.fence(connection, self._hand.lane.claim())
                await take(connection, hints)
        except (NotOurs, *AWAY) as problem:
            self.since = before
            log.warning("news.not_stored_yet", account=self._hand.lane.account.name, problem=str(problem))
            return False
        return True

    async def _take_news(self, connection: Connection, hints: Sequence[Hint]) -> None:
        """Store news, and then what they prove: all between where the stream began and the newest of them.

        Of a channel that is not mirrored nothing is stored, so from then on nothing is proven of it either.
        """
        newest: dict[Place, int] = {}
        places = await self._places(connection, hints)
        for hint in hints:
            if hint.news is None or hint.channel is None:
                continue
            if (place := places.get(hint.channel)) is None:
                self.since.pop(hint.channel, None)
                continue
            await take_in(connection, place, hint.news, self._hand.lane.account.id, Tally())
            newest[place] = max([newest.get(place, 0), *(message.id for message in hint.news.posted)])
        await self._cover(connection, newest)

    async def _take_heads(self, connection: Connection, hints: Sequence[Hint]) -> None:
        """What hints say of the stream and of channels; a cycle reads what is missing below their heads.

        From its head on a channel's news are told, unless the account only now got the right to be in it: then its
        head is from before, and its first news show how much is missing.
        """
        for hint in hints:
            if hint.stream is Stream.BROKEN:
                self._lost |= bool(self.since)
                self.since.clear()
            if hint.gone and hint.channel is not None:
                self.since.pop(hint.channel, None)
                await guilds.lose(connection, hint.channel)
            if hint.heads is not None:
                await guilds.see(connection, self._hand.lane.account.id, hint.heads)
                self._begin(hint.heads, told=hint.stream is Stream.BEGAN or hint.channel is not None)
                self._desk.hint(hint.channel)

    def _begin(self, heads: Mapping[ChannelId, Head], *, told: bool) -> None:
        for number, head in heads.items():
            if head.channel is not None and not head.channel.visible:
                self.since.pop(number, None)
            elif told:
                self.since.setdefault(number, head.newest or 0)

    async def _cover(self, connection: Connection, newest: dict[Place, int]) -> None:
        """Cover what the stream has told of channels; where it has no beginning it is stored and nothing more."""
        for place, upto in newest.items():
            since = self.since.get(place.channel)
            if since is None:
                self._desk.hint(place.channel)
            elif (span := unbroken(since, upto)) is not None:
                await coverage.add(connection, place.key, dict.fromkeys(Content, span))
            await histories.note_newest(connection, place.key, upto)

    async def _places(self, connection: Connection, hints: Sequence[Hint]) -> dict[ChannelId, Place]:
        wanted = {hint.channel for hint in hints if hint.channel is not None}
        found = await histories.of_reader(connection, self._hand.lane.account.id, numbers=wanted)
        return {one.place.channel: one.place for one in found}
