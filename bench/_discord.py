"""A loopback Discord in a process of its own, and an account of Tidegate's that reads it."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from tidegate.app.account_setup import SignedIn
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener

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


class Bot:
    """One account that Tidegate reads with: connected, and connected anew, as a worker does it."""

    def __init__(self, database: Database, loopback: Loopback, account: Account, reads: ReadLimits) -> None:
        self._database = database
        self._loopback = loopback
        self._account = account
        self._reads = reads
        self._ledger = CallLog(database, SystemClock())
        self._drawer = SignedIn({SIGN_IN: loopback.token.encode()})
        self._lane: Lane | None = None

    @property
    def lane(self) -> Lane:
        assert self._lane is not None
        return self._lane

    async def connect(self, *, live: bool) -> None:
        """Connect, or restart; *live* listens to the gateway."""
        await self.close()
        client = await discord_opener(SystemClock(), live=live, find_loopback=self._find)(
            self._account, self._drawer, self._ledger.connecting(self._account.id)
        )
        self._lane = await open_lane(self._account, client, self._ledger, self._database, reads=self._reads)

    async def close(self) -> None:
        if self._lane is not None:
            await self._lane.close()

    async def _find(self, _: str) -> str:
        return self._loopback.address


@asynccontextmanager
async def bot(database: Database, loopback: Loopback, *, reads: ReadLimits = UNPACED) -> AsyncIterator[Bot]:
    """An account of Tidegate's, signed in and not connected yet."""
    made = Bot(database, loopback, await add_account(database, "gate", DISCORD), reads)
    try:
        yield made
    finally:
        await made.close()
        await made._ledger.close()
