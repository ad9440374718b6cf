"""H-07 to H-10, H-23, H-32 to H-37: what the gateway tells is stored as it comes, and never hides a gap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.cycles.guilds.conftest import CHANNELS, PAGES, GuildMirror, channels_of, portions_of, talk
from tests.waiting import until
from tidegate.history.raw_json import unpack
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.places import Guild
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.world_changes import change
from tidegate.loopback.faults import Fault, FaultKind


async def test_h07_a_live_message_hides_no_gap(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-07: what was missed before the session is fetched, the live message is stored, one stretch in the end."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    talk(world, made, 30, "missed")
    await mirror.connect(live=True)
    talk(world, made, 1, "live")
    async with mirror.working(), mirror.counted() as calls:

        async def complete() -> bool:
            return await mirror.equals_truth(made) and await mirror.covered(made) == [(0, made.head)]

        await until(complete)
    assert calls[PAGES] == 1


async def test_news_cost_nothing_once_the_gap_is_closed(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Everything above the head at which the session began is told: stored, covered, 0 calls."""
    made = channels_of(world, guild, [5, 5])
    await mirror.connect(live=True)
    async with mirror.working():

        async def complete() -> bool:
            return all([await mirror.covered(channel) == [(0, channel.head)] for channel in made])

        await until(complete)
        async with mirror.counted() as calls:
            for channel in made:
                talk(world, channel, 50, "live")
            await until(complete)
            assert await mirror.equals_truth(*made)
        assert calls[PAGES] == 0


async def test_a_server_that_is_boosted_is_known_to_take_larger_files(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The gateway tells it without a call, and reminders go by what is stored of a channel."""
    channels_of(world, guild, [1, 1])

    async def limits() -> set[int | None]:
        return {row["largest_file"] for row in await mirror.rows("SELECT largest_file FROM channels")}

    async def are(limit: int) -> bool:
        return await limits() == {limit}

    await mirror.connect()
    await mirror.cycle()
    assert await limits() == {10 << 20}
    await mirror.connect(live=True)
    async with mirror.working(), mirror.counted() as calls:
        change(world, ChangeSpec(guild=guild.name, premium_tier=3))
        await until(lambda: are(100 << 20))
    assert not calls[CHANNELS]


async def test_h08_a_resumed_session_costs_nothing(
    mirror: GuildMirror, discord: DiscordServer, world: World, guild: Guild
) -> None:
    """H-08: a short drop; what happened meanwhile is replayed in order, without a call."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made))
        async with mirror.counted() as calls:
            discord.gateway.hang_up(1006)
            talk(world, made, 20, "meanwhile")
            await until(lambda: mirror.at_rest(made))
        assert calls[PAGES] == 0


async def test_h09_after_a_lost_session_the_gap_is_exact(
    mirror: GuildMirror, discord: DiscordServer, world: World, guild: Guild
) -> None:
    """H-09: op 9 refuses to resume; the new session's stretch begins at its head, and the gap between is closed."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made))
        async with mirror.counted() as calls:
            discord.gateway.invalidate(resumable=False)
            talk(world, made, 20, "meanwhile")
            await until(lambda: mirror.at_rest(made))
        assert calls[PAGES] <= 1


async def test_h09_news_of_a_new_session_do_not_cover_the_gap(
    mirror: GuildMirror, discord: DiscordServer, world: World, guild: Guild
) -> None:
    """H-09, live-never-closes-a-gap: while the gap cannot be read it stays a gap, whatever is told live above it."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made))
        before, connections = made.head, len(world.record.sessions)
        world.faults.add(Fault(FaultKind.ERROR, PAGES, count=1_000, code="400 50035"))
        discord.gateway.invalidate(resumable=False)
        missed = talk(world, made, 20, "meanwhile")

        async def told_of_the_gap() -> bool:
            connected = len(world.record.sessions) > connections and mirror.lane.known_heads() is not None
            return connected and (await mirror.history(made)).known.head == missed[-1]

        await until(told_of_the_gap)
        [live] = talk(world, made, 1, "live")

        async def is_stored() -> bool:
            return live in await mirror.stored(made)

        await until(is_stored)
        assert await mirror.covered(made) == [(0, before), (missed[-1] + 1, live)]
        world.faults.clear()
        await mirror.cycle(made)
        await until(lambda: mirror.at_rest(made))


async def test_h10_a_post_between_two_pages_is_stored_once(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-10: the walk goes on to the head it began with, the news come live; no hole, no page too many."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    talk(world, made, 500, "missed")
    mirror.policy = portions_of(1)
    await mirror.connect(live=True)
    async with mirror.working(), mirror.counted() as calls:

        async def begun() -> bool:
            return len(await mirror.stored(made)) > 100

        async def complete() -> bool:
            return await mirror.equals_truth(made) and await mirror.covered(made) == [(0, made.head)]

        await until(begun)
        talk(world, made, 3, "between")
        await until(complete)
    assert calls[PAGES] == 5


async def test_h23_a_deleted_channel_keeps_what_is_stored(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-23: told by an event, it costs no call; rows stay and are never asked for again."""
    from tidegate.loopback.discord.world.threads import delete

    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working():

        async def gone() -> bool:
            return await mirror.state(made) == "deleted"

        await until(lambda: mirror.at_rest(made))
        async with mirror.counted() as calls:
            delete(world, made)
            await until(gone)
        assert not calls
        assert len(await mirror.stored(made)) == 5


async def test_a_survey_does_not_revive_a_channel_deleted_meanwhile(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-23: a cycle that began before the deletion and stores its survey after it leaves the channel deleted."""
    from tidegate.loopback.discord.world.threads import delete

    made, _ = channels_of(world, guild, [5, 5])
    await mirror.connect(live=True)

    async def blocked() -> int:
        query = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return len(await mirror.rows(query))

    async def cycles() -> int:
        [row] = await mirror.rows("SELECT cycle FROM accounts")
        return int(row["cycle"])

    async with mirror.working() as scheduler:
        await until(lambda: mirror.at_rest(made))
        before = await cycles()
        async with mirror.database.transaction() as connection:
            await connection.execute("SELECT FROM accounts FOR UPDATE")
            scheduler.requests(mirror.account.id).hint(None)
            waiting = await until(blocked)
            delete(world, made)

            async def more_wait() -> bool:
                return await blocked() > waiting

            await until(more_wait)

        async def over() -> bool:
            return await cycles() > before and await mirror.state(made) == "deleted"

        await until(over)


async def test_h32_a_bulk_deletion_is_one_transaction(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-32: a hundred tombstones with one instant, written together."""
    [made] = channels_of(world, guild, [150])
    await mirror.connect(live=True)
    async with mirror.working():

        async def complete() -> bool:
            return await mirror.equals_truth(made)

        await until(complete)
        world.delete(made, sorted(message.id for message in made.history)[20:120])
        await until(complete)
    rows = await mirror.rows("SELECT DISTINCT xmin::text FROM messages WHERE deleted_at IS NOT NULL")
    [gone] = await mirror.rows("SELECT count(*) AS n FROM messages WHERE deleted_at IS NOT NULL")
    assert (len(rows), gone["n"]) == (1, 100)


async def test_h33_h36_h37_edits_of_any_age_are_applied(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-33, H-36, H-37: an edit of a message nobody stored stores it; two edits leave two earlier texts."""
    [made] = channels_of(world, guild, [300])
    mirror.policy = portions_of(1, target=100)
    await mirror.connect(live=True)
    async with mirror.working():
        oldest, newest = min(made.history, key=lambda one: one.id).id, made.head

        async def read() -> bool:
            return len(await mirror.stored(made)) == 100

        async def edited() -> bool:
            texts = await mirror.stored(made)
            return texts.get(oldest) == "found again" and texts[newest] == "third"

        await until(read)
        world.edit(made, oldest, text="found again")
        world.edit(made, newest, text="second")
        world.edit(made, newest, text="third")
        await until(edited)
    rows = await mirror.rows("SELECT text FROM message_revisions WHERE message = $1 ORDER BY number", newest)
    assert [row["text"] for row in rows] == ["talk 299", "second"]
    assert not (await mirror.history(made)).known.coverage.reached_start


async def test_h35_an_unfurled_link_is_no_edit(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-35: the platform fills in a preview: the text stays, and no revision is counted."""
    [made] = channels_of(world, guild, [3])
    await mirror.connect(live=True)
    async with mirror.working():

        async def complete() -> bool:
            return await mirror.equals_truth(made)

        async def unfurled() -> bool:
            rows = await mirror.rows("SELECT raw FROM messages WHERE id = $1", made.head)
            return "A page" in str(unpack(rows[0]["raw"]))

        await until(complete)
        world.edit(made, made.head, embeds=[{"title": "A page", "type": "link"}])
        await until(unfurled)
        assert await complete()
    assert await mirror.rows("SELECT 1 FROM message_revisions") == []


async def test_a_deletion_that_overtakes_its_message_stays(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Order does not matter: what was deleted at once is not alive in the end, whatever page shows it later."""
    [made] = channels_of(world, guild, [3])
    await mirror.connect(live=True)
    async with mirror.working():
        gone = world.post(made, "a slip")
        world.delete(made, [gone.id])

        async def complete() -> bool:
            return await mirror.equals_truth(made) and await mirror.covered(made) == [(0, made.head)]

        await until(complete)


async def test_h44_a_wrong_clock_changes_no_bound(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-44: a day off in either direction: coverage speaks in the platform's own numbers."""
    [made] = channels_of(world, guild, [120])
    for now in (datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(days=1)):
        await mirror.rows("UPDATE held_clock SET now = $1 RETURNING 1", now)
        talk(world, made, 5)
        await mirror.connect()
        await mirror.cycle()
        assert await mirror.covered(made) == [(0, made.head)]
        assert await mirror.equals_truth(made)


async def test_h45_a_second_ready_begins_nothing_twice(
    mirror: GuildMirror, discord: DiscordServer, world: World, guild: Guild
) -> None:
    """H-45: two new sessions in a row: one that listens, each message stored once, and no history is read anew."""
    made = channels_of(world, guild, [150, 150])
    await mirror.connect(live=True)
    async with mirror.working():

        async def complete() -> bool:
            covered = [await mirror.covered(channel) == [(0, channel.head)] for channel in made]
            return all(covered) and await mirror.equals_truth(*made)

        await until(complete)
        async with mirror.counted() as calls:
            for _ in range(2):
                known = len(world.record.sessions)
                discord.gateway.invalidate(resumable=False)

                async def connected_again(known: int = known) -> bool:
                    return len(world.record.sessions) > known and mirror.lane.known_heads() is not None

                await until(connected_again)
            talk(world, made[0], 3, "after")
            await until(complete)
        assert calls[PAGES] <= 1
    [row] = await mirror.rows("SELECT count(*) AS stored, count(DISTINCT (channel, id)) AS single FROM messages")
    assert row["stored"] == row["single"] == 303


async def test_what_was_not_mirrored_for_a_while_is_not_taken_for_complete(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """A channel that was disabled while people talked has a gap there, and that is read later.

    Invariant: live-never-closes-a-gap.
    """
    [made] = channels_of(world, guild, [5])
    await mirror.connect(live=True)
    async with mirror.working() as rounds:

        async def complete() -> bool:
            return await mirror.equals_truth(made) and await mirror.covered(made) == [(0, made.head)]

        await until(complete)
        await mirror.rows("UPDATE channels SET enabled = false RETURNING 1")
        talk(world, made, 3, "unheard")
        await rounds.requests(mirror.account.id).ask(None)
        await mirror.rows("UPDATE channels SET enabled = true RETURNING 1")
        talk(world, made, 2, "heard")
        await until(complete)
