"""Who the bot is, where it is, and which channels and threads there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.method_context import (
    Answer,
    Method,
    Refusal,
    Request,
    invalid,
    limit_in,
    missing_access,
    missing_permissions,
    moment_in,
    snowflake_in,
    unknown,
)
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import THREADS, Channel, ChannelKind
from tidegate.loopback.faults import FaultKind

STARTS_A_DAY = 1000


def myself(request: Request) -> Answer:
    return json_shapes.myself(request.bot)


def application(request: Request) -> Answer:
    return json_shapes.application(request.world, request.bot)


def gateway(request: Request) -> Answer:
    return {"url": request.at.replace("http", "ws", 1)}


def gateway_for_bots(request: Request) -> Answer:
    begun = request.world.record.by_method(request.bot.name)["gateway identify"]
    limit = {"total": STARTS_A_DAY, "remaining": max(0, STARTS_A_DAY - begun), "reset_after": 0, "max_concurrency": 1}
    return {"url": request.at.replace("http", "ws", 1), "shards": 1, "session_start_limit": limit}


def my_guilds(request: Request) -> Answer:
    limit = limit_in(request, usual=200, most=200)
    after = snowflake_in(request.query.get("after", "0"), "after")
    mine = [guild for guild in request.world.guilds.values() if request.bot.id in guild.members and guild.id > after]
    return [
        {"id": str(guild.id), "name": guild.name, "icon": None, "owner": False, "permissions": "0", "features": []}
        for guild in mine[:limit]
    ]


def one_guild(request: Request) -> Answer:
    return json_shapes.guild(request.guild())


def roles(request: Request) -> Answer:
    return [json_shapes.role(role, position) for position, role in enumerate(request.guild().roles.values())]


def member(request: Request) -> Answer:
    guild, number = request.guild(), snowflake_in(request.named["user.id"], "user_id")
    if not request.world.is_member(guild, number):
        raise unknown("Member", 10007)
    return json_shapes.member(guild, number) | {"user": json_shapes.user(request.world.user(number))}


def guild_channels(request: Request) -> Answer:
    """Every channel with its newest message id, whether or not the bot may see it; threads have a list of their own."""
    guild = request.guild()
    return _told(request, [json_shapes.channel(request.world, one) for one in request.world.channels_of(guild)])


def active_threads(request: Request) -> Answer:
    held = json_shapes.active_threads(request.world, request.guild(), request.bot)
    rows = _told(request, [json_shapes.thread(request.world, one, request.bot) for one in held])
    return {"threads": rows, "members": [row["member"] for row in rows if "member" in row]}


def one_channel(request: Request) -> Answer:
    return json_shapes.any_channel(request.world, request.channel(), request.bot)


def archived_public(request: Request) -> Answer:
    channel = request.channel(Permission.READ_MESSAGE_HISTORY)
    return _archived(request, channel, lambda one: one.kind is not ChannelKind.PRIVATE_THREAD)


def archived_private(request: Request) -> Answer:
    channel = request.channel(Permission.READ_MESSAGE_HISTORY)
    if Permission.MANAGE_THREADS not in request.world.may(request.bot.id, channel):
        raise missing_access()
    return _archived(request, channel, lambda one: one.kind is ChannelKind.PRIVATE_THREAD)


def archived_private_of_mine(request: Request) -> Answer:
    """Private threads the bot has joined, newest id first; its bound is an id."""
    channel = request.channel(Permission.READ_MESSAGE_HISTORY)
    before = snowflake_in(request.query.get("before", str((1 << 63) - 1)), "before")
    mine = [one for one in _archive(request, channel) if one.kind is ChannelKind.PRIVATE_THREAD and one.id < before]
    joined = [one for one in mine if one.thread and request.bot.id in one.thread.members]
    return _listed(request, sorted(joined, key=lambda one: one.id, reverse=True))


def join_thread(request: Request) -> Answer:
    channel = request.channel()
    if channel.thread is None:
        raise unknown("Channel", 10003)
    if channel.thread.archived:
        raise Refusal(400, 50083, "Thread is archived")
    threads.join(request.world, channel, request.bot)
    return None


def open_conversation(request: Request) -> Answer:
    person = request.world.people.get(snowflake_in(str(request.body.get("recipient_id", "")), "recipient_id"))
    if person is None:
        raise invalid("recipient_id", "INVALID_USER", "Unknown user.")
    return json_shapes.channel(request.world, request.world.conversation(request.bot, person))


def _told(request: Request, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a list with newest ids; under a fault, those of the last answer, or one row is missing."""
    key = (request.bot.id, request.method + str(request.named))
    if request.struck(FaultKind.STALE):
        rows = request.world.told.get(key, rows)
    request.world.told[key] = rows
    if fault := request.struck(FaultKind.MISSING_ROW):
        missing = str(fault.channel) if fault.channel else rows[0]["id"] if rows else ""
        rows = [row for row in rows if row["id"] != missing]
    return rows


def _archive(request: Request, channel: Channel) -> list[Channel]:
    if channel.kind in THREADS or channel.kind is ChannelKind.CATEGORY:
        raise missing_permissions()
    return [one for one in request.world.threads_of(channel) if one.thread and one.thread.archived]


def _archived(request: Request, channel: Channel, wanted: Callable[[Channel], bool]) -> Answer:
    """The archive, the latest archived first; its bound is a moment, and several may share one."""
    before = moment_in(request, "before")
    held = [
        one for one in _archive(request, channel) if wanted(one) and (before is None or _archived_at(one)[0] < before)
    ]
    return _listed(request, sorted(held, key=_archived_at, reverse=True))


def _archived_at(one: Channel) -> tuple[datetime, int]:
    assert one.thread is not None
    return one.thread.archive_changed_at, one.id


def _listed(request: Request, held: Sequence[Channel]) -> Answer:
    limit = limit_in(request, usual=50, most=100)
    if request.struck(FaultKind.SHORT_PAGE):
        limit = min(limit, 1)
    rows = [json_shapes.thread(request.world, one, request.bot) for one in held[:limit]]
    members = [row["member"] for row in rows if "member" in row]
    return {"threads": rows, "members": members, "has_more": len(held) > limit}


METHODS: dict[str, Method] = {
    "GET /users/@me": myself,
    "GET /users/@me/guilds": my_guilds,
    "POST /users/@me/channels": open_conversation,
    "GET /applications/@me": application,
    "GET /oauth2/applications/@me": application,
    "GET /gateway": gateway,
    "GET /gateway/bot": gateway_for_bots,
    "GET /guilds/{guild.id}": one_guild,
    "GET /guilds/{guild.id}/roles": roles,
    "GET /guilds/{guild.id}/members/{user.id}": member,
    "GET /guilds/{guild.id}/channels": guild_channels,
    "GET /guilds/{guild.id}/threads/active": active_threads,
    "GET /channels/{channel.id}": one_channel,
    "GET /channels/{channel.id}/threads/archived/public": archived_public,
    "GET /channels/{channel.id}/threads/archived/private": archived_private,
    "GET /channels/{channel.id}/users/@me/threads/archived/private": archived_private_of_mine,
    "PUT /channels/{channel.id}/thread-members/@me": join_thread,
}
