"""A copy of all chats as people make it with Telethon: ``iter_messages``, then ``download_media`` of each file.

A program of its own: it runs with the peers' packages alone. Its orders come as JSON on standard input; it prints how
many messages it found.
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from bench._telethon_client import telethon_client


async def copy(orders: dict[str, Any]) -> dict[str, int]:
    """Read every chat, then fetch the files into a folder."""

    async def code() -> str:
        return await asyncio.to_thread(_sent_code, orders["control"], orders["phone"])

    async with telethon_client(orders["address"], orders["public_key"], orders["phone"], code) as client:
        found = [
            message for dialog in await client.get_dialogs() async for message in client.iter_messages(dialog.entity)
        ]
        with_files = [message for message in found if message.file is not None]
        for number, message in enumerate(with_files):
            await client.download_media(message, file=str(Path(orders["folder"]) / str(number)))
    return {"messages": len(found)}


def _sent_code(control: str, phone: str) -> str:
    with urllib.request.urlopen(f"{control}/telegram/code?phone={urllib.parse.quote(phone)}") as answer:
        return str(json.load(answer)["code"])


def main() -> None:
    print(json.dumps(asyncio.run(copy(json.load(sys.stdin)))))
