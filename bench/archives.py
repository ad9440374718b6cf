"""A zip of 2 GiB is listed with less than 1 MiB fetched, and files come four blocks at a time in the room of one part.

The zip is sparse and lies on the loopback Telegram; what was fetched is the platform's count of calls times the block.
Then a file is downloaded with every call taking 50 ms, by Tidegate, by Telethon's own ``download_media``, and by its
``iter_download`` with the largest blocks it takes, in turns from the same server. At last a protected set in several
parts is filed, and somebody watches the work folder.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from telethon import TelegramClient
from telethon.tl import functions, types

from bench._database_server import own_database
from bench._telegram import Reader, connected_reader, loopback_telegram, plain_client
from tidegate.archives.contents_indexer import index_waiting_sets
from tidegate.archives.filing.download import download
from tidegate.archives.filing.filing_context import FilingPolicy
from tidegate.archives.filing.partial_file import PartialFile
from tidegate.archives.filing.queues import file_waiting_sets
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.archives.formats.archive_bytes import BLOCK as INDEX_BLOCK
from tidegate.archives.handle_renewal import SourceFile
from tidegate.archives.queries.indexing_queue import TakenArchivePart, TakenSet
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.cycles.cycle import CyclePolicy
from tidegate.database.pool import Database
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.zips import sparse_zip

MIB = 1024 * 1024
ENTRIES = 2_048
LATENCY = timedelta(milliseconds=50)
FILE = 48 * MIB
TRIES = 3
LARGEST_REQUEST = MIB // 2
PARTS, PART = 4, 16 * MIB
OURS, PLAIN = "+1000001", "+1000002"


@dataclass(frozen=True, slots=True)
class Scene:
    """A source of which nothing may be copied, a destination, and two accounts: ours, and the baseline's."""

    database: Database
    server: TelegramServer
    reader: Reader
    plain: TelegramClient
    source: Channel
    vault: Channel
    folder: Path


async def run() -> dict[str, Any]:
    async with _scene() as scene:
        return {**await _index(scene), **await _download(scene), **await _file(scene)}


@asynccontextmanager
async def _scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(own_database(connections=5))
        server = await stack.enter_async_context(loopback_telegram(OURS, PLAIN))
        source, vault = server.world.add_channel("Models"), server.world.add_channel("Vault")
        source.protected = True
        reader = await stack.enter_async_context(connected_reader(database, server, "reader", OURS))
        plain = await stack.enter_async_context(plain_client(server, PLAIN))
        await reader.enable(source, destination=vault)
        folder = Path(tempfile.mkdtemp(prefix="tg-bench-work-"))
        stack.callback(shutil.rmtree, folder)
        yield Scene(database, server, reader, plain, source, vault, folder)


# Listed from where it lies


async def _index(scene: Scene) -> dict[str, Any]:
    world = scene.server.world
    size, pieces = sparse_zip([(f"tower/{number:04}.stl", MIB) for number in range(ENTRIES)])
    message = world.post(scene.source, file=world.add_file("towers.zip", size, pieces=pieces))
    await scene.reader.cycle(CyclePolicy())
    before = world.record.by_method()
    await index_waiting_sets(scene.reader.lane, scene.database, RetryPolicy())
    calls = (world.record.by_method() - before)["upload.getFile"]
    listed = await scene.database.pool.fetchval("SELECT count(*) FROM archive_contents")
    assert listed == ENTRIES, f"{listed} of {ENTRIES} files were listed"
    await scene.database.pool.execute("DELETE FROM archives")  # nobody wants to see it filed
    world.delete(scene.source, [message.id])
    return {"zip_bytes": size, "index_bytes": calls * INDEX_BLOCK, "index_calls": calls, "files_listed": listed}


# Downloaded


async def _download(scene: Scene) -> dict[str, Any]:
    """The same file in each way, in turns."""
    world = scene.server.world
    posted = world.post(scene.source, file=world.add_file("large.bin", FILE))
    ways = (await _our_download(scene, posted.id), *await _their_downloads(scene, posted.id))
    scene.server.latency = LATENCY
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(TRIES):
        for way, seconds in zip(ways, taken, strict=True):
            seconds.append(await _timed(way))
    scene.server.latency = timedelta()
    ours_mib_s, theirs_mib_s, best_mib_s = (FILE / MIB / median(seconds) for seconds in taken)
    return {
        "latency_ms": LATENCY // timedelta(milliseconds=1),
        "download_bytes": FILE,
        "ours_mib_s": round(ours_mib_s, 1),
        "download_media_mib_s": round(theirs_mib_s, 1),
        "iter_download_mib_s": round(best_mib_s, 1),
        "download_ratio": round(ours_mib_s / theirs_mib_s, 1),
        "ratio_to_iter_download": round(ours_mib_s / best_mib_s, 1),
    }


async def _our_download(scene: Scene, message: int) -> Callable[[], Awaitable[None]]:
    lane, number = scene.reader.lane, MessageId(message)
    shown = (await lane.messages(ChannelId(scene.source.id), [number]))[number]
    assert shown is not None
    file = shown.files[0]

    async def tell(_: int) -> None:
        """Nobody watches."""

    async def fetch() -> None:
        into = PartialFile(scene.folder / "ours.bin", file=file.id, size=file.size, host="")
        await asyncio.to_thread(into.open)
        part = TakenArchivePart(message, file.id, file.name, file.size, handle=file.handle)
        taken = TakenSet(
            0, file.name, ArchiveKind.ZIP, ChannelId(scene.source.id), [part], delivered_too=False, earlier=None
        )
        await download(SourceFile(lane, scene.database, taken, part, cycle=None), into, tell)
        assert into.is_complete
        into.drop()

    return fetch


async def _their_downloads(scene: Scene, message: int) -> tuple[Callable[[], Awaitable[None]], ...]:
    world = scene.server.world
    account = world.account_by_phone(PLAIN)
    assert account is not None
    channel = types.InputChannel(scene.source.id, world.token("channel", account.id, scene.source.id))
    request = functions.channels.GetMessagesRequest(channel, [types.InputMessageID(message)])
    found = (await scene.plain(request)).messages[0]

    path = scene.folder / "theirs.bin"

    async def as_it_comes() -> None:
        await scene.plain.download_media(found, str(path))
        assert path.stat().st_size == FILE
        path.unlink()

    async def in_large_blocks() -> None:
        with path.open("wb") as file:
            async for block in scene.plain.iter_download(found.media.document, request_size=LARGEST_REQUEST):
                file.write(block)
        assert path.stat().st_size == FILE
        path.unlink()

    return as_it_comes, in_large_blocks


async def _timed(download: Callable[[], Awaitable[None]]) -> float:
    clock = SystemClock()
    begun = clock.ticks()
    await download()
    return clock.ticks() - begun


# Filed in the room of one part


async def _file(scene: Scene) -> dict[str, Any]:
    world = scene.server.world
    posted = [world.add_file(f"set.part{number}.rar", PART - number) for number in range(1, PARTS + 1)]
    for file in posted:
        world.post(scene.source, file=file)
    await scene.reader.cycle(CyclePolicy())
    await scene.database.pool.execute("UPDATE archive_parts SET seen_at = seen_at - interval '2 hours'")
    await scene.reader.cycle(CyclePolicy())
    await index_waiting_sets(scene.reader.lane, scene.database, RetryPolicy())
    work = WorkFolder(scene.folder / "work", reserve=0, host="bench")
    watching = asyncio.create_task(_watch(work.path))
    policy = FilingPolicy(RetryPolicy(), work)
    told = await file_waiting_sets(scene.reader.lane, scene.database, SystemClock(), policy)
    watching.cancel()
    arrived = [message.file.sha256() for message in scene.vault.messages.values() if message.file]
    assert arrived == [file.sha256() for file in posted], f"not all of the set arrived: {told}"
    return {
        "set_bytes": sum(file.size for file in posted),
        "largest_part_bytes": max(file.size for file in posted),
        "peak_disk_bytes": await watching,
    }


async def _watch(folder: Path) -> int:
    """The most bytes that lay in the folder at any time until told to stop."""
    peak = 0
    try:
        while True:
            peak = max(peak, await asyncio.to_thread(_lying, folder))
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        return peak


def _lying(folder: Path) -> int:
    """Bytes on disk: a file that is written from its middle has holes, which take no room."""
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return found
