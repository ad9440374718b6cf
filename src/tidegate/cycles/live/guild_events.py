"""Push updates of a platform with guilds, stored as they arrive (live-never-closes-a-gap).

The updates of all channels form one stream. While it is unbroken, every message above the head at which it began
arrives, so that range is covered. Messages between the newest stored one and that head are a gap, which the cycle
reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

import structlog

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import guilds
from tidegate.core.clock import Clock
from tidegate.core.errors import Banned, NotOurs, PlatformError, SignedOut
from tidegate.core.ids import ChannelId, MessageId
from tidegate.cycles.schedule.cycle_requests import CycleRequests
from tidegate.database.pool import AWAY, Connection
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import channel_histories, coverage
from tidegate.history.rules.coverage import Content
from tidegate.history.rules.page_proof import unbroken
from tidegate.media import avatars
from tidegate.platforms.interface import Head, UpdateHint, UpdateStream
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

AT_ONCE = 1_000
"""Maximum number of updates stored together; the others wait in the platform's client."""

_AGAIN = timedelta(seconds=1)


class GuildEvents:
    """One account's stream. *since* is, for each channel, the head at which it began; empty while it is broken."""

    def __init__(self, context: ScanContext, requests: CycleRequests, clock: Clock) -> None:
        self.since: dict[ChannelId, int] = {}
        self._context = context
        self._requests = requests
        self._clock = clock
        self._lost = False

    def heads(self) -> Mapping[ChannelId, Head] | None:
        """The heads up to which a cycle has to read the channels; None when the platform has to be asked.

        Messages posted after the stream began arrive through it, so the cycle reads only up to the head at that time.
        """
        known = self._context.lane.known_heads()
        if known is None:
            return None
        # Message counts are current, and would not match the message at which the stream began.
        return {
            number: replace(head, newest=self._newest(number, head), messages=None, posted=None)
            for number, head in known.items()
        }

    def lost_updates(self) -> bool:
        """Whether the stream broke since the last call of this, so that edits and deletions may have been missed."""
        lost, self._lost = self._lost, False
        return lost

    def _newest(self, number: ChannelId, head: Head) -> MessageId | None:
        since = self.since.get(number)
        return head.newest if since is None else MessageId(since) if since else None

    async def follow(self) -> None:
        """Store push updates as they arrive; an error that prevents this is raised."""
        try:
            while (hints := await self._next()) is not None:
                await self._store(hints)
        finally:
            self.since.clear()

    async def _next(self) -> Sequence[UpdateHint] | None:
        """The updates that have arrived; None when there will be no more."""
        lane = self._context.lane
        while True:
            try:
                return await lane.hints(most=AT_ONCE)
            except NotOurs:  # no heartbeat now; the updates wait in the client
                await self._clock.sleep(_AGAIN)
            except (SignedOut, Banned):
                raise
            except PlatformError as problem:
                log.debug("hints.ended", account=lane.account.name, problem=str(problem))
                return None

    async def _store(self, hints: Sequence[UpdateHint]) -> None:
        """Store updates in order; while the database is unavailable, try again and drop nothing."""
        # Separate transactions, because rows are locked in one order: channels never before messages.
        for about_channels, some in groupby(hints, key=lambda hint: hint.updates is None):
            store = self._store_heads if about_channels else self._store_messages
            group, before = list(some), dict(self.since)
            while True:
                try:
                    async with self._context.database.transaction() as connection:
                        await accounts.fence(connection, self._context.lane.claim())
                        await store(connection, group)
                except (NotOurs, *AWAY) as problem:
                    self.since = dict(before)
                    log.warning("updates.not_stored_yet", account=self._context.lane.account.name, problem=str(problem))
                    await self._clock.sleep(_AGAIN)
                else:
                    break

    async def _store_messages(self, connection: Connection, hints: Sequence[UpdateHint]) -> None:
        """Store updates, then the coverage they prove: from the start of the stream to the newest of them.

        Nothing is stored for a channel that is not mirrored, so the stream no longer proves anything about it.
        """
        newest: dict[ScanPlace, int] = {}
        wanted = {hint.channel for hint in hints if hint.channel is not None}
        found = await channel_histories.of_reader(connection, self._context.lane.account.id, numbers=wanted)
        places = {one.place.channel: one.place for one in found}
        for hint in hints:
            if hint.updates is None or hint.channel is None:
                continue
            if (place := places.get(hint.channel)) is None:
                self.since.pop(hint.channel, None)
                continue
            await take_in(connection, place, hint.updates, self._context.lane.account.id, IngestTally())
            newest[place] = max([newest.get(place, 0), *(message.id for message in hint.updates.posted)])
        await self._cover(connection, newest)

    async def _store_heads(self, connection: Connection, hints: Sequence[UpdateHint]) -> None:
        """Store what hints report about the stream and about channels; a cycle reads what is missing below their heads.

        Messages above a channel's head arrive through the stream. The exception is a channel the account has only now
        gained access to. Its head is older, and its first updates show how much is missing.
        """
        account = self._context.lane.account
        for hint in hints:
            if hint.stream is UpdateStream.BROKEN:
                self._lost |= bool(self.since)
                self.since.clear()
            if hint.gone and hint.channel is not None:
                self.since.pop(hint.channel, None)
                await guilds.lose(connection, account.platform, hint.channel)
            if hint.heads is not None:
                await guilds.see(connection, account.platform, account.id, hint.heads)
                heads = hint.heads.values()
                await avatars.note_channels(connection, account.platform, (head.channel for head in heads))
                self._begin(hint.heads, is_start=hint.stream is UpdateStream.BEGAN or hint.channel is not None)
                self._requests.hint(hint.channel)

    def _begin(self, heads: Mapping[ChannelId, Head], *, is_start: bool) -> None:
        for number, head in heads.items():
            if head.channel is not None and not head.channel.visible:
                self.since.pop(number, None)
            elif is_start:
                self.since.setdefault(number, head.newest or 0)

    async def _cover(self, connection: Connection, newest: dict[ScanPlace, int]) -> None:
        """Add the coverage that the stream proves; without a known start it proves nothing."""
        for place, upto in newest.items():
            since = self.since.get(place.channel)
            if since is None:
                self._requests.hint(place.channel)
            elif (span := unbroken(since, upto)) is not None:
                await coverage.add(connection, place.key, dict.fromkeys(Content, span))
            await channel_histories.note_newest(connection, place.key, upto)
