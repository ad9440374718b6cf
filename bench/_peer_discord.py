"""A copy of a Discord server as people make it: by discord.py's ``history()``, or by chat-exporter.

A program of its own: it runs with the peers' packages alone. Its orders come as JSON on standard input. It copies every
text channel and every thread that discord.py lists, archived ones too, with their files, into a folder.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import discord
import yarl

Copy = Callable[[Any, Path], Awaitable[None]]


async def copy_server(token: str, copy: Copy, folder: Path) -> None:
    """Connect, copy every place of every server, and leave."""
    intents = discord.Intents.default()
    intents.message_content = intents.members = True
    async with discord.Client(intents=intents) as client:
        await client.login(token)
        connection = asyncio.create_task(client.connect())
        await client.wait_until_ready()
        for guild in client.guilds:
            async for place in places(guild):
                await copy(place, folder)
        await client.close()
        await connection


async def places(guild: Any) -> AsyncIterator[Any]:
    """Text channels and threads, the active ones first."""
    for channel in guild.text_channels:
        yield channel
    for thread in await guild.active_threads():
        yield thread
    for channel in (*guild.text_channels, *guild.forums):
        async for thread in channel.archived_threads(limit=None):
            yield thread


async def copy_by_history(channel: Any, folder: Path) -> None:
    """A JSON line a message, and its files."""
    with (folder / f"{channel.id}.jsonl").open("w") as file:
        async for message in channel.history(limit=None):
            line = {"id": str(message.id), "author": message.author.name, "text": message.content}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            for attachment in message.attachments:
                await attachment.save(folder / "files" / str(attachment.id))


async def copy_by_chat_exporter(channel: Any, folder: Path) -> None:
    """A page of HTML, and the files by the handler that the package has for that."""
    exporter = importlib.import_module("chat_exporter")  # only the peers' own packages have it
    files = exporter.AttachmentToLocalFileHostHandler(folder / "files", "files")
    page = await exporter.export(channel, bot=None, attachment_handler=files)
    (folder / f"{channel.id}.html").write_text(page or "")


WAYS: dict[str, Copy] = {"history": copy_by_history, "chat-exporter": copy_by_chat_exporter}


def stay_here() -> None:
    """No other host is asked for anything: chat-exporter looks up a picture of every emoji on a public host."""
    look_up = socket.getaddrinfo

    def look_up_here(host: Any, *arguments: Any, **more: Any) -> Any:
        if host not in ("127.0.0.1", "localhost"):
            raise socket.gaierror(socket.EAI_NONAME, "only this machine is asked")
        return look_up(host, *arguments, **more)

    socket.getaddrinfo = look_up_here


def main() -> None:
    stay_here()
    orders = json.load(sys.stdin)
    folder = Path(orders["folder"])
    (folder / "files").mkdir(parents=True)
    discord.http.Route.BASE = orders["address"] + "/api/v10"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(orders["address"].replace("http", "ws"))
    asyncio.run(copy_server(orders["token"], WAYS[orders["way"]], folder))


if __name__ == "__main__":
    main()
