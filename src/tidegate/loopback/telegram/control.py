"""The control address of the loopback Telegram: the world from outside, for demo, tests and whoever checks them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tidegate.errors import BadInput
from tidegate.loopback.telegram import changing
from tidegate.loopback.telegram.channels import Channel, Message, topic_of
from tidegate.loopback.telegram.content import File
from tidegate.loopback.telegram.schema import ChangeSpec, DeleteSpec, EditSpec, PostSpec
from tidegate.loopback.telegram.server import TelegramServer

_HASHED_UP_TO = 64 << 20


def telegram_control(server: TelegramServer) -> APIRouter:
    """Everything that can be asked about this Telegram, and done to it."""
    router = APIRouter()

    @router.post("/telegram/post")
    async def post(spec: PostSpec) -> dict[str, list[int]]:
        return {"ids": changing.post(server.world, spec)}

    @router.post("/telegram/edit")
    async def edit(spec: EditSpec) -> dict[str, list[int]]:
        return {"ids": changing.edit(server.world, spec)}

    @router.post("/telegram/delete")
    async def delete(spec: DeleteSpec) -> dict[str, list[int]]:
        return {"ids": changing.delete(server.world, spec)}

    @router.post("/telegram/change")
    async def change(spec: ChangeSpec) -> dict[str, Any]:
        told = changing.change(server.world, spec)
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
        account = changing.find_account(server.world, phone)
        if not account.code:
            raise BadInput(f"No code is waiting for {phone}; ask for one by signing in.")
        return {"code": account.code}

    @router.get("/truth/telegram/{channel}")
    async def truth(channel: str) -> list[dict[str, Any]]:
        held = server.world.channel(channel)
        return [_shown(held, message) for message in held.messages.values()]


def _shown(channel: Channel, message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "date": message.date.isoformat(),
        "topic": topic_of(message) if channel.forum else None,
        "reply_to": message.reply_to or None,
        "sender": message.sender or None,
        "text": message.text,
        "edited_at": message.edited_at.isoformat() if message.edited_at else None,
        "action": message.action.kind.value if message.action else None,
        "file": _file(message.file) if message.file else None,
    }


def _file(file: File) -> dict[str, Any]:
    """A file with its hash; that of a very large one is left out, since its bytes would have to be computed for it."""
    digest = file.sha256() if file.size <= _HASHED_UP_TO else None
    return {"id": file.id, "name": file.name, "size": file.size, "kind": file.kind.value, "sha256": digest}
