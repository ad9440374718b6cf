"""People, guilds, channels and threads in Discord's own shapes, as a given bot may see them."""

from __future__ import annotations

from typing import Any, TypeAlias

from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import (
    FORUMS,
    PRIVILEGED,
    THREADS,
    Bot,
    Channel,
    ChannelKind,
    Guild,
    Role,
    User,
)
from tidegate.loopback.discord.world.snowflakes import moment_of
from tidegate.loopback.discord.world.world import World

Shape: TypeAlias = dict[str, Any]

_APPLICATION_FLAGS = {"guild_presences": 1 << 12, "guild_members": 1 << 14, "message_content": 1 << 18}


def user(who: User) -> Shape:
    return {
        "id": str(who.id),
        "username": who.name.lower(),
        "global_name": who.name,
        "discriminator": "0",
        "avatar": None,
        "bot": isinstance(who, Bot),
        **who.fields,
    }


def myself(bot: Bot) -> Shape:
    return user(bot) | {"verified": True, "mfa_enabled": False, "locale": "en-US", "flags": 0, "email": None}


def application_flags(bot: Bot) -> int:
    """Which privileged intents a person has switched on for the bot."""
    return sum(_APPLICATION_FLAGS[name] for name in PRIVILEGED if name in bot.switched_on)


def application(world: World, bot: Bot) -> Shape:
    return {
        "id": str(bot.id),
        "name": bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "",
        "owner": user(next(iter(world.people.values()))),
        "team": None,
        "flags": application_flags(bot),
    }


def role(one: Role, position: int) -> Shape:
    return {
        "id": str(one.id),
        "name": one.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": position,
        "permissions": str(int(one.permissions)),
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def member(guild: Guild, number: int) -> Shape:
    """A guild member, without its user object."""
    held = guild.members.get(number)
    until = held.timed_out_until if held else None
    return {
        "roles": [str(one) for one in held.roles] if held else [],
        "joined_at": moment_of(guild.id).isoformat(),
        "nick": guild.nicks.get(number),
        "avatar": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
        "communication_disabled_until": until.isoformat() if until else None,
    }


def guild(one: Guild) -> Shape:
    """A guild as REST returns it: without channels, threads and members."""
    return {
        "id": str(one.id),
        "name": one.name,
        "icon": one.icon,
        "splash": None,
        "discovery_splash": None,
        "owner_id": str(one.owner),
        "region": "loopback",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role(held, position) for position, held in enumerate(one.roles.values())],
        "emojis": [],
        "stickers": [],
        "features": [],
        "mfa_level": 0,
        "nsfw_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "vanity_url_code": None,
        "description": None,
        "banner": None,
        "premium_tier": one.premium_tier,
        "preferred_locale": "en-US",
    }


def guild_create(world: World, one: Guild, bot: Bot) -> Shape:
    """A guild as the gateway sends it: all channels with newest ids, the active threads the bot may see, and itself."""
    active = [thread(world, held, bot) for held in active_threads(world, one, bot)]
    return guild(one) | {
        "joined_at": moment_of(one.id).isoformat(),
        "large": False,
        "unavailable": False,
        "member_count": len(world.people) + len(one.members),
        "voice_states": [],
        "members": [member(one, bot.id) | {"user": user(bot)}],
        "channels": [channel(world, held) for held in world.channels_of(one)],
        "threads": active,
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def active_threads(world: World, one: Guild, bot: Bot) -> list[Channel]:
    """Threads that are not archived and that the bot may see; newest first."""
    found = [
        held
        for held in world.threads_of(one)
        if held.thread and not held.thread.archived and Permission.VIEW_CHANNEL in world.may(bot.id, held)
    ]
    return sorted(found, key=lambda held: held.id, reverse=True)


def channel(world: World, one: Channel) -> Shape:
    """A channel that is no thread."""
    head = str(one.head) if one.head else None
    if one.kind is ChannelKind.DM:
        recipients = [user(world.user(one.between[1]))]
        shape: Shape = {"id": str(one.id), "type": 1, "last_message_id": head, "recipients": recipients, "flags": 0}
        return shape | _last_pin(one)
    shape = {
        "id": str(one.id),
        "type": int(one.kind),
        "guild_id": str(one.guild),
        "name": one.name,
        "position": one.position,
        "parent_id": str(one.parent) if one.parent else None,
        "permission_overwrites": [
            {
                "id": str(held.id),
                "type": int(held.member),
                "allow": str(int(held.allow)),
                "deny": str(int(held.deny)),
            }
            for held in one.overwrites
        ],
        "nsfw": False,
        "flags": 0,
    }
    if one.kind is not ChannelKind.CATEGORY:
        shape |= {"topic": one.topic or None, "last_message_id": head, "rate_limit_per_user": 0}
    if one.kind in (ChannelKind.VOICE, ChannelKind.STAGE):
        shape |= {"bitrate": 64_000, "user_limit": 0, "rtc_region": None}
    if one.kind in FORUMS:
        shape |= {"available_tags": [], "default_reaction_emoji": None, "default_sort_order": None}
        shape |= {"default_forum_layout": 0, "template": ""}
    return shape | _last_pin(one)


def _last_pin(one: Channel) -> Shape:
    return {"last_pin_timestamp": one.pinned_at.isoformat()} if one.pinned_at else {}


def thread(world: World, one: Channel, bot: Bot) -> Shape:
    """A thread; *member* is there when the bot has joined it."""
    assert one.thread is not None
    changed_at = one.thread.archive_changed_at.isoformat()
    shape: Shape = {
        "id": str(one.id),
        "type": int(one.kind),
        "guild_id": str(one.guild),
        "parent_id": str(one.parent),
        "owner_id": str(one.thread.owner),
        "name": one.name,
        "last_message_id": str(one.head) if one.head else None,
        "rate_limit_per_user": 0,
        "message_count": len(one.history) - (one.starter is not None) + one.thread.miscounted,
        "member_count": min(50, len(one.thread.members) + 1),
        "total_message_sent": one.thread.sent,
        "flags": 0,
        "thread_metadata": {
            "archived": one.thread.archived,
            "auto_archive_duration": 10_080,
            "archive_timestamp": changed_at,
            "locked": one.thread.locked,
            "create_timestamp": moment_of(one.id).isoformat(),
        },
    }
    shape |= _last_pin(one)
    if bot.id in one.thread.members:
        shape["member"] = thread_member(one, bot)
    return shape


def thread_member(one: Channel, bot: Bot) -> Shape:
    joined = moment_of(one.id).isoformat()
    return {"id": str(one.id), "user_id": str(bot.id), "join_timestamp": joined, "flags": 0}


def any_channel(world: World, one: Channel, bot: Bot) -> Shape:
    return thread(world, one, bot) if one.kind in THREADS else channel(world, one)
