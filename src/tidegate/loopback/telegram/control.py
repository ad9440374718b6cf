"""Routes of the control address that change and show the loopback Telegram."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tidegate.core.errors import BadInput
from tidegate.loopback.control_routes import write_routes
from tidegate.loopback.telegram.server import TelegramServer
from tidegate.loopback.telegram.truth import shown_channel, shown_chat, shown_message, shown_person
from tidegate.loopback.telegram.world import world_changes
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.telegram.world.schema import ChangeSpec

_WRITES = (
    world_changes.post,
    world_changes.edit,
    world_changes.delete,
    world_changes.react,
    world_changes.vote,
    world_changes.view,
    world_changes.pin,
    world_changes.preview,
)


def telegram_control(server: TelegramServer) -> APIRouter:
    """Everything that can be asked about this Telegram, and done to it."""
    router = write_routes(server, "telegram", *_WRITES)

    @router.post("/telegram/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        told = world_changes.change(server.world, spec)
        if spec.disconnect:
            server.disconnect_all()
        return told

    _add_questions(router, server)
    return router


def _add_questions(router: APIRouter, server: TelegramServer) -> None:
    @router.get("/telegram/key")
    async def key() -> dict[str, str]:
        return {"public_key": server.public_key_pem}

    @router.get("/telegram/code")
    async def code(phone: str) -> dict[str, str]:
        account = world_changes.find_account(server.world, phone)
        if not account.code:
            raise BadInput(f"No code is waiting for {phone}; ask for one by signing in.")
        return {"code": account.code}

    @router.get("/truth/telegram/{channel:path}")
    async def truth(channel: str) -> list[dict[str, Any]]:
        held = server.world.channel(channel)
        return [shown_message(server.world, held, message) for message in held.messages.values()]

    @router.get("/telegram/people")
    async def people() -> list[dict[str, Any]]:
        return [shown_person(person) for person in server.world.people.values()]

    @router.get("/telegram/channels")
    async def channels() -> list[dict[str, Any]]:
        return [shown_channel(channel) for channel in server.world.channels.values()]

    @router.get("/telegram/chats")
    async def chats() -> list[dict[str, Any]]:
        return [shown_chat(server.world, view) for view in server.world.chats.views.values()]

    @router.get("/telegram/kinds")
    async def kinds() -> list[str]:
        return kind_names()
