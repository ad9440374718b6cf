"""Makes a Discord from what an operator or a test asks for; equal input gives an equal world, however large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

from tidegate.core.clock import Clock
from tidegate.core.errors import BadInput
from tidegate.loopback.discord.message_shapes import THREAD_STARTER
from tidegate.loopback.discord.world.history import History, Made, Message
from tidegate.loopback.discord.world.kinds import KINDS, THREAD_STARTED, sample_message
from tidegate.loopback.discord.world.messages.raw_messages import message_of
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import FORUMS, HAS_THREAD, Bot, Channel, ChannelKind, Guild, Thread
from tidegate.loopback.discord.world.schema import (
    ChannelSpec,
    DiscordSpec,
    GuildSpec,
    OverwriteSpec,
    Right,
    ThreadSpec,
)
from tidegate.loopback.discord.world.snowflakes import LOW_BITS, moment_of, snowflake
from tidegate.loopback.discord.world.world import BEGINS, World

_EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
_MINUTE = timedelta(minutes=1)

SMALL_WORLD = DiscordSpec(
    guilds=[
        GuildSpec(
            name="Harbour",
            channels=[
                ChannelSpec(name="general", messages=340, threads=2),
                ChannelSpec(name="announcements", kind="news", messages=40),
                ChannelSpec(name="ideas", kind="forum", threads=6),
                ChannelSpec(name="quiet"),
            ],
        )
    ]
)
"""The Discord a loopback starts with when it is given none."""


def make_world(spec: DiscordSpec, clock: Clock, *, seed: int = 0) -> World:
    """A new world as *spec* describes it; BadInput when it contradicts itself."""
    world = World(clock, seed=seed)
    for bot in spec.bots:
        if any(held.name == bot.name for held in world.bots.values()):
            raise BadInput(f"Two bots are called {bot.name}.")
        world.add_bot(bot.name).switched_on = set(bot.intents)
    spec.limits.set_on(world.limits)
    numbers = count(1)
    for guild in spec.guilds:
        _make_guild(world, guild, numbers)
    return world


def find_bot(world: World, named: str) -> Bot:
    """A bot by its name or id."""
    for bot in world.bots.values():
        if named in (bot.name, str(bot.id)):
            return bot
    raise BadInput(f"The loopback Discord has no bot {named}.")


def permissions(names: Iterable[Right]) -> Permission:
    granted = Permission(0)
    for name in names:
        granted |= Permission[name]
    return granted


def find_role(guild: Guild, named: str) -> int:
    for role in guild.roles.values():
        if named in (role.name, str(role.id)):
            return role.id
    raise BadInput(f"{guild.name} has no role {named}.")


def overwrites(world: World, guild: Guild, specs: Sequence[OverwriteSpec]) -> list[Overwrite]:
    """Overwrites as a channel holds them; for everyone when they name neither a role nor a bot."""
    made = []
    for spec in specs:
        if spec.bot is not None:
            number = find_bot(world, spec.bot).id
        else:
            number = find_role(guild, spec.role) if spec.role is not None else guild.id
        made.append(Overwrite(number, spec.bot is not None, permissions(spec.allow), permissions(spec.deny)))
    return made


def _make_guild(world: World, spec: GuildSpec, numbers: count[int]) -> None:
    if any(guild.name == spec.name for guild in world.guilds.values()):
        raise BadInput(f"Two guilds are called {spec.name}.")
    bots = None if spec.bots is None else [find_bot(world, name) for name in spec.bots]
    guild = world.add_guild(spec.name, bots)
    guild.premium_tier = spec.premium_tier
    for role in spec.roles:
        world.add_role(guild, role.name, permissions(role.permissions))
    if spec.permissions is not None:
        guild.roles[guild.id].permissions = permissions(spec.permissions)
    for name, roles in spec.bot_roles.items():
        bot = find_bot(world, name)
        if bot.id not in guild.members:
            raise BadInput(f"{name} has roles in {spec.name} and is not in it.")
        guild.members[bot.id].roles = [find_role(guild, role) for role in roles]
    for position, channel in enumerate(_channels(spec)):
        _make_channel(world, guild, channel, position, numbers)


def _channels(spec: GuildSpec) -> list[ChannelSpec]:
    if isinstance(spec.channels, list):
        return spec.channels
    more = [spec.threads // spec.channels + (number < spec.threads % spec.channels) for number in range(spec.channels)]
    return [
        ChannelSpec(name=f"channel-{number + 1}", messages=spec.messages, threads=more[number])
        for number in range(spec.channels)
    ]


def _make_channel(world: World, guild: Guild, spec: ChannelSpec, position: int, numbers: count[int]) -> None:
    kind = ChannelKind[spec.kind.upper()]
    threads = _threads(spec)
    kinds = list(KINDS) if spec.kinds is True else spec.kinds or []
    if (spec.messages or kinds) and kind in FORUMS | {ChannelKind.CATEGORY}:
        raise BadInput(f'"{spec.name}" is a {spec.kind} and holds no messages itself.')
    if threads and kind not in FORUMS | {ChannelKind.TEXT, ChannelKind.NEWS}:
        raise BadInput(f'"{spec.name}" is a {spec.kind} and has no threads.')
    low = next(numbers)
    ends = BEGINS - _MINUTE * len(kinds)
    made = _made(world, spec.messages, spec.every_s, low, spec.name, ends=ends)
    held = [_make_thread(world, guild, kind, thread, next(numbers)) for thread in threads]
    begins = min([made.begun_at, *(moment_of(thread.id) for thread in held)]) - _MINUTE
    channel = Channel(snowflake(begins, low), kind, spec.name, guild.id, position=position, topic=spec.topic)
    channel.parent = _category(world, guild, spec.category) if spec.category else 0
    channel.overwrites = overwrites(world, guild, spec.overwrites)
    channel.history = History(made)
    if kinds:
        held += _make_kinds(world, channel, kinds, low, numbers)
    channel.head = max((thread.id for thread in held), default=0) if kind in FORUMS else channel.history.newest()
    world.channels[channel.id] = channel
    for thread in held:
        thread.parent = channel.id
        world.channels[thread.id] = thread


def _threads(spec: ChannelSpec) -> list[ThreadSpec]:
    if isinstance(spec.threads, int):
        return [ThreadSpec(name=f"{spec.name} thread {number + 1}", messages=1) for number in range(spec.threads)]
    return spec.threads


def _make_thread(world: World, guild: Guild, kind: ChannelKind, spec: ThreadSpec, low: int) -> Channel:
    """A thread before its channel; a forum post shares its id with its first message, so it has at least that."""
    forum = kind in FORUMS
    if spec.private and kind is not ChannelKind.TEXT:
        raise BadInput(f'The thread "{spec.name}" is private, which only threads of text channels can be.')
    made = _made(world, max(spec.messages, forum), spec.every_s, low, spec.name)
    number = made.id_at(0) if forum else snowflake(made.begun_at - _MINUTE, low)
    sort = ChannelKind.NEWS_THREAD if kind is ChannelKind.NEWS else ChannelKind.PUBLIC_THREAD
    thread = Channel(number, ChannelKind.PRIVATE_THREAD if spec.private else sort, spec.name, guild.id)
    thread.history = History(made)
    thread.head = thread.history.newest()
    changed_at = spec.archived_at or moment_of(thread.head or number)
    changed_at = changed_at if changed_at.tzinfo else changed_at.replace(tzinfo=UTC)
    thread.thread = Thread(next(iter(world.people)), spec.archived, changed_at, spec.locked, made.count - forum)
    thread.thread.members = {find_bot(world, name).id for name in spec.joined}
    return thread


def _make_kinds(world: World, channel: Channel, kinds: Sequence[str], low: int, numbers: count[int]) -> list[Channel]:
    """One message of each kind, a minute apart, up to the beginning; returns the threads they started."""
    started = []
    for place, kind in enumerate(kinds):
        number = snowflake(BEGINS - _MINUTE * (len(kinds) - place), low)
        raw = sample_message(world, channel, kind, number)
        parts = count(number - (1 << LOW_BITS), -(1 << LOW_BITS))
        message = message_of(world, channel, raw, number, new_id=partial(next, parts))
        if kind == THREAD_STARTED and channel.kind in (ChannelKind.TEXT, ChannelKind.NEWS):
            message.flags |= HAS_THREAD
            started.append(_thread_from(world, channel, message, next(numbers)))
        channel.history.put(message)
    return started


def _thread_from(world: World, channel: Channel, message: Message, low: int) -> Channel:
    """A thread that was started from a message, with the message that says so."""
    kind = ChannelKind.NEWS_THREAD if channel.kind is ChannelKind.NEWS else ChannelKind.PUBLIC_THREAD
    begun_at = moment_of(message.id) + timedelta(seconds=1)
    thread = Channel(message.id, kind, message.text, channel.guild, channel.id)
    reference = {"message_id": str(message.id), "channel_id": str(channel.id), "guild_id": str(channel.guild)}
    first = Message(
        snowflake(begun_at, low), message.author, kind=THREAD_STARTER, fields={"message_reference": reference}
    )
    thread.history.put(first)
    thread.head = first.id
    thread.thread = Thread(message.author, archived=False, archive_changed_at=begun_at, sent=1)
    return thread


def _made(world: World, messages: int, every_s: float, low: int, title: str, *, ends: datetime = BEGINS) -> Made:
    every = timedelta(seconds=every_s)
    if low >= 1 << LOW_BITS or BEGINS - every * (messages + 2) < _EARLIEST:
        raise BadInput(f'The messages of "{title}" reach back beyond 2020; ask for fewer, or for less every_s.')
    return Made.until(ends, messages, every, low=low, title=title, authors=world.first_people)


def _category(world: World, guild: Guild, name: str) -> int:
    for channel in world.channels_of(guild):
        if channel.kind is ChannelKind.CATEGORY and channel.name == name:
            return channel.id
    raise BadInput(f"{guild.name} has no category {name}; list it before the channels in it.")
