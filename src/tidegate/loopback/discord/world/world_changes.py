"""Changes to channels, guilds, bots and limits, as the control address requests them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.messages.reactions import add_reaction, clear_reactions, remove_reaction
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.people_changes import change_person
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import Bot, Channel, ChannelKind, Guild, Member
from tidegate.loopback.discord.world.schema import ChangeSpec, FaultSpec
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.discord.world.world_builder import find_bot, find_role, overwrites, permissions
from tidegate.loopback.faults import FaultKind
from tidegate.loopback.spec import Name

FAULTS = frozenset(FaultKind) - {
    FaultKind.TOO_LONG,
    FaultKind.EXPIRED_REFERENCE,
    FaultKind.SEARCH_LAG,
    FaultKind.BANNED,
    FaultKind.REPLACED,
}
"""The faults that this Discord supports; the others belong to other platforms."""


def change(world: World, spec: ChangeSpec) -> dict[str, Any]:
    """Do everything the change asks for; the answer has the id of what was created."""
    world.revision += 1
    told: dict[str, Any] = {"changed": True}
    bot = find_bot(world, spec.bot) if spec.bot is not None else None
    if spec.channel is not None:
        told |= _change_channel(world, world.channel(spec.channel), spec)
    if spec.person is not None:
        change_person(world, spec.person, spec)
    if spec.guild is not None:
        told |= _change_guild(world, find_guild(world, spec.guild), bot, spec)
    if bot is not None and spec.intents is not None:
        bot.switched_on = set(spec.intents)
    if bot is not None and spec.signed_out:
        world.renew_token(bot)
    if spec.limits is not None:
        spec.limits.set_on(world.limits)
    return told


def add_fault(world: World, spec: FaultSpec) -> None:
    spec.require_known("Discord", FAULTS)
    channel = world.channel(spec.channel).id if spec.channel is not None else 0
    account = find_bot(world, spec.account).name if spec.account else ""
    fault = spec.fault(account, channel)
    if fault.kind is FaultKind.INVALID_SESSION:
        fault.method = fault.method or "gateway resume"
    world.faults.add(fault)


def find_guild(world: World, named: Name) -> Guild:
    for guild in world.guilds.values():
        if str(named) in (guild.name, str(guild.id)):
            return guild
    raise BadInput(f"The loopback Discord has no guild {named}.")


def _change_channel(world: World, channel: Channel, spec: ChangeSpec) -> dict[str, Any]:
    told: dict[str, Any] = {}
    guild = world.guild_of(channel)
    if spec.name is not None or spec.topic is not None:
        channel.name = spec.name or channel.name
        channel.topic = channel.topic if spec.topic is None else spec.topic
        world.tell(News("THREAD_UPDATE" if channel.thread else "CHANNEL_UPDATE", guild, channel))
    if spec.overwrites is not None and guild:
        with _access_told(world, guild):
            channel.overwrites = overwrites(world, guild, spec.overwrites)
            world.tell(News("CHANNEL_UPDATE", guild, channel))
    if channel.thread:
        _change_thread(world, channel, spec)
    if new := spec.new_thread:
        author = world.person(new.author).id if new.author else 0
        thread = threads.start(
            world, channel, new.name, text=new.text, author=author, from_message=new.message, private=new.private
        )
        told["thread"] = thread.id
    if spec.message is not None:
        _react(world, channel, spec.message, spec)
    if spec.deleted:
        threads.delete(world, channel)
    return told


def _change_thread(world: World, channel: Channel, spec: ChangeSpec) -> None:
    assert channel.thread is not None
    if spec.locked is not None:
        channel.thread.locked = spec.locked
    if spec.archived is not None or spec.locked is not None:
        world.archive(channel, archived=channel.thread.archived if spec.archived is None else spec.archived)
    if spec.joined is not None:
        threads.join(world, channel, find_bot(world, spec.joined))


def _react(world: World, channel: Channel, number: int, spec: ChangeSpec) -> None:
    user = world.person(spec.user).id if spec.user else next(iter(world.people))
    if spec.reaction_added is not None:
        add_reaction(world, channel, number, spec.reaction_added, user)
    if spec.reaction_removed is not None:
        remove_reaction(world, channel, number, spec.reaction_removed, user)
    if spec.reactions_cleared:
        clear_reactions(world, channel, number)


def _change_guild(world: World, guild: Guild, bot: Bot | None, spec: ChangeSpec) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if (spec.guild_name, spec.guild_icon, spec.premium_tier) != (None, None, None):
        guild.name = spec.guild_name or guild.name
        guild.icon = guild.icon if spec.guild_icon is None else spec.guild_icon or None
        guild.premium_tier = guild.premium_tier if spec.premium_tier is None else spec.premium_tier
        world.tell(News("GUILD_UPDATE", guild))
    if spec.new_channel is not None:
        kind = ChannelKind[spec.new_channel.kind.upper()]
        told["channel"] = world.add_channel(guild, spec.new_channel.name, kind).id
    if spec.permissions is not None:
        number = find_role(guild, spec.role) if spec.role is not None else guild.id
        with _access_told(world, guild):
            guild.roles[number].permissions = permissions(spec.permissions)
            shape = json_shapes.role(guild.roles[number], list(guild.roles).index(number))
            world.tell(News("GUILD_ROLE_UPDATE", guild, data={"role": shape}))
    if spec.unavailable is not None:
        guild.unavailable = spec.unavailable
        data = {"unavailable": True} if spec.unavailable else {}
        world.tell(News("GUILD_DELETE" if spec.unavailable else "GUILD_CREATE", guild, data=data))
    if bot is not None:
        _change_member(world, guild, bot, spec)
    return told


def _change_member(world: World, guild: Guild, bot: Bot, spec: ChangeSpec) -> None:
    """A bot joins or leaves a guild, gets other roles, or is timed out."""
    if spec.in_guild is False:
        world.tell(News("GUILD_DELETE", guild, only=bot.id))
        guild.members.pop(bot.id, None)
    elif spec.in_guild and bot.id not in guild.members:
        guild.members[bot.id] = Member()
        world.tell(News("GUILD_CREATE", guild, only=bot.id))
    if (spec.bot_roles is None and spec.timed_out_s is None) or bot.id not in guild.members:
        return
    member = guild.members[bot.id]
    with _access_told(world, guild):
        if spec.bot_roles is not None:
            member.roles = [find_role(guild, name) for name in spec.bot_roles]
        if spec.timed_out_s is not None:
            member.timed_out_until = world.clock.now() + timedelta(seconds=spec.timed_out_s)
        shape = json_shapes.member(guild, bot.id) | {"user": json_shapes.user(bot)}
        world.tell(News("GUILD_MEMBER_UPDATE", guild, only=bot.id, data=shape))


@contextmanager
def _access_told(world: World, guild: Guild) -> Iterator[None]:
    """An account that may now see a hidden channel gets the channel's active threads."""
    before = {bot: _seen(world, guild, bot) for bot in guild.members}
    yield
    for number, seen in before.items():
        gained = _seen(world, guild, number) - seen
        if not gained:
            continue
        bot = world.bots[number]
        held = [thread for thread in json_shapes.active_threads(world, guild, bot) if thread.parent in gained]
        rows = [json_shapes.thread(world, thread, bot) for thread in held]
        members = [row["member"] for row in rows if "member" in row]
        data = {"channel_ids": [str(one) for one in sorted(gained)], "threads": rows, "members": members}
        world.tell(News("THREAD_LIST_SYNC", guild, only=number, data=data))


def _seen(world: World, guild: Guild, bot: int) -> set[int]:
    return {one.id for one in world.channels_of(guild) if Permission.VIEW_CHANNEL in world.may(bot, one)}
