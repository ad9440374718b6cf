"""Changes of the world as gateway events for one session: only those its intents ask for and its bot may see."""

from __future__ import annotations

from enum import IntFlag

from tidegate.loopback.discord import json_shapes, message_shapes
from tidegate.loopback.discord.json_shapes import Shape
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import PRIVILEGED, Bot, Guild
from tidegate.loopback.discord.world.world import World


class Intent(IntFlag):
    """The kinds of events a session may subscribe to, with Discord's own names and numbers."""

    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_MESSAGE_REACTIONS = 1 << 10
    GUILD_MESSAGE_TYPING = 1 << 11
    DIRECT_MESSAGES = 1 << 12
    DIRECT_MESSAGE_REACTIONS = 1 << 13
    DIRECT_MESSAGE_TYPING = 1 << 14
    MESSAGE_CONTENT = 1 << 15
    GUILD_MESSAGE_POLLS = 1 << 24
    DIRECT_MESSAGE_POLLS = 1 << 25


_IN_CHANNELS = {
    "CHANNEL_PINS_UPDATE": (Intent.GUILDS, Intent.DIRECT_MESSAGES),
    "MESSAGE_POLL_VOTE": (Intent.GUILD_MESSAGE_POLLS, Intent.DIRECT_MESSAGE_POLLS),
    "MESSAGE_REACTION": (Intent.GUILD_MESSAGE_REACTIONS, Intent.DIRECT_MESSAGE_REACTIONS),
    "MESSAGE": (Intent.GUILD_MESSAGES, Intent.DIRECT_MESSAGES),
    "TYPING": (Intent.GUILD_MESSAGE_TYPING, Intent.DIRECT_MESSAGE_TYPING),
}


def refused(bot: Bot, intents: int) -> bool:
    """Whether a session asks for a privileged intent that is not switched on for the bot."""
    asked = Intent(intents & sum(Intent))
    return any(Intent[name.upper()] in asked and name not in bot.switched_on for name in PRIVILEGED)


def event_for(world: World, news: News, bot: Bot, intents: int, at: str) -> Shape | None:
    """The event's data for this session; None when the session does not get this event."""
    if news.only not in (0, bot.id):
        return None
    for family, (in_guild, in_private) in _IN_CHANNELS.items():
        if news.name.startswith(family):
            wanted = in_guild if news.guild else in_private
            return _in_channel(world, news, bot, intents, at) if wanted & intents and _sees(world, news, bot) else None
    if news.name.startswith("GUILD_MEMBER") and not news.only:
        wanted_here = intents & Intent.GUILD_MEMBERS and news.guild and bot.id in news.guild.members
        return _guild(world, news, bot) if wanted_here else None
    if not intents & Intent.GUILDS or news.guild is None or bot.id not in news.guild.members:
        return None
    if news.name.startswith(("CHANNEL", "THREAD")) and news.channel:
        return _place(world, news, bot)
    return _guild(world, news, bot)


def _sees(world: World, news: News, bot: Bot) -> bool:
    return news.channel is not None and Permission.VIEW_CHANNEL in world.may(bot.id, news.channel)


def _in_channel(world: World, news: News, bot: Bot, intents: int, at: str) -> Shape:
    assert news.channel is not None
    shape: Shape = {"channel_id": str(news.channel.id), **news.data}
    if news.message:
        content = bool(intents & Intent.MESSAGE_CONTENT)
        shape |= message_shapes.message(world, news.channel, news.message, bot, at, content=content)
    if news.guild:
        shape["guild_id"] = str(news.guild.id)
        if news.message:
            _add_members(world, news.guild, news.message, shape)
        if news.name == "MESSAGE_REACTION_ADD":
            user = int(news.data["user_id"])
            shape["member"] = json_shapes.member(news.guild, user) | {"user": json_shapes.user(world.user(user))}
    return shape


def _add_members(world: World, guild: Guild, message: Message, shape: Shape) -> None:
    """Who wrote the message and whom it mentions, as members of the guild; a webhook and who left are none."""
    if world.is_member(guild, message.author):
        shape["member"] = json_shapes.member(guild, message.author)
    if "mentions" not in message.fields:
        for mention in shape["mentions"]:
            if world.is_member(guild, int(mention["id"])):
                mention["member"] = json_shapes.member(guild, int(mention["id"]))


def _place(world: World, news: News, bot: Bot) -> Shape | None:
    """Events about a channel go to every bot in the guild; those about a thread only to bots that may see it."""
    assert news.channel is not None
    if news.channel.thread is None:
        return json_shapes.channel(world, news.channel) | news.data
    if not _sees(world, news, bot):
        return None
    shape = json_shapes.thread(world, news.channel, bot) | news.data
    if news.name == "THREAD_DELETE":
        return {name: shape[name] for name in ("id", "guild_id", "parent_id", "type")}
    return shape


def _guild(world: World, news: News, bot: Bot) -> Shape:
    assert news.guild is not None
    match news.name:
        case "GUILD_CREATE":
            shape = json_shapes.guild_create(world, news.guild, bot)
            if news.only:  # the bot was added just now: only a guild that came back says that it is there again
                del shape["unavailable"]
            return shape
        case "GUILD_UPDATE":
            return json_shapes.guild(news.guild)
        case "GUILD_DELETE":
            return {"id": str(news.guild.id), **news.data}
        case _:
            return {"guild_id": str(news.guild.id), **news.data}
