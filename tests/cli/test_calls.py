"""``tidegate calls`` as a script and as a person see it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.cli.program import tidegate
from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.platform_call import CallKind, CallOutcome
from tidegate.database.pool import Database
from tidegate.lanes.queries.calls import CallLog
from tidegate.platforms.telegram import TELEGRAM


async def some_calls(database: Database) -> None:
    async with database.transaction() as connection:
        account = await accounts.add(connection, "shop", TELEGRAM, Standing.NORMAL, loopback=None)
    call_log = CallLog(database, SystemClock())
    call_log.note(account, CallKind.CONNECT, "login", CallOutcome.OK)
    call_log.note(account, CallKind.WORK, "page", CallOutcome.OK, cycle=7)
    call_log.note(account, CallKind.WORK, "page", CallOutcome.FAILED, cycle=8)
    await call_log.close()


async def run(database: Database, home: Path, *arguments: str) -> tuple[int, str, str]:
    done = await asyncio.to_thread(tidegate, "calls", *arguments, home=home, DATABASE_URL=database.address.url)
    return done.returncode, done.stdout, done.stderr


async def test_a_script_gets_the_contracts_shape(database: Database, tmp_path: Path) -> None:
    """A list of account, kind, method, count and errors; by something else, what was summed over is null."""
    await some_calls(database)
    code, out, err = await run(database, tmp_path, "--json")
    assert (code, err) == (0, "")
    connects, pages = json.loads(out)
    assert (connects["account"], connects["kind"], connects["method"], connects["count"]) == (
        "shop", "connect", "login", 1,
    )  # fmt: skip
    assert (pages["kind"], pages["method"], pages["count"], pages["errors"], pages["unanswered"]) == (
        "work", "page", 2, 1, 0,
    )  # fmt: skip
    _, out, _ = await run(database, tmp_path, "--by", "cycle", "--json")
    assert [(one["cycle"], one["method"], one["count"]) for one in json.loads(out)] == [
        (7, None, 1), (8, None, 1), (None, None, 1),
    ]  # fmt: skip


async def test_people_get_a_table(database: Database, tmp_path: Path) -> None:
    """Columns that say nothing are left out, and an empty ledger is a sentence."""
    code, out, err = await run(database, tmp_path)
    assert (code, out, err) == (0, "", "No platform call was made yet.\n")
    await some_calls(database)
    _, out, _ = await run(database, tmp_path, "--by", "method")
    assert out.splitlines()[0].split() == ["kind", "method", "count", "errors"]


async def test_a_wrong_grouping_is_a_sentence(database: Database, tmp_path: Path) -> None:
    """bad-input-gets-a-sentence: exit code 2, and what would have been allowed."""
    code, _, err = await run(database, tmp_path, "--by", "weather")
    assert code == 2
    assert "method" in err
