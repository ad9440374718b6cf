"""Reactions: adding and removing them, and who reacted."""

from __future__ import annotations

from tidegate.core.errors import BadInput
from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.method_context import (
    Answer,
    Method,
    Refusal,
    Request,
    limit_in,
    missing_permissions,
    snowflake_in,
)
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.messages.reactions import (
    add_reaction,
    clear_reactions,
    emoji_named,
    remove_reaction,
)
from tidegate.loopback.discord.world.permissions import Permission
from tidegate.loopback.discord.world.places import Channel


def react(request: Request) -> Answer:
    channel, message, emoji = _named(request)
    known = emoji in message.reactions
    if not known and Permission.ADD_REACTIONS not in request.world.may(request.bot.id, channel):
        raise missing_permissions()
    try:
        add_reaction(request.world, channel, message.id, emoji, request.bot.id)
    except BadInput as problem:
        raise Refusal(400, 30010, "Maximum number of reactions reached (20)") from problem
    return None


def unreact(request: Request) -> Answer:
    channel, message, emoji = _named(request)
    remove_reaction(request.world, channel, message.id, emoji, request.bot.id)
    return None


def unreact_other(request: Request) -> Answer:
    channel, message, emoji = _named(request, Permission.MANAGE_MESSAGES)
    user = snowflake_in(request.named["user.id"], "user_id")
    remove_reaction(request.world, channel, message.id, emoji, user)
    return None


def clear_emoji(request: Request) -> Answer:
    channel, message, emoji = _named(request, Permission.MANAGE_MESSAGES)
    clear_reactions(request.world, channel, message.id, emoji)
    return None


def clear_all(request: Request) -> Answer:
    channel = request.text_channel(Permission.READ_MESSAGE_HISTORY, Permission.MANAGE_MESSAGES)
    clear_reactions(request.world, channel, request.message(channel).id)
    return None


def reactors(request: Request) -> Answer:
    """Who reacted with an emoji, by id; ``type=1`` is who did so with a super reaction."""
    _, message, emoji = _named(request)
    held = (message.bursts if request.query.get("type") == "1" else message.reactions).get(emoji)
    if held is None and emoji not in {*message.reactions, *message.bursts}:
        raise Refusal(400, 10014, "Unknown Emoji")
    return users_page(request, held or [])


def users_page(request: Request, users: list[int]) -> list[json_shapes.Shape]:
    """A page of users by id, those above ``after``."""
    limit = limit_in(request, usual=25, most=100)
    after = snowflake_in(request.query.get("after", "0"), "after")
    found = sorted(one for one in users if one > after)[:limit]
    return [json_shapes.user(request.world.user(one)) for one in found]


def _named(request: Request, *needed: Permission) -> tuple[Channel, Message, str]:
    channel = request.text_channel(Permission.READ_MESSAGE_HISTORY, *needed)
    message = request.message(channel)
    return channel, message, emoji_named(message, request.named["emoji"])


_REACTIONS = "/channels/{channel.id}/messages/{message.id}/reactions"

METHODS: dict[str, Method] = {
    f"PUT {_REACTIONS}/{{emoji}}/@me": react,
    f"DELETE {_REACTIONS}/{{emoji}}/@me": unreact,
    f"DELETE {_REACTIONS}/{{emoji}}/{{user.id}}": unreact_other,
    f"GET {_REACTIONS}/{{emoji}}": reactors,
    f"DELETE {_REACTIONS}/{{emoji}}": clear_emoji,
    f"DELETE {_REACTIONS}": clear_all,
}
