"""Commands that people leave for whoever serves an account."""

from __future__ import annotations

import pytest

from tidegate.core.account import Claim
from tidegate.core.ids import WorkerNumber
from tidegate.database.pool import Database
from tidegate.loopback.owned_account import add_account
from tidegate.platforms.telegram import TELEGRAM
from tidegate.workers.queries import commands
from tidegate.workers.queries.commands import CommandAnswer

pytestmark = pytest.mark.both_servers

DONE = CommandAnswer("done", {"channels": 1}, None)


async def test_only_the_owner_that_took_a_command_answers_it(database: Database) -> None:
    """Another worker gets none of it; an answer of another epoch changes nothing, and the owner's counts once."""
    account = (await add_account(database, "shop", TELEGRAM)).id
    async with database.transaction() as connection:
        await connection.execute("UPDATE accounts SET owner = 7, epoch = 3")
        number = await commands.ask(connection, account, "sync", {})
        assert await commands.take(connection, WorkerNumber(8), serving=[account], running=[]) == []
        [taken] = await commands.take(connection, WorkerNumber(7), serving=[account], running=[])
        assert (taken.id, taken.kind) == (number, "sync")
        for epoch in (2, 4):
            assert not await commands.answer(connection, number, Claim(account, epoch, float("inf")), DONE)
        assert await commands.answer_of(connection, number) is None
        ours = Claim(account, 3, float("inf"))
        assert await commands.answer(connection, number, ours, DONE)
        assert not await commands.answer(connection, number, ours, CommandAnswer("failed", None, "too late"))
        assert await commands.answer_of(connection, number) == DONE
