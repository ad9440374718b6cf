"""Who may do what: our reckoning against discord.py's, which knows nothing of ours."""

from __future__ import annotations

from datetime import timedelta

import discord
from hypothesis import given
from hypothesis import strategies as st

from tests.held import NOON
from tidegate.core.clock import HeldClock
from tidegate.loopback.discord import World, json_shapes
from tidegate.loopback.discord.world.permissions import EVERYTHING, Overwrite, Permission

COMPARED = [
    Permission.VIEW_CHANNEL,
    Permission.READ_MESSAGE_HISTORY,
    Permission.SEND_MESSAGES,
    Permission.MANAGE_MESSAGES,
    Permission.MANAGE_THREADS,
    Permission.ATTACH_FILES,
]
"""What the platform's answers depend on."""

rights = st.lists(st.sampled_from([*COMPARED, Permission.ADMINISTRATOR]), max_size=5).map(
    lambda some: Permission(sum(set(some)))
)
visible = rights.map(lambda some: some | Permission.VIEW_CHANNEL)
overwrite = st.tuples(st.sampled_from(["everyone", "one", "two", "me", "other"]), rights, rights)


@given(
    everyone=st.one_of(rights, visible),
    one=rights,
    two=rights,
    mine=st.sets(st.sampled_from(["one", "two"])),
    overwrites=st.lists(overwrite, max_size=5, unique_by=lambda held: held[0]),
    timed_out=st.booleans(),
    owner=st.booleans(),
)
def test_discord_py_reckons_the_same_from_what_it_is_told(
    *,
    everyone: Permission,
    one: Permission,
    two: Permission,
    mine: set[str],
    overwrites: list[tuple[str, Permission, Permission]],
    timed_out: bool,
    owner: bool,
) -> None:
    """Roles, overwrites, administrators, owners and time-outs: for any of them both come to the same rights."""
    clock = HeldClock(NOON)
    world = World(clock)
    bot, other = world.add_bot("Tidebot"), world.add_bot("Other")
    guild = world.add_guild("Harbour")
    guild.roles[guild.id].permissions = everyone
    roles = {"one": world.add_role(guild, "one", one).id, "two": world.add_role(guild, "two", two).id}
    guild.members[bot.id].roles = [roles[name] for name in sorted(mine)]
    # discord.py asks the machine's clock whether a time-out is over
    guild.members[bot.id].timed_out_until = NOON + timedelta(days=365_000 if timed_out else -365)
    guild.owner = bot.id if owner else guild.owner
    channel = world.add_channel(guild, "general")
    numbers = {"everyone": guild.id, "me": bot.id, "other": other.id, **roles}
    channel.overwrites = [
        Overwrite(numbers[name], name in ("me", "other"), allow & ~deny & ~Permission.ADMINISTRATOR, deny)
        for name, allow, deny in overwrites
    ]
    state = discord.Client(intents=discord.Intents.default())._connection
    state.user = discord.ClientUser(state=state, data=json_shapes.myself(bot))
    told = discord.Guild(data=json_shapes.guild_create(world, guild, bot), state=state)
    theirs = told.get_channel(channel.id).permissions_for(told.me).value
    ours = world.may(bot.id, channel)
    assert {right for right in COMPARED if right in ours} == {right for right in COMPARED if theirs & right}


def test_everything_has_discords_own_numbers() -> None:
    """Each permission here is the bit that discord.py knows by that name."""
    theirs = dict(discord.Permissions.all())
    names = {"VIEW_CHANNEL": "read_messages"}
    for right in Permission:
        named = names.get(right.name or "", (right.name or "").lower())
        assert named in theirs, named
        assert discord.Permissions(**{named: True}).value == right
    assert Permission.ADMINISTRATOR in EVERYTHING
