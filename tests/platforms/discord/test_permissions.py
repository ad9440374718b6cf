"""What the account may do in a channel, compared with what discord.py works out."""

from __future__ import annotations

from typing import Any

import discord
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.platforms.discord.shapes import GUILD, ME, channel, overwrite, role
from tidegate.platforms.discord.permissions import ChannelPermissions, in_channel, in_guild

VIEW = discord.Permissions.view_channel.flag
HISTORY = discord.Permissions.read_message_history.flag
SEND = discord.Permissions.send_messages.flag
CONNECT = discord.Permissions.connect.flag
ADMINISTRATOR = discord.Permissions.administrator.flag

ROLES = ["701", "702", "703"]
permissions = st.sets(st.sampled_from([VIEW, HISTORY, SEND, CONNECT])).map(sum)
administrators = st.integers(0, 19).map(lambda one: ADMINISTRATOR if one == 19 else 0)
owners = st.integers(0, 19).map(lambda one: ME if one == 19 else "1")


@st.composite
def guilds(draw: st.DrawFn) -> dict[str, Any]:
    overwrites = [
        overwrite(number, kind=kind, allow=draw(permissions), deny=draw(permissions))
        for number, kind in [(GUILD, 0), *((one, 0) for one in ROLES), (ME, 1), ("5", 1)]
        if draw(st.booleans())
    ]
    return {
        "id": GUILD,
        "name": "The harbour",
        "owner_id": draw(owners),
        "roles": [role(number, draw(permissions) | draw(administrators)) for number in (GUILD, *ROLES)],
        "mine": draw(st.lists(st.sampled_from(ROLES), unique=True)),
        "channel": channel(permission_overwrites=overwrites, kind=draw(st.sampled_from([0, 2]))),
    }


def by_the_library(found: dict[str, Any]) -> discord.Permissions:
    state = discord.Client(intents=discord.Intents(guilds=True))._connection
    member = {"user": {"id": ME, "username": "gate", "discriminator": "0", "avatar": None}, "roles": found["mine"]}
    raw = {**found, "channels": [{**found["channel"], "bitrate": 1, "user_limit": 0}], "member_count": 2}
    raw["members"] = [{**member, "flags": 0, "joined_at": None}]
    library = discord.Guild(data=raw, state=state)
    me = discord.Member(data=raw["members"][0], guild=library, state=state)
    return library.channels[0].permissions_for(me)


@settings(max_examples=300)
@given(guilds())
def test_rights_are_what_the_library_works_out(found: dict[str, Any]) -> None:
    """Roles, overwrites, owner and administrator: the same answer as discord.py's, for every right we go by."""
    base = in_guild(found["roles"], found["mine"], guild=GUILD, owner=found["owner_id"] == ME)
    allowed = in_channel(base, found["channel"]["permission_overwrites"], found["mine"], guild=GUILD, me=ME)
    ours, theirs = ChannelPermissions.of(allowed, found["channel"]["type"]), by_the_library(found)
    voice = found["channel"]["type"] == 2
    assert ours.visible == (theirs.view_channel and (theirs.connect or not voice))
    assert ours.readable == (ours.visible and theirs.read_message_history)
    assert ours.may_post == (ours.visible and theirs.send_messages)


def test_history_is_a_right_of_its_own() -> None:
    """H-21: a channel that is seen may still have a history that is not."""
    rights = ChannelPermissions.of(discord.Permissions(VIEW | SEND), 0)
    assert rights.visible
    assert rights.may_post
    assert not rights.readable


def test_a_voice_channel_is_seen_by_who_may_connect() -> None:
    """The chat of a voice channel takes the right to connect as well."""
    assert not ChannelPermissions.of(discord.Permissions(VIEW | HISTORY), 2).visible
    assert ChannelPermissions.of(discord.Permissions(VIEW | HISTORY | CONNECT), 2).readable


def test_nothing_goes_where_nothing_is_seen() -> None:
    """Without the right to see a channel, no other right counts."""
    assert ChannelPermissions.of(discord.Permissions(HISTORY | SEND), 0) == ChannelPermissions.of(
        discord.Permissions(0), 0
    )
