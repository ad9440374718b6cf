"""The history scenarios that apply on both platforms, through the same code: Telegram mirrored in full, and Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, truth
from tests.platforms.telegram.people import PHONE
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.history.backfill import Backfill, backfill
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.newest_reconciliation import reconcile
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import HistoryDepth, PortionBudget
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback import discord as discord_world
from tidegate.loopback import telegram as telegram_world
from tidegate.loopback.discord.world.places import Channel as DiscordChannel
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel as TelegramChannel
from tidegate.scans.scan_context import ScanContext

TO_THE_START = HistoryDepth()
ALL = replace(COUNTING.history, budget=PortionBudget(batches=1))


@dataclass
class Talk:
    """One channel on one platform: what people do there, and what is mirrored of it."""

    mirror: Mirror | GuildMirror
    world: telegram_world.World | discord_world.World
    channel: TelegramChannel | DiscordChannel
    pages: str

    @property
    def context(self) -> ScanContext:
        lane = self.mirror.lane
        assert lane is not None
        return ScanContext(lane, self.mirror.database, None, self.mirror.policy.limits, self.mirror.policy.retries)

    def post(self, count: int) -> list[int]:
        return [self.world.post(self.channel, f"message {number}").id for number in range(count)]  # type: ignore[arg-type]

    def truth(self) -> dict[int, str]:
        if isinstance(self.channel, DiscordChannel):
            return truth(self.channel)
        return {number: message.text for number, message in self.channel.messages.items()}

    def lose(self, number: int) -> None:
        """A message goes without a word of the platform, as while nobody listens."""
        if isinstance(self.channel, DiscordChannel):
            self.channel.history.remove(number)
        else:
            del self.channel.messages[number]

    async def know_head(self) -> None:
        """What the gate stores before anything is read."""
        newest = max(self.truth())
        await self.mirror.rows(
            "UPDATE places SET newest_seen = $2 FROM channels c "
            "WHERE c.id = channel AND c.number = $1 AND topic = 0 RETURNING 1",
            self.channel.id, newest,
        )  # fmt: skip

    async def history(self) -> ChannelHistory:
        async with self.mirror.database.connection() as connection:
            [found] = [
                one
                for one in await channel_histories.of_reader(connection, self.mirror.account.id)
                if one.place.channel == self.channel.id
            ]
        return found

    async def read(
        self, policy: HistoryPolicy = ALL, *, wanted: HistoryDepth = TO_THE_START, one_portion: bool = False
    ) -> Backfill:
        await self.know_head()
        return await backfill(self.context, policy, [await self.history()], wanted=wanted, one_portion=one_portion)

    async def stored(self) -> dict[int, str]:
        rows = await self.mirror.rows(
            "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
            "WHERE c.number = $1 AND m.deleted_at IS NULL",
            self.channel.id,
        )
        return {row["id"]: row["text"] for row in rows}

    async def is_complete(self) -> bool:
        covered = (await self.history()).known.coverage
        return await self.stored() == self.truth() and covered.reached_start and len(covered.spans) == 1


@pytest.fixture(params=["telegram", "discord"])
async def talk(
    request: pytest.FixtureRequest, database: Database, mirror: GuildMirror, telegram: TelegramServer
) -> AsyncIterator[Talk]:
    """A channel with nothing in it that people wrote, known to the mirror and not read yet."""
    if request.param == "discord":
        made = mirror.world.add_channel(mirror.world.add_guild("The harbour"), "talk")
        await mirror.connect()
        await mirror.cycle()
        yield Talk(mirror, mirror.world, made, PAGES)
        return
    call_log = CallLog(database, SystemClock())
    reader = await make_mirror(database, telegram, call_log, "reader", PHONE)
    channel = telegram.world.add_channel("talk")
    await reader.sync()
    await reader.enable(channel, in_full=True)
    yield Talk(reader, telegram.world, channel, "messages.getHistory")
    assert reader.lane is not None
    await reader.lane.close()
    await call_log.close()


async def test_h12_a_short_history_is_one_call(talk: Talk) -> None:
    """H-12: a page that is not full is the platform's word that the history is complete."""
    talk.post(98)
    async with talk.mirror.counted() as calls:
        await talk.read()
    assert calls[talk.pages] == 1
    assert await talk.is_complete()


async def test_h06_a_capped_catch_up_leaves_its_exact_gap(talk: Talk) -> None:
    """H-06: what a turn did not reach is on record as a range, and later turns repeat no page of it."""
    talk.post(50)
    await talk.read()
    missed = talk.post(640)
    capped = replace(ALL, budget=PortionBudget(rounds=2, batches=1))
    async with talk.mirror.counted() as calls:
        await talk.read(capped, one_portion=True)
        assert not await talk.is_complete()
        known = (await talk.history()).known
        [(low, high)] = known.coverage.gaps(head=max(known.top, missed[-1]))
        stored = await talk.stored()
        assert {number for number in missed if low <= number <= high} == set(missed) - stored.keys()
        await talk.read(capped)
    assert calls[talk.pages] <= 8
    assert await talk.is_complete()


async def test_h14_the_target_keeps_whole_pages(talk: Talk) -> None:
    """H-14: reached in the middle of a page, the page is kept whole; wanted deeper, it goes on from there."""
    talk.post(400)
    await talk.read(wanted=HistoryDepth(150))
    known = (await talk.history()).known
    assert (known.messages, known.coverage.reached_start) == (200, False)
    assert min(await talk.stored()) == known.coverage.spans[0].low
    await talk.read()
    assert await talk.is_complete()


async def test_h17_h19_a_backfill_that_is_cut_off_goes_on_where_it_was(talk: Talk) -> None:
    """H-17 to H-19: whatever was stored before the cut is not asked for again, but for the pages in flight."""
    talk.post(1_200)
    reading = asyncio.create_task(talk.read())
    while len(await talk.stored()) < 400:
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    before = len(await talk.stored())
    async with talk.mirror.counted() as calls:
        await talk.read()
    assert await talk.is_complete()
    assert calls[talk.pages] <= -(-(1_202 - before) // 100) + 1


async def test_h29_a_page_that_fails_three_times_is_stored_once(talk: Talk) -> None:
    """H-29, platform-ends-history: an error is asked about again, and proves nothing meanwhile."""
    talk.post(250)
    code = "500 INTERNAL" if talk.pages != PAGES else "503 0"
    talk.world.faults.add(Fault(FaultKind.ERROR, talk.pages, count=3, code=code))
    async with talk.mirror.counted() as calls:
        await talk.read()
    assert calls[talk.pages] == 3 + 3
    assert await talk.is_complete()


async def test_h30_h31_h36_edits_and_deletions_behind_our_back_are_found(talk: Talk) -> None:
    """H-30, H-31, H-36: each text is kept as a version, and only what the pages prove is marked deleted."""
    posted = talk.post(320)
    await talk.read()
    for text in ("once", "twice"):
        talk.world.edit(talk.channel, posted[-5], text=text)  # type: ignore[arg-type]
        await reconcile(talk.context, [await talk.history()], limit=100)
    talk.lose(posted[-10])
    talk.lose(posted[3])
    [told] = (await reconcile(talk.context, [await talk.history()], limit=100)).as_json()["channels"]
    assert (told["deleted"], told["error"]) == (1, None)
    assert await talk.stored() == talk.truth() | {posted[3]: "message 3"}
    [row] = await talk.mirror.rows("SELECT count(*) AS versions FROM message_revisions WHERE message = $1", posted[-5])
    assert row["versions"] == 2


async def test_h43_two_at_once_never_fetch_a_page_twice(talk: Talk) -> None:
    """H-43: a cycle and a command, or two commands, share the pages of a channel between them."""
    talk.post(540)
    async with talk.mirror.counted() as calls:
        await asyncio.gather(*(talk.read() for _ in range(3)))
    assert calls[talk.pages] == 6
    assert await talk.is_complete()
