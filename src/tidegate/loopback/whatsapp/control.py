"""Routes of the control address that change and show the loopback WhatsApp."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tidegate.loopback.control_routes import write_routes
from tidegate.loopback.whatsapp import world_changes
from tidegate.loopback.whatsapp.schema import ChangeSpec, PairSpec, ReceiptSpec
from tidegate.loopback.whatsapp.server import WhatsAppServer
from tidegate.loopback.whatsapp.world import GROUPS, Message, World


def whatsapp_control(server: WhatsAppServer) -> APIRouter:
    """Everything that can be asked about this WhatsApp, and done to it."""
    router = write_routes(server, "whatsapp", world_changes.post, world_changes.edit, world_changes.delete)

    @router.post("/whatsapp/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        return world_changes.change(server, spec)

    @router.post("/whatsapp/receipt")
    async def receipt(spec: ReceiptSpec) -> dict[str, Any]:
        return world_changes.receipt(server, spec)

    @router.post("/whatsapp/pair")
    async def pair(spec: PairSpec) -> dict[str, str]:
        return world_changes.pair(server, spec)

    @router.get("/whatsapp/pair")
    async def pair_by_link(phone: str) -> dict[str, str]:
        return world_changes.pair(server, PairSpec(phone=phone))

    @router.get("/whatsapp/pairings")
    async def pairings() -> list[dict[str, str]]:
        return [{"qr": one.qr, "code": one.code, "phone": one.phone} for one in server.world.pairings]

    @router.get("/truth/whatsapp/{channel}")
    async def truth(channel: str) -> list[dict[str, Any]]:
        return [_shown(message) for message in server.world.group(channel).messages]

    return router


def names(world: World) -> dict[str, Any]:
    """The addresses of what a world was made with, as ``PUT /world`` answers them."""
    return {
        "phones": {phone.name: phone.number for phone in world.phones.values()},
        "groups": {group.name: f"{group.id}@{GROUPS}" for group in world.groups.values()},
    }


def _shown(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "date": message.at.isoformat(),
        "author": message.sender,
        "kind": message.kind,
        "text": message.text,
        "files": [{"name": message.name, "sha256": message.file}] if message.file else [],
    }
