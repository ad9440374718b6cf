"""One message of each kind in Discord's own JSON, walked from discord.py's enums; no server is needed.

A new release of the library that knows another type brings a sample of it, if only one without further fields. What
every library shows of a message, in Discord's spelling, is in ``seen_in``.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any, get_args

import discord
from discord.types.embed import EmbedType

from tests.held import NOON
from tidegate.core.clock import HeldClock
from tidegate.loopback.discord import World, message_shapes
from tidegate.loopback.discord.world.kinds import KINDS, components, contents, embeds, sample_message, system_messages
from tidegate.loopback.discord.world.messages.raw_messages import post_raw
from tidegate.loopback.discord.world.places import Channel

Raw = dict[str, Any]
AT = "http://127.0.0.1:1"
"""Where the files of the samples are said to be."""

MESSAGE_TYPES = [one.name for one in discord.MessageType]
EMBED_TYPES = [f"embed_{name}" for name in get_args(EmbedType)]
STICKER_FORMATS = [f"sticker_{one.name}" for one in discord.StickerFormatType]
COMPONENT_TYPES = [f"component_{one.name}" for one in discord.ComponentType]
OTHERS = [name for name in KINDS if name in contents.MAKERS and name not in STICKER_FORMATS]
"""Kinds that are no type of the library: polls, forwards, voice messages, files, webhooks and more."""

EVERY_KIND = [*MESSAGE_TYPES, *EMBED_TYPES, *STICKER_FORMATS, *COMPONENT_TYPES, *OTHERS]


def unnamed_kinds() -> list[str]:
    """The types of the library that the loopback has no kind of its own for."""
    named = {*system_messages.MAKERS, *embeds.MAKERS, *components.MAKERS, *contents.MAKERS}
    return [name for name in EVERY_KIND if name not in named]


def raw_sample(world: World, channel: Channel, kind: str) -> Raw:
    """The JSON to post for a kind: the fields that make it what it is."""
    if kind in KINDS:
        return sample_message(world, channel, kind, world.new_id())
    if kind in MESSAGE_TYPES:
        return {"type": discord.MessageType[kind].value, "content": kind}
    if kind in EMBED_TYPES:
        return {"content": "", "embeds": [{"type": kind.removeprefix("embed_"), "title": kind}]}
    if kind in STICKER_FORMATS:
        number = discord.StickerFormatType[kind.removeprefix("sticker_")].value
        return {"content": "", "sticker_items": [{"id": "1", "name": kind, "format_type": number}]}
    return {"content": "", "components": [{"type": discord.ComponentType[kind.removeprefix("component_")].value}]}


@cache
def _place() -> tuple[World, Channel]:
    world = World(HeldClock(NOON), seed=1)
    world.add_bot("Tidebot")
    channel = world.add_channel(world.add_guild("Harbour"), "general")
    world.post(channel, "the first message, which others refer to")
    return world, channel


@cache
def _sample(kind: str) -> Raw:
    world, channel = _place()
    message = post_raw(world, channel, raw_sample(world, channel, kind))
    [bot] = world.bots.values()
    return message_shapes.message(world, channel, message, bot, AT, content=True)


def sample(kind: str, **more: Any) -> Raw:
    """A whole message of this kind, as Discord's REST would answer it; *more* overrides fields."""
    return deepcopy(_sample(kind)) | more


def samples() -> dict[str, Raw]:
    """A whole message of every kind."""
    return {kind: sample(kind) for kind in EVERY_KIND}


def seen_in(message: discord.Message) -> Raw:
    """What discord.py shows of a message, in Discord's spelling and with nothing it does not know."""
    seen: Raw = {
        "id": str(message.id),
        "type": message.type.value,
        "content": message.content,
        "tts": message.tts,
        "flags": message.flags.value,
        "pinned": message.pinned,
        "mention_everyone": message.mention_everyone,
        "mentions": [{"id": str(one.id)} for one in message.mentions],
        "mention_roles": [str(one.id) for one in message.role_mentions],
        "author": {"id": str(message.author.id), "username": message.author.name, "bot": message.author.bot},
        "webhook_id": str(message.webhook_id) if message.webhook_id else None,
        "application_id": str(message.application_id) if message.application_id else None,
        "embeds": [one.to_dict() for one in message.embeds],
        "components": [one.to_dict() for one in message.components],
        "sticker_items": [_sticker(one) for one in message.stickers],
        "attachments": [_attachment(one) for one in message.attachments],
        "message_snapshots": [{"message": _snapshot(one)} for one in message.message_snapshots],
        "activity": message.activity,
        "reactions": [_reaction(one) for one in message.reactions],
    }
    if message.edited_at:
        seen["edited_timestamp"] = message.edited_at.isoformat()
    seen |= {name: told for name, told in _rare(message).items() if told}
    return seen


def _rare(message: discord.Message) -> Raw:
    reference, call, role = message.reference, message.call, message.role_subscription
    bought, used = message.purchase_notification, message.interaction_metadata
    return {
        "poll": _poll(message.poll) if message.poll else None,
        "message_reference": reference and _reference(reference),
        "application": message.application and {"id": str(message.application.id), "name": message.application.name},
        "call": call and {"ended_timestamp": call.ended_timestamp and call.ended_timestamp.isoformat()},
        "role_subscription_data": role
        and {
            "role_subscription_listing_id": str(role.role_subscription_listing_id),
            "tier_name": role.tier_name,
            "total_months_subscribed": role.total_months_subscribed,
            "is_renewal": role.is_renewal,
        },
        "purchase_notification": bought
        and bought.guild_product_purchase
        and {
            "guild_product_purchase": {
                "listing_id": str(bought.guild_product_purchase.listing_id),
                "product_name": bought.guild_product_purchase.product_name,
            }
        },
        "interaction_metadata": used
        and {"id": str(used.id), "type": used.type.value, "user": {"id": str(used.user.id)}},
    }


def _sticker(one: discord.StickerItem) -> Raw:
    return {"id": str(one.id), "name": one.name, "format_type": one.format.value}


def _attachment(one: discord.Attachment) -> Raw:
    told = {
        "id": str(one.id),
        "filename": one.filename,
        "size": one.size,
        "content_type": one.content_type,
        "description": one.description,
        "title": one.title,
        "width": one.width,
        "height": one.height,
        "duration_secs": one.duration,
        "flags": one.flags.value,
        "ephemeral": one.ephemeral,
    }
    return {name: value for name, value in told.items() if value is not None}


def _snapshot(one: discord.MessageSnapshot) -> Raw:
    return {
        "type": one.type.value,
        "content": one.content,
        "flags": one.flags.value,
        "timestamp": one.created_at.isoformat(),
        "edited_timestamp": one.edited_at and one.edited_at.isoformat(),
        "embeds": [held.to_dict() for held in one.embeds],
        "components": [held.to_dict() for held in one.components],
        "sticker_items": [_sticker(held) for held in one.stickers],
        "attachments": [_attachment(held) for held in one.attachments],
    }


def _reference(one: discord.MessageReference) -> Raw:
    told = {
        "type": one.type.value,
        "message_id": one.message_id,
        "channel_id": one.channel_id,
        "guild_id": one.guild_id,
    }
    return {name: value if name == "type" else str(value) for name, value in told.items() if value is not None}


def _poll(poll: discord.Poll) -> Raw:
    return {
        "question": {"text": poll.question},
        "allow_multiselect": poll.multiple,
        "layout_type": poll.layout_type.value,
        "expiry": poll.expires_at and poll.expires_at.isoformat(),
        "answers": [{"answer_id": one.id, "poll_media": {"text": one.text}} for one in poll.answers],
        "results": {
            "is_finalized": poll.is_finalised(),
            "answer_counts": [{"id": one.id, "count": one.vote_count} for one in poll.answers],
        },
    }


def _reaction(one: discord.Reaction) -> Raw:
    emoji = one.emoji
    name = emoji if isinstance(emoji, str) else emoji.name
    return {"emoji": {"name": name}, "count": one.count, "count_details": {"normal": one.normal_count}}
