"""The mirror in a worker: commands that were left while nobody worked, and one owner at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.platforms.telegram.people import PHONE, Person, finding
from tests.scenes.telegram_mirror import telegram, world  # noqa: F401 - fixtures of the mirror's own tests
from tests.waiting import until
from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.secrets import AccountVault, open_ring
from tidegate.app.account_commands import sign_out
from tidegate.app.composition import Runtime, run_worker
from tidegate.app.settings import Settings
from tidegate.app.worker_setup import worker_setup
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId
from tidegate.database.pool import Address, Database
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import telegram_opener
from tidegate.workers.command_client import ask_owner
from tidegate.workers.queries import commands


@dataclass
class Office:
    """A database with one signed-in account, and workers started in this process."""

    address: Address
    database: Database
    telegram: TelegramServer
    home: Path
    account: Account

    def settings(self, name: str) -> Settings:
        return Settings(
            home=self.home,
            database_url=SecretStr(self.address.url),
            worker_name=name,
            telegram_reads_per_second=1_000.0,
            time_out=timedelta(seconds=3),
        )

    @asynccontextmanager
    async def worker(self, name: str, every: timedelta | None, *, only: AccountId | None = None) -> AsyncIterator[None]:
        database, stop = await Database.open(self.address), asyncio.Event()
        runtime = Runtime(self.settings(name), database)
        trade = await worker_setup(runtime, every=every)
        opener = telegram_opener(None, SystemClock(), find_loopback=finding(self.telegram))
        trade = replace(trade, openers={TELEGRAM: opener})
        task = asyncio.create_task(
            run_worker(runtime, openers=trade.openers, work=trade.work, stop=stop, handlers=trade.handlers, only=only)
        )
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait([task])
            await database.close()
            task.result()

    async def ask(self, kind: str, **args: Any) -> Any:
        answer = await ask_owner(self.database, self.account.id, kind, args, within=timedelta(seconds=30))
        assert answer is not None
        assert answer.error is None
        return answer.result

    async def looked_around(self, worker: str, rounds: int = 3) -> None:
        """Until that worker has looked for accounts so many times more."""
        beats: set[Any] = set()

        async def enough() -> bool:
            sql = "SELECT beat_at FROM workers WHERE name = $1 AND ended_at IS NULL"
            beats.add(await self.database.pool.fetchval(sql, worker))
            return len(beats - {None}) > rounds

        await until(enough)

    async def cycles(self) -> list[dict[str, Any]]:
        return [row["report"] for row in await self.database.pool.fetch("SELECT report FROM cycles ORDER BY id")]


@pytest.fixture
async def office(
    address: Address,
    database: Database,
    telegram: TelegramServer,  # noqa: F811 - the fixture above
    test_folder: Path,
) -> Office:
    """An account that sees the channel "News" and mirrors it."""
    news = telegram.world.add_channel("News")
    home = test_folder / "mirroring"
    home.mkdir(exist_ok=True)
    async with database.transaction() as connection:
        await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback="http://127.0.0.1:1")
        account = (await accounts.find(connection, "reader")).account
    vault = AccountVault(database, await open_ring(database, home, None), account.id)
    find = finding(telegram)
    await sign_in(SignInAttempt(account, vault, lambda _: None), Person(telegram.world, PHONE), find_loopback=find)
    made = Office(address, database, telegram, home, account)
    async with made.worker("first", None):
        assert await made.ask("sync") == {"channels": 1}
    async with database.transaction() as connection:
        await channels.enable(connection, await channels.find(connection, str(news.id)), MirrorOptions())
    return made


async def test_a_command_left_while_nobody_worked_is_honoured(office: Office) -> None:
    """S-62: the row waits for the next worker, and its answer is the report of the cycle made for it."""
    async with office.database.transaction() as connection:
        number = await commands.ask(connection, office.account.id, "cycle", {"channel": None})
    async with office.worker("anna", None):
        answer = await until(lambda: commands.answer_of(office.database.pool, number))
    assert answer.state == "done"
    assert (answer.result["cycle"], answer.result["gated"]) == (1, 1)
    assert len(await office.cycles()) == 1


async def test_two_workers_make_one_accounts_cycles_in_turn(office: Office) -> None:
    """S-59: the other worker wants the account in every round, gets it when its holder leaves, and not before.

    By the platform's own record one connection makes all calls of each holder, and none after the next one's first.
    """
    record = office.telegram.world.record
    calls, connections = len(record.calls), len(record.sessions)
    async with AsyncExitStack() as waiting:
        async with office.worker("anna", None):
            reports = [await office.ask("cycle")]
            await waiting.enter_async_context(office.worker("ben", None, only=office.account.id))
            await office.looked_around(f"ben-for-{office.account.id}")
            reports += [await office.ask("cycle") for _ in range(3)]
            assert len({call.session for call in record.calls[calls:]}) == 1
            assert len(record.sessions) == connections + 1
        reports.append(await office.ask("cycle"))
    assert [report["cycle"] for report in reports] == [1, 2, 3, 4, 5]
    callers = [call.session for call in record.calls[calls:]]
    assert set(callers) == {connections + 1, connections + 2}
    assert callers == sorted(callers)


async def test_a_command_for_one_channel_is_asked_by_hand(office: Office, world: World) -> None:  # noqa: F811
    """S-12: `cycle --channel` scans it whatever its memory says, and the wish survives in the database till then."""
    async with office.worker("anna", None):
        await office.ask("cycle")
        report = await office.ask("cycle", channel="News")
    assert (report["verdicts"], report["cycle"], report["whole"]) == ({"asked": 1}, 1, False)


async def test_the_worker_that_serves_an_account_signs_it_out(office: Office, world: World) -> None:  # noqa: F811
    """One call, on the ledger; Telegram knows the sign-in no more."""
    runtime = Runtime(office.settings("person"), office.database)
    async with office.worker("anna", None):
        await office.ask("cycle")  # answered by anna, so she serves the account
        assert await sign_out(runtime, office.account) is None
    assert world.record.by_method()["auth.logOut"] == 1
    assert {one.account for one in world.sign_ins.values()} == {0}
    [row] = await office.database.pool.fetch("SELECT kind, outcome FROM calls WHERE method = 'auth.logOut'")
    assert (row["kind"], row["outcome"]) == ("work", "ok")


async def test_a_sign_out_that_telegram_does_not_answer_says_so_in_time(office: Office) -> None:
    """Nobody serves the account, and its Telegram is away: whoever asks gets a sentence and is free to go on."""
    runtime = Runtime(office.settings("person"), office.database)
    why = await sign_out(runtime, office.account, within=timedelta(seconds=2))
    assert why == "Telegram did not answer within 2 s."
