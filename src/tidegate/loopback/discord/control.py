"""Routes of the control address that change and show the loopback Discord."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tidegate.loopback.control_routes import write_routes
from tidegate.loopback.discord.request_handler import recently_invalid
from tidegate.loopback.discord.server import DiscordServer
from tidegate.loopback.discord.truth import truth_of
from tidegate.loopback.discord.world import world_changes
from tidegate.loopback.discord.world.kinds import KINDS
from tidegate.loopback.discord.world.messages import message_changes
from tidegate.loopback.discord.world.schema import ChangeSpec
from tidegate.loopback.discord.world.world import World
from tidegate.loopback.discord.world.world_builder import find_bot

_WRITES = (
    message_changes.post,
    message_changes.edit,
    message_changes.delete,
    message_changes.react,
    message_changes.unreact,
    message_changes.vote,
    message_changes.end_poll,
    message_changes.pin,
    message_changes.unpin,
)


def discord_control(server: DiscordServer) -> APIRouter:
    """Everything that can be asked about this Discord, and done to it."""
    router = write_routes(server, "discord", *_WRITES)

    @router.post("/discord/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        told = world_changes.change(server.world, spec)
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
        world, found = server.world, server.world.channel(channel)
        held = found.history.after(after, len(found.history) if limit is None else limit)
        return [truth_of(world, found, message, server.address) for message in reversed(held)]

    @router.get("/discord/kinds")
    async def kinds() -> list[str]:
        return list(KINDS)

    return router


def names(world: World) -> dict[str, Any]:
    """The ids of what a world was made with, as ``PUT /world`` answers them."""
    return {
        "bots": {bot.name: bot.id for bot in world.bots.values()},
        "guilds": {guild.name: guild.id for guild in world.guilds.values()},
        "channels": {channel.name: channel.id for channel in world.channels.values()},
    }
