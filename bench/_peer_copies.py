"""Copies of a loopback Discord and Telegram: by ``tidegate serve``, and by programs on the peers' packages."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import tempfile
import urllib.parse
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tidegate.app.platform_registry
from bench._loopback_accounts import Town, add_everybody
from bench._operator_home import opened, operator_home, serving, tidegate
from tidegate.core.clock import SystemClock
from tidegate.core.platform import Platform
from tidegate.database.pool import Database
from tidegate.platforms.telegram.connector import ask_control

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 300
FILE_CALLS = ("GET file", "upload.getFile")
SIGN_IN_CALLS = ("auth.", "help.")
_ID = re.compile(r'(?:chatlog__message-container-|"id": ")(\d+)"')
_clock = SystemClock()


@dataclass(frozen=True)
class Traffic:
    """What a copy took, by the platform's own record; downloads of files and signing in are no calls."""

    calls: int
    seconds: float  # from the first to the last
    reading_s: float  # the same without downloads
    fetching_s: float  # the same of downloads alone


@dataclass(frozen=True)
class Copied:
    """What a copy holds, and what it took."""

    messages: set[int]
    count: int  # of messages; on Telegram their ids are those of a channel
    files: set[str]
    texts: str
    traffic: Traffic


class TrafficRecord:
    """The calls of one account from here on; downloads over a link name no account."""

    def __init__(self, town: Town, account: str, before: int) -> None:
        self._town = town
        self._accounts = {account.removeprefix("+"), ""}
        self._before = before

    @classmethod
    async def begin(cls, town: Town, account: str) -> TrafficRecord:
        return cls(town, account, len(await town.ask("/calls")))

    async def traffic(self) -> Traffic:
        """What there was so far."""
        calls = (await self._town.ask("/calls"))[self._before :]
        ours = [call for call in calls if call["account"] in self._accounts]
        files = [call for call in ours if call["method"] in FILE_CALLS]
        others = [call for call in ours if call not in files and not call["method"].startswith(SIGN_IN_CALLS)]
        return Traffic(len(others), _span([*others, *files]), _span(others), _span(files))


def _span(calls: list[dict[str, Any]]) -> float:
    instants = [datetime.fromisoformat(call["at"]) for call in calls]
    return (max(instants) - min(instants)).total_seconds() if instants else 0.0


# Tidegate


@asynccontextmanager
async def mirror(town: Town, platform: Platform, *channels: str) -> AsyncIterator[Mirror]:
    """``tidegate serve`` with one account and its defaults; *channels* are mirrored, on Discord all are."""
    home = Path(tempfile.mkdtemp(prefix="tg-bench-"))
    home.chmod(0o711)
    try:
        async with operator_home(home) as address, opened(address, connections=3) as database:
            [account] = await add_everybody(database, home, town, people=1, on=[platform])
            if channels:
                await tidegate(home, "channel", "sync", account.name)
            for channel in channels:
                await tidegate(home, "channel", "enable", channel, "--full")
            made = Mirror(town, database, account.name.partition(" ")[2])
            await made.begin()
            async with serving(home):
                yield made
    finally:
        shutil.rmtree(home)


class Mirror:
    """What is stored, by the database; *account* is the name that the platform knows."""

    def __init__(self, town: Town, database: Database, account: str) -> None:
        self._town = town
        self._pool = database.pool
        self._account = account
        self._record: TrafficRecord | None = None

    async def begin(self) -> None:
        """Count from here."""
        self._record = await TrafficRecord.begin(self._town, self._account)

    async def copied(self, complete: Callable[[Copied], bool]) -> Copied:
        """The copy as soon as it is complete, or as it is when patience ends."""
        gives_up_at = _clock.ticks() + PATIENCE_S
        while True:
            found = await self._copied()
            if complete(found) or _clock.ticks() > gives_up_at:
                return found
            await _clock.sleep(timedelta(milliseconds=200))

    async def _copied(self) -> Copied:
        assert self._record is not None
        messages = await self._pool.fetch("SELECT id, text FROM messages")
        earlier = await self._pool.fetch("SELECT text FROM message_revisions")
        files = await self._pool.fetch("SELECT sha256 FROM media_blobs")
        return Copied(
            {row["id"] for row in messages},
            len(messages),
            {row["sha256"].hex() for row in files},
            "\n".join(row["text"] for row in (*messages, *earlier)),
            await self._record.traffic(),
        )


# Peers


async def copy_discord(town: Town, python: Path, way: str, bot: str, folder: Path) -> Copied:
    """Copy the server once more into *folder*, in one of the ways of ``_peer_discord``; earlier copies count, too."""
    folder.mkdir(exist_ok=True)
    record = await TrafficRecord.begin(town, bot)
    told = await town.ask(f"/discord/token?bot={urllib.parse.quote(bot)}")
    where = await town.ask("/")
    into = tempfile.mkdtemp(dir=folder)
    await _peer(
        python,
        "bench._peer_discord",
        {"way": way, "address": where["discord"], "token": told["token"], "folder": into},
    )
    pages = [page.read_text() for page in folder.rglob("*") if page.suffix in (".html", ".jsonl")]
    messages = {int(found) for page in pages for found in _ID.findall(page)}
    files = {hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("files/*")}
    return Copied(messages, len(messages), files, "\n".join(pages), await record.traffic())


async def copy_telegram(town: Town, python: Path, phone: str, folder: Path) -> Copied:
    """Copy all chats, and their files into *folder*."""
    record, where = await TrafficRecord.begin(town, phone), await ask_control(town.control)
    orders = {"address": where.address, "public_key": where.public_key, "phone": phone, "control": town.control}
    told = json.loads(await _peer(python, "bench._peer_telegram", {**orders, "folder": str(folder)}))
    files = {hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    return Copied(set(), told["messages"], files, "", await record.traffic())


async def _peer(python: Path, module: str, orders: dict[str, Any]) -> bytes:
    """Run a program on the peers' packages; it finds our modules after its own packages."""
    start = f"import sys; sys.path.append({str(ROOT)!r}); from {module} import main; main()"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(str(python), "-I", "-c", start, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(PATIENCE_S):
            told, trouble = await process.communicate(json.dumps(orders).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{module} failed:\n{trouble.decode()}"
    return told
