"""A loopback Discord in a process of its own, and an account of Tidegate's that reads it."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.clock import SystemClock
from tidegate.lanes import Lane, ReadLimits
from tidegate.platforms.discord import discord_opener
from tidegate.platforms.discord.opening import SIGN_IN
from tidegate.store import accounts
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, CallKind, Claim, Outcome, Platform, Standing

UNPACED = ReadLimits(per_second=None, at_once=10)
PAGES = "GET /channels/{channel.id}/messages"


@dataclass(frozen=True)
class Loopback:
    """Where it listens, what signs its bot in, and the numbers of its channels by name."""

    control: str
    address: str
    channels: Mapping[str, int]

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(self.control + path, timeout=30) as answer:
            return json.load(answer)

    def tell(self, path: str, body: dict[str, Any], method: str = "POST") -> Any:
        data = json.dumps(body).encode()
        request = urllib.request.Request(
            self.control + path, data=data, headers={"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    @property
    def token(self) -> str:
        return str(self.ask("/discord/token")["token"])

    def calls(self, method: str = PAGES) -> int:
        return int(self.ask("/calls?by=method").get(method, 0))


@asynccontextmanager
async def loopback_discord(world: dict[str, Any], *, latency_ms: int = 0) -> AsyncIterator[Loopback]:
    """A platform with this world, whose answers take so long; it ends with the block."""
    program = "from tidegate.cli import main; main()"
    arguments = ["loopback", "--latency-ms", str(latency_ms)]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, *arguments, stdout=PIPE)
    try:
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        bare = Loopback(told["control"], told["discord"], {})
        made = bare.tell("/world", {"seed": 7, "discord": world}, method="PUT")
        yield replace(bare, channels=made["discord"]["channels"])
    finally:
        process.terminate()
        await process.wait()


@dataclass
class Drawer:
    """A vault that is gone with the benchmark."""

    kept: dict[str, bytes] = field(default_factory=dict)

    async def read(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.kept[name] = secret


class Bot:
    """One account that Tidegate reads with: connected, and connected anew, as a worker does it."""

    def __init__(self, database: Database, loopback: Loopback, account: Account, reads: ReadLimits) -> None:
        self._database = database
        self._loopback = loopback
        self._account = account
        self._reads = reads
        self._ledger = Ledger(database, SystemClock())
        self._drawer = Drawer({SIGN_IN: loopback.token.encode()})
        self._lane: Lane | None = None

    @property
    def lane(self) -> Lane:
        assert self._lane is not None
        return self._lane

    async def connect(self, *, live: bool) -> None:
        """Connect, or restart; *live* listens to the gateway."""
        await self.close()
        client = await discord_opener(SystemClock(), live=live, find_loopback=self._find)(
            self._account, self._drawer, self._note
        )
        self._lane = Lane(
            self._account,
            client,
            claim=lambda: Claim(self._account.id, 0, float("inf")),
            database=self._database,
            ledger=self._ledger,
            clock=SystemClock(),
            reads=self._reads,
        )
        await self._lane.load()

    async def close(self) -> None:
        if self._lane is not None:
            await self._lane.close()

    def _note(self, method: str) -> None:
        self._ledger.note(self._account.id, CallKind.CONNECT, method, Outcome.OK)

    async def _find(self, _: str) -> str:
        return self._loopback.address


@asynccontextmanager
async def bot(database: Database, loopback: Loopback, *, reads: ReadLimits = UNPACED) -> AsyncIterator[Bot]:
    """An account of Tidegate's, signed in and not connected yet."""
    async with database.transaction() as connection:
        await accounts.add(connection, "gate", Platform.DISCORD, Standing.NORMAL, loopback="http://127.0.0.1:1")
        account = (await accounts.find(connection, "gate")).account
    made = Bot(database, loopback, account, reads)
    try:
        yield made
    finally:
        await made.close()
        await made._ledger.close()
