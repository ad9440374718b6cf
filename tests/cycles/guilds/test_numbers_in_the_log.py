"""The numbers in the log lines that operators of the seed watch are those of the store."""

from __future__ import annotations

from dataclasses import replace

from structlog.testing import capture_logs

from tests.cycles.guilds.conftest import GuildMirror, channels_of, portions_of, talk
from tidegate.cycles.guild_cycle import look_around
from tidegate.history.backfill import backfill, backfill_missing
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Guild


async def test_a_catch_up_counts_what_is_new_and_not_what_its_page_repeats(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """150 stored, 50 new, a newest page of 100: fifty were caught up, and the total is 200."""
    [made] = channels_of(world, guild, [150])
    mirror.policy = portions_of(10, reconcile_calls=50)
    await mirror.connect()
    await mirror.cycle()
    talk(world, made, 50)
    await look_around(mirror.context)
    with capture_logs() as logs:
        await backfill(mirror.context, mirror.policy.history, [await mirror.history(made)])
    lines = [line["event"] for line in logs]
    assert "[Backfill] ✓ Caught up 50 new messages." in lines
    assert len(await mirror.stored(made)) == 200


async def test_a_turn_is_summed_up_once_its_backfill_has_ended(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """A turn that a cycle takes has no summary and completes nothing; the backfill beside the cycles has one each."""
    [made] = channels_of(world, guild, [450])
    mirror.policy = portions_of(2)
    await mirror.connect()
    with capture_logs() as logs:
        await mirror.cycle()
        assert not [line for line in logs if "Summary" in line["event"] or "Completed" in line["event"]]
        await backfill_missing(mirror.context, replace(mirror.policy.history))
    lines = [line["event"] for line in logs]
    assert [line for line in lines if "Summary" in line] == [
        "[Backfill] Summary: 1/1 channels successful, 0 failed",
    ]
    assert [line for line in lines if "Completed" in line] == [
        f"[Backfill] ✓ Completed {made.name}: 450/50000 (0%) - Fetched 250 messages"
    ]
    ended = await mirror.rows("SELECT FROM events WHERE kind = 'backfill.ended'")
    assert len(ended) == 1
