"""The control address of the loopback Discord: the world from outside, for demo, tests and whoever checks them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from fastapi import APIRouter

from tidegate.loopback.discord import changing
from tidegate.loopback.discord.answering import recently_invalid
from tidegate.loopback.discord.history import Message, written_at
from tidegate.loopback.discord.making import find_bot
from tidegate.loopback.discord.schema import ChangeSpec, DeleteSpec, EditSpec, PostSpec
from tidegate.loopback.discord.server import DiscordServer
from tidegate.loopback.discord.world import World


def discord_control(server: DiscordServer) -> APIRouter:
    """Everything that can be asked about this Discord, and done to it."""
    router = APIRouter()

    @router.post("/discord/post")
    async def post(spec: PostSpec) -> dict[str, list[int]]:
        return {"ids": changing.post(server.world, spec)}

    @router.post("/discord/edit")
    async def edit(spec: EditSpec) -> dict[str, list[int]]:
        return {"ids": changing.edit(server.world, spec)}

    @router.post("/discord/delete")
    async def delete(spec: DeleteSpec) -> dict[str, list[int]]:
        return {"ids": changing.delete(server.world, spec)}

    @router.post("/discord/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        told = changing.change(server.world, spec)
        if spec.disconnect is not None:
            server.gateway.hang_up(4000 if spec.disconnect is True else spec.disconnect)
        if spec.reconnect:
            server.gateway.ask_to_reconnect()
        if spec.invalidate_sessions is not None:
            server.gateway.invalidate(resumable=spec.invalidate_sessions == "resumable")
        return told

    @router.get("/discord/token")
    async def token(bot: str = "") -> dict[str, str]:
        world = server.world
        found = find_bot(world, bot or next((one.name for one in world.bots.values()), ""))
        return {"token": world.token(found), "bot": found.name, "id": str(found.id)}

    @router.get("/discord/invalid")
    async def invalid() -> dict[str, int]:
        return {"count": len(recently_invalid(server.world)), "limit": server.world.limits.invalid}

    @router.get("/truth/discord/{channel}")
    async def truth(channel: str, after: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        history = server.world.channel(channel).history
        held = history.after(after, len(history) if limit is None else limit)
        return [_shown(server.world, message) for message in reversed(held)]

    return router


def names(world: World) -> dict[str, Any]:
    """The ids of what a world was made with, as ``PUT /world`` answers them."""
    return {
        "bots": {bot.name: bot.id for bot in world.bots.values()},
        "guilds": {guild.name: guild.id for guild in world.guilds.values()},
        "channels": {channel.name: channel.id for channel in world.channels.values()},
    }


def _shown(world: World, message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "date": written_at(message).isoformat(),
        "kind": message.kind,
        "author": message.author,
        "author_name": world.user(message.author).name,
        "text": message.text,
        "edited_at": message.edited_at.isoformat() if message.edited_at else None,
        "reply_to": message.reply_to or None,
        "flags": message.flags,
        "reactions": {emoji: len(users) for emoji, users in message.reactions.items()},
        "files": [
            {
                "id": file.id,
                "name": file.name,
                "size": len(file.content),
                "sha256": sha256(file.content).hexdigest(),
            }
            for file in message.attachments
        ],
        "fields": message.fields,
    }
