"""What other people do to the world, as the control address is told it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any

from tidegate.errors import BadInput
from tidegate.loopback.discord import shapes, threads
from tidegate.loopback.discord.history import Attachment
from tidegate.loopback.discord.making import find_bot, find_role, overwrites, permissions, set_limits
from tidegate.loopback.discord.news import News
from tidegate.loopback.discord.permissions import Permission
from tidegate.loopback.discord.places import Bot, Channel, ChannelKind, Guild, Member
from tidegate.loopback.discord.reactions import add_reaction, clear_reactions, remove_reaction
from tidegate.loopback.discord.schema import ChangeSpec, DeleteSpec, EditSpec, FaultSpec, FileSpec, PostSpec
from tidegate.loopback.discord.world import World
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.spec import Name

FAULTS = frozenset(FaultKind) - {
    FaultKind.TOO_LONG,
    FaultKind.EXPIRED_REFERENCE,
    FaultKind.SEARCH_LAG,
    FaultKind.BANNED,
    FaultKind.REPLACED,
}
"""The faults Discord knows; the others are other platforms'."""


def post(world: World, spec: PostSpec) -> list[int]:
    """Write as somebody else; the ids of what was written."""
    channel = _place(world, spec)
    author = world.person(spec.author).id if spec.author else 0
    written = []
    for number in range(spec.count):
        text = spec.text
        if not text and not spec.files and not spec.kind and not spec.fields:
            text = f"Message {len(channel.history) + 1}"
        elif spec.count > 1 and text:
            text = f"{text} {number + 1}"
        files = [_file(world, file) for file in spec.files]
        more = {"kind": spec.kind or (19 if spec.reply_to else 0), "reply_to": spec.reply_to, "fields": spec.fields}
        written.append(world.post(channel, text, author=author, attachments=files, **more).id)
    return written


def edit(world: World, spec: EditSpec) -> list[int]:
    return [world.edit(world.channel(spec.channel), spec.id, text=spec.text, **spec.fields).id]


def delete(world: World, spec: DeleteSpec) -> list[int]:
    world.delete(world.channel(spec.channel), spec.ids, bulk=spec.bulk)
    return spec.ids


def change(world: World, spec: ChangeSpec) -> dict[str, Any]:
    """Do everything the change asks for; the id of what is new is in the answer."""
    world.revision += 1
    told: dict[str, Any] = {"changed": True}
    bot = find_bot(world, spec.bot) if spec.bot is not None else None
    if spec.channel is not None:
        told |= _change_channel(world, world.channel(spec.channel), spec)
    if spec.guild is not None:
        told |= _change_guild(world, find_guild(world, spec.guild), bot, spec)
    if bot is not None and spec.intents is not None:
        bot.switched_on = set(spec.intents)
    if bot is not None and spec.signed_out:
        world.renew_token(bot)
    if spec.limits is not None:
        set_limits(world, spec.limits)
    return told


def add_fault(world: World, spec: FaultSpec) -> None:
    if spec.kind not in FAULTS:
        raise BadInput(f'Discord knows no fault "{spec.kind.value}"; it knows {", ".join(sorted(FAULTS))}.')
    channel = world.channel(spec.channel).id if spec.channel is not None else 0
    account = find_bot(world, spec.account).name if spec.account else ""
    method = spec.method or ("gateway resume" if spec.kind is FaultKind.INVALID_SESSION else "")
    world.faults.add(Fault(spec.kind, method, spec.count, spec.seconds, str(spec.code), account, channel))


def find_guild(world: World, named: Name) -> Guild:
    for guild in world.guilds.values():
        if str(named) in (guild.name, str(guild.id)):
            return guild
    raise BadInput(f"The loopback Discord has no guild {named}.")


def _place(world: World, spec: PostSpec) -> Channel:
    """Where a post goes: the channel, or the thread of it that is named as its topic."""
    channel = world.channel(spec.channel)
    if spec.topic is None:
        return channel
    for thread in world.threads_of(channel):
        if str(spec.topic) in (thread.name, str(thread.id)):
            return thread
    raise BadInput(f"{channel.name} has no thread {spec.topic}.")


def _file(world: World, spec: FileSpec) -> Attachment:
    if spec.base64 is not None:
        return world.attachment(spec.name, bytes(spec.base64))
    size = spec.size or 0
    return world.attachment(spec.name, (sha256(spec.name.encode()).digest() * (size // 32 + 1))[:size])


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
    if spec.guild_name is not None or spec.premium_tier is not None:
        guild.name = spec.guild_name or guild.name
        guild.premium_tier = guild.premium_tier if spec.premium_tier is None else spec.premium_tier
        world.tell(News("GUILD_UPDATE", guild))
    if spec.new_channel is not None:
        kind = ChannelKind[spec.new_channel.kind.upper()]
        told["channel"] = world.add_channel(guild, spec.new_channel.name, kind).id
    if spec.permissions is not None:
        number = find_role(guild, spec.role) if spec.role is not None else guild.id
        with _access_told(world, guild):
            guild.roles[number].permissions = permissions(spec.permissions)
            shape = shapes.role(guild.roles[number], list(guild.roles).index(number))
            world.tell(News("GUILD_ROLE_UPDATE", guild, data={"role": shape}))
    if spec.unavailable is not None:
        guild.unavailable = spec.unavailable
        data = {"unavailable": True} if spec.unavailable else {}
        world.tell(News("GUILD_DELETE" if spec.unavailable else "GUILD_CREATE", guild, data=data))
    if bot is not None:
        _change_member(world, guild, bot, spec)
    return told


def _change_member(world: World, guild: Guild, bot: Bot, spec: ChangeSpec) -> None:
    """A bot comes or goes, gets other roles, or is told to be quiet for a while."""
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
        shape = shapes.member(guild, bot.id) | {"user": shapes.user(bot)}
        world.tell(News("GUILD_MEMBER_UPDATE", guild, only=bot.id, data=shape))


@contextmanager
def _access_told(world: World, guild: Guild) -> Iterator[None]:
    """Whoever may see a channel that was hidden from it is told of the channel's active threads afterwards."""
    before = {bot: _seen(world, guild, bot) for bot in guild.members}
    yield
    for number, seen in before.items():
        gained = _seen(world, guild, number) - seen
        if not gained:
            continue
        bot = world.bots[number]
        held = [thread for thread in shapes.active_threads(world, guild, bot) if thread.parent in gained]
        rows = [shapes.thread(world, thread, bot) for thread in held]
        members = [row["member"] for row in rows if "member" in row]
        data = {"channel_ids": [str(one) for one in sorted(gained)], "threads": rows, "members": members}
        world.tell(News("THREAD_LIST_SYNC", guild, only=number, data=data))


def _seen(world: World, guild: Guild, bot: int) -> set[int]:
    return {one.id for one in world.channels_of(guild) if Permission.VIEW_CHANNEL in world.may(bot, one)}
