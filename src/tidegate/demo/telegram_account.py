"""A signed-in account on a loopback Telegram, served by real workers, for the tour and the demo.

The platform runs in this process and its control address with it, so killing a worker does not affect it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg

from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import join, new_account
from tidegate.app.composition import Runtime
from tidegate.app.settings import Settings
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account, Standing
from tidegate.core.errors import TidegateError
from tidegate.database.pool import Database
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.whatsapp.schema import PairSpec
from tidegate.loopback.whatsapp.world_changes import pair
from tidegate.loopback.world_document import SMALL_WORLD, make_worlds
from tidegate.platforms.telegram import TELEGRAM
from tidegate.workers.command_client import ask_owner

HOURLY = timedelta(hours=1)
ANSWERED_WITHIN = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Operator:
    """Signs accounts in: reads codes and tokens from the platforms, and scans QR codes."""

    platforms: Platforms
    number: str = ""

    async def phone(self) -> str:
        return self.number

    async def code(self, sent_to: str, *, again: str) -> str:
        account = self.platforms.telegram.world.account_by_phone(self.number)
        return account.code if account else ""

    async def password(self, hint: str, *, again: str) -> str:
        return ""

    async def token(self) -> str:
        world = self.platforms.discord.world
        return world.token(next(iter(world.bots.values())))

    async def linked_by(self) -> str | None:
        return None

    async def show_qr(self, text: str) -> None:
        pair(self.platforms.whatsapp, PairSpec(qr=text))

    async def show_code(self, code: str) -> None:
        raise AssertionError("the phone scans")


@dataclass(frozen=True, slots=True)
class Stage:
    """One Telegram account of a world, and the platform it is on."""

    world: World
    platforms: Platforms
    control: str  # the address by which the platform is changed
    account: Account

    @property
    def telegram(self) -> TelegramServer:
        return self.platforms.telegram

    def start_worker(self, name: str) -> None:
        """Start a worker that mirrors, with a cycle at its start."""
        self.world.start_worker(name, cycle_every=HOURLY)

    async def ask(self, kind: str, *, account: Account | None = None, **args: str) -> Any:
        """Send a command to the worker that serves the account, or another one."""
        return await ask_worker(self.world.database, account or self.account, kind, **args)

    async def join(self, name: str, phone: str) -> Account:
        """Sign one more account in to the same platform."""
        return await _joined(self.world, self.platforms, self.control, name, phone)

    async def enable(self, *titles: str) -> None:
        """List what the account sees, and mirror these channels."""
        await self.ask("sync")
        async with self.world.database.transaction() as connection:
            for title in titles:
                await channels.enable(connection, await channels.find(connection, title), MirrorOptions())

    async def pass_time(self, span: timedelta) -> None:
        """Move past scans back in time, instead of waiting."""
        query = "UPDATE places SET last_scanned_at = last_scanned_at - $1::interval"
        while True:
            try:
                await self.world.database.pool.execute(query, span)
            except asyncpg.DeadlockDetectedError:  # a worker stored a scan just then, and goes first
                continue
            return

    async def cycles(self) -> list[dict[str, Any]]:
        """The report of each cycle of the account, oldest first."""
        rows = await self.world.database.pool.fetch(
            "SELECT report FROM cycles WHERE account = $1 ORDER BY id", self.account.id
        )
        return [row["report"] for row in rows]

    def counted(self) -> Counter[str]:
        """The platform's own count of calls, by method."""
        return self.telegram.world.record.by_method()


async def ask_worker(database: Database, account: Account, kind: str, **args: str) -> Any:
    """Send a command to the worker that serves *account*, and return its result."""
    answer = await ask_owner(database, account.id, kind, args, within=ANSWERED_WITHIN)
    if answer is None or answer.error is not None:
        raise TidegateError(f"The worker did not {kind}: {answer.error if answer else 'no answer came'}")
    return answer.result


@asynccontextmanager
async def make_stage(world: World, platform: TelegramWorld, *, name: str, phone: str) -> AsyncIterator[Stage]:
    """Open a loopback Telegram and sign an account in to it; workers are ended with *world*."""
    clock = platform.clock
    _, discord, whatsapp = make_worlds(SMALL_WORLD, clock)
    platforms = Platforms.of(((platform, 0), discord, whatsapp), clock)
    async with serving(platforms, world.platform, world.at) as control:
        try:
            yield Stage(world, platforms, control, await _joined(world, platforms, control, name, phone))
        finally:
            world.end_workers()


async def _joined(world: World, platforms: Platforms, control: str, name: str, phone: str) -> Account:
    new = new_account(name, TELEGRAM, Standing.NORMAL, control)
    await join(Runtime(Settings(home=world.home), world.database), new, Operator(platforms, phone))
    async with world.database.connection() as connection:
        return (await accounts.find(connection, name)).account
