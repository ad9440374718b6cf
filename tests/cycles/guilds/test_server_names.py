"""What a Discord server is called: stored with its channels, kept up to date, and without a call."""

from __future__ import annotations

from tests.cycles.guilds.conftest import CHANNELS, GuildMirror, channels_of
from tests.waiting import until
from tidegate.channels.queries import channels
from tidegate.core.ids import ChannelId
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.places import Guild
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.world_changes import change


async def servers(mirror: GuildMirror) -> set[str]:
    async with mirror.database.connection() as connection:
        return {one.server for one in await channels.listing(connection)}


async def test_a_server_has_its_name_with_and_without_a_gateway(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """A cycle that asks for everything stores it with the list of channels."""
    [general] = channels_of(world, guild, [1])
    thread = threads.start(world, general, "a thread", text="hello")
    await mirror.connect()
    await mirror.cycle()
    assert await servers(mirror) == {"The harbour"}
    async with mirror.database.connection() as connection:
        found = await channels.find(connection, str(thread.id))
    assert (found.guild, found.parent, found.parent_title) == (guild.id, ChannelId(general.id), general.name)
    assert found.parent_key is not None


async def test_a_renamed_server_is_renamed_here_without_a_call(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """The gateway tells it; a restart later without a gateway knows it as well."""
    channels_of(world, guild, [1, 1])
    await mirror.connect(live=True)

    async def called(name: str) -> bool:
        return await servers(mirror) == {name}

    async with mirror.working():
        await until(lambda: called("The harbour"))
        async with mirror.counted() as calls:
            change(world, ChangeSpec(guild=guild.name, guild_name="The quay"))
            await until(lambda: called("The quay"))
        assert not calls[CHANNELS]
    change(world, ChangeSpec(guild=guild.name, guild_name="The pier"))
    await mirror.connect()
    await mirror.cycle()
    assert await servers(mirror) == {"The pier"}
