"""Many accounts of two platforms on a loopback in a process of its own, signed in and ready to be served."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.parse
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.secrets import AccountVault, open_ring
from tidegate.core.account import Account, Standing
from tidegate.core.platform import Platform, platform_named
from tidegate.database.pool import Database
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.account_sign_in import sign_in

AT_ONCE = 10


@dataclass(frozen=True)
class Town:
    """A loopback process, by its control address."""

    control: str

    async def ask(self, path: str) -> Any:
        return await asyncio.to_thread(self._exchange, path, None)

    async def tell(self, path: str, body: dict[str, Any], *, method: str = "POST") -> Any:
        return await asyncio.to_thread(self._exchange, path, body, method)

    def _exchange(self, path: str, body: dict[str, Any] | None, method: str = "GET") -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.control + path, data=data, headers={"content-type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@asynccontextmanager
async def town(*, people: int, groups: int) -> AsyncIterator[Town]:
    """A Telegram and a Discord with so many accounts each, all of whom are in the same groups."""
    async with town_of(_world(people, groups)) as made:
        yield made


@asynccontextmanager
async def town_of(world: dict[str, Any], *, latency_ms: int = 0) -> AsyncIterator[Town]:
    """The platforms of a world, whose answers take so long; they end with the block."""
    program = "from tidegate.cli import main; main()"
    arguments = ["loopback", "--latency-ms", str(latency_ms)]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, *arguments, stdout=PIPE)
    try:
        assert process.stdout is not None
        made = Town(json.loads(await process.stdout.readline())["control"])
        await made.tell("/world", world, method="PUT")
        yield made
    finally:
        process.terminate()
        await process.wait()


def _world(people: int, groups: int) -> dict[str, Any]:
    titles = [f"Group {number:03}" for number in range(groups)]
    return {
        "seed": 7,
        "telegram": {
            "accounts": [{"phone": phone} for phone in phones(people)],
            "channels": [{"title": title, "kind": "group", "pushes": False} for title in titles],
        },
        "discord": {
            "bots": [{"name": name} for name in bots(people)],
            "guilds": [{"name": "Shops", "channels": [{"name": title} for title in titles]}],
        },
    }


def phones(count: int) -> list[str]:
    return [f"+1000{number:04}" for number in range(count)]


def bots(count: int) -> list[str]:
    return [f"bot-{number:03}" for number in range(count)]


async def add_everybody(
    database: Database, home: Path, town: Town, *, people: int, on: Collection[Platform] = (TELEGRAM, DISCORD)
) -> list[Account]:
    """Add the accounts of a town and sign them in."""
    ring = await open_ring(database, home, None)
    who = {TELEGRAM: phones(people), DISCORD: bots(people)}
    names = [f"{platform.name} {name}" for platform in on for name in who[platform]]
    async with database.transaction() as connection:
        for name in names:
            platform = platform_named(name.partition(" ")[0])
            await accounts.add(connection, name, platform, Standing.NORMAL, loopback=town.control)
        added = [(await accounts.find(connection, name)).account for name in names]
    slots = asyncio.Semaphore(AT_ONCE)

    async def let_in(account: Account) -> None:
        vault = AccountVault(database, ring, account.id)
        who = account.name.partition(" ")[2]
        async with slots:
            if account.platform is TELEGRAM:
                await sign_in(SignInAttempt(account, vault, lambda _: None), TownPerson(town, who))
            else:
                told = await town.ask(f"/discord/token?bot={urllib.parse.quote(who)}")
                await vault.write(SIGN_IN, told["token"].encode())

    await _all(let_in(account) for account in added)
    return added


async def _all(works: Iterable[Any]) -> None:
    await asyncio.gather(*works)


@dataclass(frozen=True)
class TownPerson:
    """Answers what signing in asks, by reading the code off the platform."""

    town: Town
    number: str

    async def phone(self) -> str:
        return self.number

    async def code(self, sent_to: str, *, again: str) -> str:
        told = await self.town.ask(f"/telegram/code?phone={urllib.parse.quote(self.number)}")
        return str(told["code"])

    async def password(self, hint: str, *, again: str) -> str:
        return ""
