"""Reading Discord's files: ranges, links that expire, and hosts that are never asked."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256

import aiohttp
import pytest
from aiohttp import web

from tests.platforms.discord.conftest import Opens
from tidegate.core.errors import AskedToWait, PlatformError, Refused
from tidegate.core.ids import ChannelId
from tidegate.core.task_groups import each
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.history import Attachment
from tidegate.loopback.discord.world.places import Channel
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.file_reader import FileReader
from tidegate.platforms.interface import CannotAsk, File, FileHandle, HandleExpired

CONTENT = b"low tide" * 200_000
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
async def client(opens: Opens, general: Channel) -> DiscordAccount:
    return await opens()


async def posted(client: DiscordAccount, world: World, channel: Channel) -> File:
    world.post(channel, "a file", attachments=[Attachment(world.new_id(), "a.bin", CONTENT)])
    page = await client.page(ChannelId(channel.id), before=None)
    return page.messages[0].files[0]


async def test_ranges_of_a_file(client: DiscordAccount, world: World, general: Channel) -> None:
    """A range is cut at the end of the file, and beyond it there is nothing."""
    handle = (await posted(client, world, general)).handle
    first = await client.read_file(handle, offset=0, length=MIB)
    second = await client.read_file(handle, offset=MIB, length=MIB)
    assert sha256(first + second).digest() == sha256(CONTENT).digest()
    assert await client.read_file(handle, offset=2 * MIB, length=MIB) == b""


async def test_an_expired_link_is_told_apart(client: DiscordAccount, world: World, general: Channel) -> None:
    """The caller fetches the message again for a new link."""
    file = await posted(client, world, general)
    old = FileHandle(file.handle.partition("?")[0] + "?ex=1&is=0&hm=0")
    with pytest.raises(HandleExpired):
        await client.read_file(old, offset=0, length=KIB)


async def test_a_loopback_account_reads_from_its_loopback_alone(client: DiscordAccount, discord: DiscordServer) -> None:
    """A sticker's address at the real Discord is read from the loopback; any other host is refused."""
    sticker = FileHandle("https://cdn.discordapp.com/stickers/5.png")
    assert (await client.read_file(sticker, offset=0, length=KIB)).startswith(b"\x89PNG")
    for address in ("https://example.com/a", "http://127.0.0.1:1/a", "file:///etc/passwd"):
        with pytest.raises(CannotAsk, match="own hosts only"):
            await client.read_file(FileHandle(address), offset=0, length=KIB)


@pytest.fixture
async def strange() -> AsyncIterator[tuple[FileReader, str]]:
    """A file server that answers as its path says, and a reader for it."""

    async def answer(http: web.Request) -> web.StreamResponse:
        status = int(http.match_info["status"])
        headers = {"Location": "http://127.0.0.1:1/"} if status == 302 else {"Retry-After": "7"}
        assert "Authorization" not in http.headers
        return web.Response(status=status, headers=headers, body=b"x" * (3 * MIB) if status == 200 else b"")

    app = web.Application()
    app.router.add_get("/{status}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = "http://{}:{}".format(*runner.addresses[0][:2])
    async with aiohttp.ClientSession() as session:
        reader = FileReader(session, loopback=address)
        yield reader, address
        reader.close()
    await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "problem"),
    [(302, Refused), (404, Refused), (429, AskedToWait), (500, PlatformError), (503, PlatformError)],
)
async def test_what_a_file_server_may_answer(
    strange: tuple[FileReader, str], status: int, problem: type[PlatformError]
) -> None:
    """A redirect is not followed, a missing file is a definite no, trouble is worth another try."""
    reader, address = strange
    with pytest.raises(problem):
        await reader.read(FileHandle(f"{address}/{status}"), 0, KIB)


async def test_no_more_is_read_than_was_asked_for(strange: tuple[FileReader, str]) -> None:
    """A server that ignores the range and sends more is cut off."""
    reader, address = strange
    assert await reader.read(FileHandle(f"{address}/200"), KIB, KIB) == b"x" * KIB


SIZE = 40 * MIB + 5


@dataclass
class WholeFiles:
    """A host that ignores ranges and sends the whole file, each block of it another byte; and what it sent."""

    size: int = SIZE
    sized: bool = True  # whether it says how many bytes come
    requests: int = 0
    sent: int = 0

    async def answer(self, http: web.Request) -> web.StreamResponse:
        self.requests += 1
        answer = web.StreamResponse(headers={"Content-Length": str(self.size)} if self.sized else {})
        await answer.prepare(http)
        for start in range(0, self.size, MIB):
            block = bytes([start // MIB]) * min(MIB, self.size - start)
            await answer.write(block)
            self.sent += len(block)
        return answer


@pytest.fixture
async def whole() -> AsyncIterator[tuple[WholeFiles, FileReader, FileHandle]]:
    """Such a host, a reader for it, and a file there."""
    host = WholeFiles()
    app = web.Application()
    app.router.add_get("/file", host.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = "http://{}:{}".format(*runner.addresses[0][:2])
    async with aiohttp.ClientSession() as session:
        reader = FileReader(session, loopback=address)
        yield host, reader, FileHandle(f"{address}/file")
        reader.close()
    await runner.cleanup()


@pytest.mark.parametrize("sized", [True, False])
async def test_a_host_that_ignores_ranges_sends_a_file_about_once(
    whole: tuple[WholeFiles, FileReader, FileHandle], sized: bool
) -> None:
    """Four parts are asked for at a time, as a download does; all arrive, and little is sent twice."""
    host, reader, handle = whole
    host.sized = sized
    found: dict[int, bytes] = {}

    async def read(block: int) -> None:
        found[block] = await reader.read(handle, block * MIB, MIB)

    await each(range(41), read, at_once=4)
    assert [(len(found[block]), set(found[block])) for block in sorted(found)] == [
        *((MIB, {block}) for block in range(40)), (5, {40}),
    ]  # fmt: skip
    assert host.requests <= 8
    assert host.sent <= 2 * SIZE
    assert await reader.read(handle, SIZE + MIB, KIB) == b""


async def test_what_is_before_the_wanted_bytes_takes_no_memory(
    whole: tuple[WholeFiles, FileReader, FileHandle],
) -> None:
    """The last bytes of a large file are reached, and all before them is passed."""
    _, reader, handle = whole
    tracemalloc.start()
    try:
        assert await reader.read(handle, 40 * MIB, MIB) == bytes([40]) * 5
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * MIB


async def test_a_download_that_is_cut_off_leaves_no_answer_open(
    whole: tuple[WholeFiles, FileReader, FileHandle],
) -> None:
    """The next read asks anew and gets the right bytes."""
    _, reader, handle = whole
    assert await reader.read(handle, 0, MIB) == bytes(MIB)
    reading = asyncio.create_task(reader.read(handle, 30 * MIB, MIB))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    assert await reader.read(handle, 2 * MIB, MIB) == bytes([2]) * MIB


def test_a_real_account_reads_over_https_from_discord_alone() -> None:
    """Neither plain http nor a port nor another host is ever asked."""
    reader = FileReader(None, loopback=None)  # type: ignore[arg-type]
    assert reader._allowed(FileHandle("https://cdn.discordapp.com/a")) == "https://cdn.discordapp.com/a"
    for address in ("http://cdn.discordapp.com/a", "https://127.0.0.1/a", "https://cdn.discordapp.com:1/a"):
        with pytest.raises(CannotAsk):
            reader._allowed(FileHandle(address))
