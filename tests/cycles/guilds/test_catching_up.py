"""H-01 to H-12: what a cycle over a guild costs, and that it leaves nothing out."""

from __future__ import annotations

from tests.cycles.guilds.conftest import CHANNELS, PAGES, THREADS, GuildMirror, channels_of, portions_of, talk
from tidegate.channels.queries import mirror_states
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.backfill import backfill_missing
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Guild
from tidegate.scans.rules.scan_decision import Verdict


async def versions(mirror: GuildMirror) -> list[object]:
    """The transaction that wrote each row of messages and coverage."""
    rows = await mirror.rows("SELECT xmin::text FROM messages UNION ALL SELECT xmin::text FROM coverage")
    return sorted(row["xmin"] for row in rows)


async def test_h01_an_idle_guild_costs_two_calls(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-01: the channel list and the active threads; no message call, and no message or coverage row is written."""
    channels_of(world, guild, [3] * 40)
    await mirror.connect()
    await mirror.cycle()
    before = await versions(mirror)
    async with mirror.counted() as calls:
        report = await mirror.cycle()
    assert calls == {CHANNELS: 1, THREADS: 1}
    assert report.calls == calls
    assert (report.as_json()["verdicts"], report.changed) == ({"unchanged": 40}, 0)
    assert await versions(mirror) == before


async def test_h02_heads_from_the_gateway_cost_nothing(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-02: the gateway told where every channel stands."""
    channels_of(world, guild, [3] * 10)
    await mirror.connect(live=True)
    await mirror.cycle()
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert not calls


async def test_h03_changed_channels_cost_a_call_each(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-03: 22 calls for 20 changed channels; each has one stretch up to its head, and every row is stored."""
    made = channels_of(world, guild, [5] * 30)
    await mirror.connect()
    await mirror.cycle()
    changed = made[:20]
    for number, channel in enumerate(changed):
        talk(world, channel, 1 + number * 98 // 19, "news")
    async with mirror.counted() as calls:
        report = await mirror.cycle()
    assert calls == {CHANNELS: 1, THREADS: 1, PAGES: 20}
    assert report.changed == 20
    assert await mirror.equals_truth(*made)
    assert all([await mirror.covered(channel) == [(0, channel.head)] for channel in changed])


async def test_a_channel_remembers_when_it_was_last_read_and_why(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Operators see the last verdict of every channel; what a later pass found unchanged was not read again."""
    busy, _ = channels_of(world, guild, [3, 3])
    await mirror.connect()

    async def looks() -> list[tuple[object, ...]]:
        rows = await mirror.rows("SELECT verdict, last_scanned_at FROM places WHERE topic = 0 ORDER BY channel")
        return [tuple(row) for row in rows if row["verdict"]]

    began = await mirror.now()
    await mirror.cycle()
    assert await looks() == [(Verdict.FIRST, began), (Verdict.FIRST, began)]
    await mirror.pass_time(hours=1)
    talk(world, busy, 1)
    await mirror.cycle()
    assert await looks() == [(Verdict.CHANGED, await mirror.now()), (Verdict.UNCHANGED, began)]
    before = await mirror.now()
    await mirror.pass_time(hours=1)
    await mirror.cycle()
    assert await looks() == [(Verdict.UNCHANGED, before), (Verdict.UNCHANGED, began)]


async def test_a_channel_with_nothing_to_read_is_checked_as_well(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """An empty channel does not wait for its first check for ever: it is up to date after the first cycle."""
    channels_of(world, guild, [3, 0])
    await mirror.connect()
    await mirror.cycle()
    async with mirror.database.connection() as connection:
        assert await mirror_states.counts(connection, []) == mirror_states.MirrorCounts(mirrored=2, current=2)


async def test_h04_a_channel_that_is_deep_enough_still_gets_its_news(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-04: the count plays no part in catching up."""
    [made] = channels_of(world, guild, [250])
    mirror.policy = portions_of(10, target=100)
    await mirror.connect()
    await mirror.cycle()
    assert len(await mirror.stored(made)) == 100
    news = talk(world, made, 7, "news")
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 1
    assert set(news) <= (await mirror.stored(made)).keys()


async def test_h05_exactly_a_hundred_new_are_one_call(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-05: a full page whose newest message is the head needs no other."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    talk(world, made, 100, "news")
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 1
    assert await mirror.equals_truth(made)


async def test_h06_a_capped_catch_up_leaves_its_exact_gap(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-06: 1,200 missed, four pages a turn: the rest is on record as a range, and later turns repeat no page."""
    [made] = channels_of(world, guild, [5])
    mirror.policy = portions_of(4)
    await mirror.connect()
    await mirror.cycle()
    news = talk(world, made, 1_200, "news")
    async with mirror.counted() as calls:
        await mirror.cycle()
        assert await mirror.covered(made) == [(0, news[399])]
        known = (await mirror.history(made)).known
        assert known.coverage.gaps(head=known.top) == [(news[399] + 1, news[-1])]
        await backfill_missing(mirror.context, mirror.policy.history)
    assert calls[PAGES] == 12
    assert await mirror.equals_truth(made)


async def test_h11_an_empty_channel_costs_nothing(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-11: no message call, no gap."""
    [made] = channels_of(world, guild, [0])
    await mirror.connect()
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 0
    assert await mirror.covered(made) == []


async def test_h12_ninety_nine_messages_are_one_call(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-12: a short page is the platform's word that the history is complete."""
    [made] = channels_of(world, guild, [99])
    await mirror.connect()
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 1
    assert (await mirror.history(made)).known.coverage.reached_start


async def test_readable_channels_are_mirrored_when_first_seen(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Nobody has to enable them; one that the operator disabled stays so."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    await mirror.rows("UPDATE channels SET enabled = false RETURNING 1")
    talk(world, made, 3)
    other = world.add_channel(guild, "new one")
    talk(world, other, 3)
    await mirror.cycle()
    assert await mirror.equals_truth(other)
    assert len(await mirror.stored(made)) == 5


async def test_after_a_catch_up_the_newest_messages_are_compared_all_the_same(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """``message_sync_limit`` is kept: 150 are new, and an edit of the 180th newest is found in the same cycle."""
    [made] = channels_of(world, guild, [300])
    mirror.policy = CyclePolicy()
    await mirror.connect()
    await mirror.cycle()
    await mirror.pass_time(hours=1)
    talk(world, made, 150, "news")
    edited = sorted(one.id for one in made.history)[-180]
    world.edit(made, edited, text="another word")
    await mirror.cycle()
    assert (await mirror.stored(made))[edited] == "another word"
