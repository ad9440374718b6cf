"""Files on a platform that keeps none: on Discord they go along with every message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.platforms.drawer import Drawer
from tests.reminders.conftest import Scene, Shop
from tidegate.channels.queries import guilds
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.places import Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.platforms.interface import Guilds
from tidegate.reminders.runs import run_controls

SEND = "POST /channels/{channel.id}/messages"
POSTER = b"a picture of low tide" * 1_000
PARTS = [{"text": "Good morning {group}"}, {"media": "poster.jpg", "caption": "For {group}"}]


@pytest.fixture
async def discord(scene: Scene) -> AsyncIterator[DiscordServer]:
    """A guild of three channels, and a bot that is in it."""
    world = World(scene.clock, seed=7)
    world.add_bot("gate")
    guild = world.add_guild("The harbour")
    for name in ("north", "south", "west"):
        world.add_channel(guild, name)
    server = DiscordServer(world, scene.clock)
    await server.start()
    scene.clock.busy_when(lambda: server.busy or any(one.lane and one.lane.gate.in_flight for one in scene.shops))
    yield server
    for shop in scene.shops:
        if shop.task is not None:
            await scene.leave(shop)
    await server.close()
    assert world.record.unknown == []


@pytest.fixture
async def bot(scene: Scene, discord: DiscordServer) -> Shop:
    world = discord.world
    [known] = world.bots.values()
    drawer = Drawer({SIGN_IN: world.token(known).encode()})
    loopback = "http://127.0.0.1:1"
    account = Account(
        AccountId(1),
        "shop",
        DISCORD,
        Standing.NORMAL,
        AccountState.ACTIVE,
        state_until=None,
        loopback=loopback,
    )

    async def find(_: str) -> str:
        return discord.address

    client = await discord_opener(scene.clock, live=False, find_loopback=find)(account, drawer, lambda _: None)
    assert isinstance(client, Guilds)
    shop = await scene.shop(client, on=DISCORD)  # type: ignore[arg-type]
    for guild in client.known_guilds():
        heads = await client.guild_channels(guild)
        async with scene.database.transaction() as connection:
            await guilds.see(connection, shop.account.platform, shop.account.id, heads)
    return shop


def shown(world: World) -> dict[str, list[str]]:
    """What each channel holds: texts, with the names of files behind."""
    return {
        channel.name: [" ".join([one.text, *(file.name for file in one.attachments)]) for one in channel.history]
        for channel in world.channels.values()
    }


async def test_every_group_gets_the_file_with_its_own_caption(scene: Scene, bot: Shop, discord: DiscordServer) -> None:
    """Each file is told as often as it went up, so that the figure is what the line carried."""
    world = discord.world
    await scene.reminder({"poster.jpg": POSTER}, parts=PARTS)
    run = await scene.fire()
    await scene.serve(bot)
    await scene.pass_time(minutes=1)
    assert shown(world) == {
        name: [f"Good morning {name}", f"For {name} poster.jpg"] for name in ("north", "south", "west")
    }
    done = await scene.run(run)
    assert (done.status, done.uploads, len(world.record.uploads)) == ("success", 3, 3)


async def test_d21_a_lost_answer_makes_no_second_file(scene: Scene, bot: Shop, discord: DiscordServer) -> None:
    """D-21, D-24: accepted and not answered; the same nonce again finds the message while Discord knows it."""
    world = discord.world
    await scene.reminder({"poster.jpg": POSTER}, parts=PARTS[1:])
    world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SEND))
    run = await scene.fire()
    await scene.serve(bot)
    await scene.pass_time(minutes=1)
    assert (await scene.run(run)).status == "success"
    assert sorted(shown(world).items()) == [(name, [f"For {name} poster.jpg"]) for name in ("north", "south", "west")]
    assert len(world.record.sends) == 3


@pytest.fixture
def marina(discord: DiscordServer) -> Guild:
    """A server that is boosted so far that it takes files of 50 MiB."""
    guild = discord.world.add_guild("The marina")
    guild.premium_tier = 2
    discord.world.add_channel(guild, "jetty")
    return guild


async def test_a_large_file_goes_where_the_server_is_boosted(
    scene: Scene, discord: DiscordServer, marina: Guild, bot: Shop
) -> None:
    """The groups of the others are named with their limit before anything is sent, and cost no call."""
    film = bytes((10 << 20) + 1)
    await scene.reminder({"film.mp4": film}, parts=[{"media": "film.mp4"}])
    run = await scene.fire()
    told = "It cannot be sent: the file has 10.1 MiB, and this group takes 10 MiB."
    assert await scene.errors(run) == dict.fromkeys(("north", "south", "west"), told)
    await scene.serve(bot)
    await scene.pass_time(minutes=1)
    assert await scene.counts(run) == {"sent": 1, "failed": 3}
    assert [one.bytes for one in discord.world.record.uploads] == [len(film)]
    assert discord.world.record.by_method()[SEND] == 1


async def test_a_file_that_is_refused_pauses_the_run_before_every_group_fails(
    scene: Scene, discord: DiscordServer, bot: Shop
) -> None:
    """The first refusal says it for all: one cause, the run is paused, and no group has failed. Refused again after
    somebody resumed it, it is that group's own limit, and the others get the file."""
    scene.policy = replace(scene.policy, groups_at_once=1)
    await scene.reminder({"poster.jpg": POSTER}, parts=[{"media": "poster.jpg"}])
    north = next(one.id for one in discord.world.channels.values() if one.name == "north")
    discord.world.faults.add(Fault(FaultKind.ERROR, SEND, code="413", count=2, channel=north))
    run = await scene.fire()
    await scene.serve(bot)
    await scene.pass_time(minutes=1)
    paused = await scene.run(run)
    assert (paused.state, paused.paused_by) == ("paused", "upload")
    assert "larger than Discord takes" in paused.cause
    assert await scene.counts(run) == {"pending": 3}
    await scene.do(run_controls.resume, run)
    await scene.pass_time(minutes=1)
    assert await scene.counts(run) == {"sent": 2, "failed": 1}
