"""Messages with files in channels of the loopback Telegram."""

from __future__ import annotations

from typing import Any

from telethon import TelegramClient

from tests.loopback.clients import peer
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.file_content import File


async def posted(client: TelegramClient, telegram: TelegramServer, file: File, title: str = "Source") -> Any:
    """A message with *file* in a channel of its own, as the client reads it."""
    channel = telegram.world.add_channel(title)
    message = telegram.world.post(channel, file=file)
    return await client.get_messages(peer(telegram, channel), ids=message.id)
