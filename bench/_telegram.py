"""A loopback Telegram for benchmarks: Tidegate's own reader on it, and the unmodified client for the baseline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from telethon import TelegramClient

from bench._telethon_client import telethon_client
from tidegate.app.account_setup import SignedIn
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.cycles.cycle import CyclePolicy, run_cycle
from tidegate.cycles.cycle_report import CycleReport
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.lanes import Lane, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import LoopbackTelegram, telegram_opener
from tidegate.scans.channel_catalogue import sync_channels

UNPACED_SENDS = SendLimits(Allowance(ceiling=60_000))
"""Calls are counted here, not timed."""


@asynccontextmanager
async def loopback_telegram(*phones: str) -> AsyncIterator[TelegramServer]:
    """A platform that listens on 127.0.0.1 and knows the people with these phone numbers."""
    clock = SystemClock()
    world = World(clock, seed=7)
    for phone in phones:
        world.add_account(phone)
    server = TelegramServer(world, clock)
    await server.start()
    try:
        yield server
    finally:
        await server.close()
    assert world.record.unknown == [], "the loopback Telegram was asked what it does not know"


@asynccontextmanager
async def plain_client(server: TelegramServer, phone: str) -> AsyncIterator[TelegramClient]:
    """The unmodified client, signed in, which sends what it is told to and nothing else."""

    async def code() -> str:
        return _code(server.world, phone)

    async with telethon_client(server.address, server.public_key_pem, phone, code) as client:
        yield client


@dataclass(frozen=True)
class Person:
    """Answers what signing in asks, by reading the code off the platform."""

    world: World
    number: str

    async def phone(self) -> str:
        return self.number

    async def code(self, sent_to: str, *, again: str) -> str:
        return _code(self.world, self.number)

    async def password(self, hint: str, *, again: str) -> str:
        return ""


class Reader:
    """One account that Tidegate reads with: connected, and connected anew, as a worker does it."""

    def __init__(self, database: Database, server: TelegramServer, account: Account, phone: str) -> None:
        self._database = database
        self._server = server
        self._account = account
        self._person = Person(server.world, phone)
        self._ledger = CallLog(database, SystemClock())
        self._drawer = SignedIn()
        self._lane: Lane | None = None

    @property
    def lane(self) -> Lane:
        assert self._lane is not None
        return self._lane

    async def connect(self) -> None:
        """Connect, or restart: what is known afterwards is what was stored."""
        if self._lane is not None:
            await self._lane.close()
        note = self._ledger.connecting(self._account.id)
        if not self._drawer.secrets:
            attempt = SignInAttempt(self._account, self._drawer, note)
            await sign_in(attempt, self._person, find_loopback=self._find)
        client = await telegram_opener(None, SystemClock(), find_loopback=self._find)(self._account, self._drawer, note)
        self._lane = await open_lane(self._account, client, self._ledger, self._database, sends=UNPACED_SENDS)

    async def enable(self, channel: Channel, *topics: int, destination: Channel | None = None) -> None:
        """Mirror *channel* as a whole, or only these topics of it; its archives go to *destination*."""
        await sync_channels(self.lane, self._database)
        async with self._database.transaction() as connection:
            kept = await channels.find(connection, str(channel.id))
            target = None if destination is None else (await channels.find(connection, str(destination.id))).key
            await channels.enable(connection, kept, MirrorOptions(topics=topics, destination=target))

    async def mark(self) -> int:
        """A place in the ledger after everything so far."""
        await self._ledger.flush()
        async with self._database.connection() as connection:
            return await cycles.mark(connection)

    async def cycle(self, policy: CyclePolicy, *, since: int | None = None) -> CycleReport:
        return await run_cycle(self.lane, self._database, SystemClock(), policy, since=since)

    async def close(self) -> None:
        await self.lane.close()
        await self._ledger.close()

    async def _find(self, control: str) -> LoopbackTelegram:
        return LoopbackTelegram(self._server.address, self._server.public_key_pem)


@asynccontextmanager
async def connected_reader(database: Database, server: TelegramServer, name: str, phone: str) -> AsyncIterator[Reader]:
    """An account of Tidegate's, signed in and connected."""
    reader = Reader(database, server, await add_account(database, name, TELEGRAM), phone)
    await reader.connect()
    try:
        yield reader
    finally:
        await reader.close()


def _code(world: World, phone: str) -> str:
    account = world.account_by_phone(phone)
    assert account is not None
    return account.code
