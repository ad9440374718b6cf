"""Files posted on Discord: kept with their messages, and found by their names."""

from __future__ import annotations

from tests.cycles.guilds.conftest import GuildMirror, channels_of
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Guild


async def test_a_zip_is_kept_with_its_message_and_opens_no_archive(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Nothing lists or files archives of Discord, so none is shown that would wait for ever."""
    [made] = channels_of(world, guild, [0])
    world.post(made, "the castle", attachments=(world.attachment("castle.zip", b"PK"),))
    await mirror.connect()
    await mirror.cycle()
    pool = mirror.database.pool
    assert await pool.fetchval("SELECT count(*) FROM archives") == 0
    assert [row["name"] for row in await pool.fetch("SELECT name FROM attachments")] == ["castle.zip"]
