"""A platform that is registered is served like the others; nothing else has to know its name."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.app.harbour_platform import HARBOUR, HARBOUR_WITH_TABLES, HarbourBoard
from tests.cli.program import environment
from tests.waiting import until
from tidegate.accounts.queries import accounts
from tidegate.app import platform_registry
from tidegate.app.account_setup import forget, join, new_account
from tidegate.app.composition import Runtime, run_worker
from tidegate.app.operator_requests import MirrorRequest, enable
from tidegate.app.settings import Settings
from tidegate.app.worker_setup import worker_setup
from tidegate.channels.queries import channels
from tidegate.core import platform
from tidegate.core.account import Account, Standing
from tidegate.core.platform import library_schemas
from tidegate.database.pool import Address, Database
from tidegate.history.rules.message_links import original_link
from tidegate.maintenance.platform_library_tables import recognised
from tidegate.web.pending_account_sign_ins import PendingSignIn, SignInStart
from tidegate.workers.command_client import ask_owner


class Keeper:
    """Signs in with the word of the day."""

    async def token(self) -> str:
        return "ahoy"


@pytest.fixture
async def board(monkeypatch: pytest.MonkeyPatch, database: Database) -> HarbourBoard:
    """The platform, registered for one test and let into the tables as a migration would."""
    board = HarbourBoard()
    monkeypatch.setattr(platform, "_registered", platform._registered.copy())
    monkeypatch.setattr(platform_registry, "_adapters", platform_registry._adapters.copy())
    platform_registry.register(HARBOUR, lambda runtime, clock: board)
    for table in ("accounts", "channels"):
        await database.pool.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_platform_check")
    return board


@pytest.fixture
def runtime(address: Address, database: Database, test_folder: Path) -> Runtime:
    home = test_folder / "harbour"
    home.mkdir(exist_ok=True)
    settings = Settings(home=home, database_url=SecretStr(address.url), time_out=timedelta(seconds=3))
    return Runtime(settings, database)


@asynccontextmanager
async def a_worker(runtime: Runtime) -> AsyncIterator[None]:
    trade, stop = await worker_setup(runtime, every=None), asyncio.Event()
    task = asyncio.create_task(
        run_worker(runtime, openers=trade.openers, work=trade.work, stop=stop, handlers=trade.handlers)
    )
    try:
        yield
    finally:
        stop.set()
        await task


async def asked(runtime: Runtime, account: Account, kind: str, **args: Any) -> Any:
    answer = await ask_owner(runtime.database, account.id, kind, args, within=timedelta(seconds=30))
    assert answer is not None
    assert answer.error is None
    return answer.result


async def test_a_registered_platform_is_signed_in_and_mirrored(board: HarbourBoard, runtime: Runtime) -> None:
    """From the sign-in to the stored messages, by a worker's own cycle and with the platform's own links."""
    for number in range(1, 9):
        board.post(40, f"ship {number}")
    await join(runtime, new_account("quay", HARBOUR, Standing.NORMAL, None), Keeper())
    async with runtime.database.connection() as connection:
        account = (await accounts.find(connection, "quay")).account
    assert account.platform is HARBOUR
    async with a_worker(runtime):
        assert await asked(runtime, account, "sync") == {"channels": 1}
        async with runtime.database.transaction() as connection:
            await enable(connection, await channels.find(connection, "Quay 40"), MirrorRequest())
        await asked(runtime, account, "cycle", channel=None)
        board.post(40, "ship 9")
        await asked(runtime, account, "cycle", channel=None)
        await asked(runtime, account, "backfill", channels=None, target=None, since=None, everything=False)
    stored = await runtime.database.pool.fetch("SELECT id, text FROM messages ORDER BY id")
    assert [dict(row) for row in stored] == [{"id": n, "text": f"ship {n}"} for n in range(1, 10)]
    assert original_link(account.platform, 40, 9) == "https://harbour.example/40/9"
    await forget(runtime, account)


PROGRAM = """
import sys
from tests.app.harbour_platform import HARBOUR, HarbourBoard
from tidegate.app import platform_registry

platform_registry.register(HARBOUR, lambda runtime, clock: HarbourBoard())
from tidegate.cli import main

sys.argv = ["tidegate", *sys.argv[1:]]
main()
"""


def harbour_program(*arguments: str, runtime: Runtime, say: str = "") -> str:
    """What a Tidegate with one more registration line prints."""
    home, address = runtime.settings.home, runtime.database.address
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=Path(__file__).parent.parent.parent,
        env=environment(home, DATABASE_URL=address.url),
        input=say,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


async def test_the_command_line_offers_a_registered_platform(board: HarbourBoard, runtime: Runtime) -> None:
    """Its help names it and what it asks for; an account is added, listed and shown as of any other platform."""
    told = await asyncio.to_thread(harbour_program, "account", "add", "--help", runtime=runtime)
    assert "harbour" in told
    assert "Harbour: the word of the day." in " ".join(told.replace("│", " ").split())
    await asyncio.to_thread(harbour_program, "account", "add", "harbour", "quay", runtime=runtime, say="ahoy\n")
    listed = await asyncio.to_thread(harbour_program, "account", "list", "--json", runtime=runtime)
    assert [(one["name"], one["platform"], one["state"]) for one in json.loads(listed)] == [
        ("quay", "harbour", "active")
    ]
    shown = await asyncio.to_thread(harbour_program, "account", "show", "quay", "--json", runtime=runtime)
    assert json.loads(shown)["platform"] == "harbour"


async def test_a_page_asks_for_what_a_registered_platform_needs(board: HarbourBoard, runtime: Runtime) -> None:
    """The sign-in on a page goes by the platform's own facts; no other platform is named."""
    pending = PendingSignIn(SignInStart(new_account("quay", HARBOUR, Standing.NORMAL, None)))
    joining = asyncio.create_task(join(runtime, pending.account, pending))
    question = await until(lambda: pending.question)
    assert (question.words, question.kind) == ("Token", "password")
    pending.answer("ahoy")
    assert (await joining).name == "keeper"


async def test_backups_take_the_schema_of_a_registered_platforms_library(
    board: HarbourBoard,
) -> None:
    """A library that keeps tables of its own is one more fact of its platform."""
    assert library_schemas() == ("whatsapp",)
    platform_registry.register(HARBOUR_WITH_TABLES, lambda runtime, clock: board)
    assert library_schemas() == ("whatsapp", "harbour")
    plain = "CREATE TABLE harbour.ships (\n    name text NOT NULL\n);\n"
    assert recognised(plain).tables == [plain.rstrip("\n")]


def test_what_has_no_setting_of_its_own_goes_by_the_platforms_facts() -> None:
    """A platform brings its pace along; a setting of its own is the operator's way to change it."""
    settings = Settings()
    assert settings.reads_per_second(HARBOUR) == 1_000.0
    assert settings.reads_at_once(HARBOUR) == 2
    assert settings.chat_sends_per_minute(HARBOUR) is None
    assert settings.silent_takeover_for(HARBOUR) == settings.time_out
    assert settings.sends_per_minute(HARBOUR, Standing.NEW) == settings.max_send_per_minute
