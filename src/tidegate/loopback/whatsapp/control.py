"""The control address of the loopback WhatsApp: the world from outside, for demo, tests and whoever checks them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tidegate.loopback.whatsapp import changing
from tidegate.loopback.whatsapp.schema import ChangeSpec, DeleteSpec, EditSpec, PairSpec, PostSpec, ReceiptSpec
from tidegate.loopback.whatsapp.server import WhatsAppServer
from tidegate.loopback.whatsapp.world import GROUPS, Message, World


def whatsapp_control(server: WhatsAppServer) -> APIRouter:
    """Everything that can be asked about this WhatsApp, and done to it."""
    router = APIRouter()

    @router.post("/whatsapp/post")
    async def post(spec: PostSpec) -> dict[str, list[str]]:
        return {"ids": changing.post(server.world, spec)}

    @router.post("/whatsapp/edit")
    async def edit(spec: EditSpec) -> dict[str, list[str]]:
        return {"ids": changing.edit(server.world, spec)}

    @router.post("/whatsapp/delete")
    async def delete(spec: DeleteSpec) -> dict[str, list[str]]:
        return {"ids": changing.delete(server.world, spec)}

    @router.post("/whatsapp/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        return changing.change(server, spec)

    @router.post("/whatsapp/receipt")
    async def receipt(spec: ReceiptSpec) -> dict[str, Any]:
        return changing.receipt(server, spec)

    @router.post("/whatsapp/pair")
    async def pair(spec: PairSpec) -> dict[str, str]:
        return changing.pair(server, spec)

    @router.get("/whatsapp/pair")
    async def pair_by_link(phone: str) -> dict[str, str]:
        return changing.pair(server, PairSpec(phone=phone))

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
