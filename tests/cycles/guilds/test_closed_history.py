"""A history that may not be read: what its channel, the commands over all channels and the operator are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from tests.cycles.guilds.conftest import PAGES, GuildMirror, channels_of, portions_of, talk
from tests.waiting import until
from tidegate.app.history_commands import history_handlers
from tidegate.app.operator_requests import nothing_stored
from tidegate.channels.queries import channels
from tidegate.core.account import Account
from tidegate.lanes import Lane
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.permissions import USUAL, Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.world_changes import change
from tidegate.workers.account_service import AccountService

GRANT = "grant it Read Message History"
EVERYTHING: dict[str, Any] = {"channels": None, "since": None, "everything": False, "target": None, "limit": None}


def close(guild: Guild) -> None:
    """Nobody may read history any more, and no event tells of it."""
    guild.roles[guild.id].permissions = USUAL & ~Permission.READ_MESSAGE_HISTORY


def open_again(guild: Guild) -> None:
    guild.roles[guild.id].permissions = USUAL


@dataclass
class Served:
    """An account as commands find it at its owner's."""

    account: Account
    lane: Lane

    async def connected(self) -> Lane:
        return self.lane


async def command(mirror: GuildMirror, kind: str, **args: Any) -> dict[str, Any]:
    handler = history_handlers(mirror.database, mirror.policy)[kind]
    serving = cast("AccountService", Served(mirror.account, mirror.lane))
    return cast("dict[str, Any]", await handler(serving, {**EVERYTHING, **args}))


async def key_of(mirror: GuildMirror, channel: Channel) -> int:
    async with mirror.database.connection() as connection:
        return (await channels.find(connection, str(channel.id))).key


async def test_a_right_lost_without_an_event_is_told_by_the_next_page(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The state changes and the trouble names the right; nothing is proven, and one event tells of it."""
    [made] = channels_of(world, guild, [150])
    mirror.policy = portions_of(1)
    await mirror.connect()
    await mirror.cycle()
    before = await mirror.covered(made)
    close(guild)
    report = await mirror.cycle()
    assert len(report.troubles) == 1
    assert GRANT in report.troubles[0]
    for _ in range(2):
        told = await command(mirror, "backfill", channels=[await key_of(mirror, made)])
        assert GRANT in told["channels"][0]["error"]
    assert (await mirror.state(made), await mirror.covered(made)) == ("no_history_permission", before)
    assert len(await mirror.rows("SELECT FROM events WHERE kind = 'channel.history_closed'")) == 1


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("left", "state"),
    [
        (USUAL & ~Permission.READ_MESSAGE_HISTORY, "no_history_permission"),
        (USUAL & ~Permission.VIEW_CHANNEL, "unreadable"),
    ],
)
async def test_a_right_lost_without_an_event_is_found_within_a_day(
    mirror: GuildMirror, world: World, guild: Guild, left: Permission, state: str, *, live: bool
) -> None:
    """Nothing is posted, so no page is due: the daily list of archived threads is refused, and the state says why."""
    [made] = channels_of(world, guild, [50])
    await mirror.connect(live=live)
    async with mirror.working() as rounds:
        await until(lambda: mirror.at_rest(made))
        guild.roles[guild.id].permissions = left
        await mirror.pass_time(days=1)
        await rounds.requests(mirror.account.id).ask(None)

        async def found() -> bool:
            return await mirror.state(made) == state

        await until(found)
        async with mirror.counted() as calls:
            await rounds.requests(mirror.account.id).ask(None)
            await rounds.requests(mirror.account.id).ask(None)
    assert calls[PAGES] == 0


@pytest.mark.parametrize("walk", ["newest", "upwards"])
async def test_every_way_of_reading_says_which_right_is_missing(
    mirror: GuildMirror, world: World, guild: Guild, walk: str
) -> None:
    """A comparison reads from the newest message, a catch-up upwards: both name the right."""
    [made] = channels_of(world, guild, [50])
    await mirror.connect()
    await mirror.cycle()
    close(guild)
    kind = "reconcile" if walk == "newest" else "backfill"
    talk(world, made, 3)
    told = await command(mirror, kind, channels=[await key_of(mirror, made)])
    assert GRANT in told["channels"][0]["error"]
    assert await mirror.state(made) == "no_history_permission"


async def test_a_right_lost_with_an_event_closes_the_history_without_a_page(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The gateway tells of the role: the state follows, and no page is asked for."""
    [made] = channels_of(world, guild, [50])
    await mirror.connect(live=True)
    async with mirror.working():
        await until(lambda: mirror.at_rest(made))
        async with mirror.counted() as calls:
            left = [str(one.name) for one in USUAL & ~Permission.READ_MESSAGE_HISTORY]
            change(world, ChangeSpec.model_validate({"guild": guild.name, "permissions": left}))

            async def closed() -> bool:
                return await mirror.state(made) == "no_history_permission"

            await until(closed)
    assert calls[PAGES] == 0


async def test_a_right_granted_without_an_event_stays_open_once_it_was_found(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """A page that shows messages opens the history, and no later survey closes it from memory."""
    [made] = channels_of(world, guild, [150])
    mirror.policy = portions_of(1)
    await mirror.connect()
    await mirror.cycle()
    close(guild)
    await mirror.cycle()
    open_again(guild)
    told = await command(mirror, "backfill", channels=[await key_of(mirror, made)])
    assert told["channels"][0]["error"] is None
    await mirror.cycle()
    assert await mirror.state(made) == "ok"


@pytest.mark.parametrize("kind", ["backfill", "reconcile"])
async def test_commands_over_all_channels_leave_closed_ones_out_and_name_them(
    mirror: GuildMirror, world: World, guild: Guild, kind: str
) -> None:
    """One closed channel makes nothing fail that was not asked of it by name."""
    shut, other = channels_of(world, guild, [5, 5])
    await mirror.connect()
    await mirror.cycle()
    denied = Overwrite(guild.id, member=False, allow=Permission(0), deny=Permission.READ_MESSAGE_HISTORY)
    shut.overwrites.append(denied)
    await mirror.cycle()
    told = await command(mirror, kind)
    assert [one["channel"] for one in told["channels"]] == [other.id]
    assert (told["failed"], told["closed"]) == (0, [{"channel": shut.id, "title": shut.name}])


async def test_what_to_do_about_an_empty_context_fits_the_channel(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Nobody is told to set what is set: a closed history needs a right, a deleted channel nothing."""
    [made] = channels_of(world, guild, [0])
    await mirror.connect()
    await mirror.cycle()

    async def advice(change: str) -> str:
        await mirror.database.pool.execute(f"UPDATE channels SET {change}")
        async with mirror.database.connection() as connection:
            return nothing_stored(await channels.find(connection, str(made.id)))

    assert "tidegate backfill" in await advice("state = 'ok'")
    assert GRANT in await advice("state = 'no_history_permission'")
    assert "deleted" in await advice("state = 'deleted'")
    assert "channel sync" in await advice("state = 'unreadable'")
    assert "channel enable" in await advice("enabled = false")


async def test_a_right_lost_without_an_event_in_an_idle_channel_shows_in_the_next_cycle(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """The list of channels that a cycle asks for anyway has the overwrites: no page has to be asked for."""
    [made] = channels_of(world, guild, [5])
    await mirror.connect()
    await mirror.cycle()
    made.overwrites.append(Overwrite(guild.id, False, Permission(0), Permission.READ_MESSAGE_HISTORY))
    async with mirror.counted() as calls:
        for _ in range(2):
            await mirror.cycle()
    assert (await mirror.state(made), calls[PAGES]) == ("no_history_permission", 0)
    assert len(await mirror.rows("SELECT FROM events WHERE kind = 'channel.history_closed'")) == 1
