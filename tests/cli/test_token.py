"""``tidegate token`` from the outside: ends, and confirmation after a restore, as a person and a script see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command_result import run
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database


async def test_a_token_may_expire(database: Database, tmp_path: Path) -> None:
    """When is said as it is made and on the list; scripts have the instant."""
    code, out, err = await run(database, tmp_path, "token", "add", "bot", "--expires", "2099-12-31", "--json")
    assert (code, json.loads(out)["expires_at"][:10]) == (0, "2099-12-31")
    code, _, err = await run(database, tmp_path, "token", "add", "other", "--expires", "30d")
    assert (code, " It expires on 20" in err) == (0, True)
    _, out, _ = await run(database, tmp_path, "token", "list", "--json")
    assert [(one["name"], one["state"], one["expires_at"] is None) for one in json.loads(out)] == [
        ("bot", "active", False), ("other", "active", False)
    ]  # fmt: skip
    _, table, _ = await run(database, tmp_path, "token", "list")
    assert "2099-12-31 00:00 UTC" in table


@pytest.mark.parametrize("written", ["soon", "2001-01-01", "30"])
async def test_an_end_that_cannot_be_makes_no_token(database: Database, tmp_path: Path, written: str) -> None:
    """Exit code 2 and a sentence."""
    code, out, err = await run(database, tmp_path, "token", "add", "bot", "--expires", written)
    assert (code, out, "expire" in err) == (2, "", True)
    assert await database.pool.fetchval("SELECT count(*) FROM tokens") == 0


async def test_a_token_of_a_backup_is_confirmed(database: Database, tmp_path: Path) -> None:
    """One by its name, the rest with --all; 0 when done, 2 for a name that is none, 3 when there is nothing to do."""
    async with database.transaction() as connection:
        for name in ("a", "b", "c"):
            await tokens.add(connection, name, [TokenScope.READ], None)
        await tokens.unconfirm_all(connection)
    _, table, _ = await run(database, tmp_path, "token", "list")
    assert table.count("needs confirmation") == 3
    steps = [
        (("confirm", "a"), (0, "", 'Token "a" is confirmed.\n')),
        (("confirm", "a"), (3, "", 'Token "a" is confirmed already.\n')),
        (("confirm", "x"), (2, "", 'There is no token "x". See them with: tidegate token list\n')),
        (("confirm", "--all"), (0, "", 'Token "b" is confirmed.\nToken "c" is confirmed.\n')),
        (("confirm", "--all"), (3, "", "No token needs confirmation.\n")),
    ]
    for arguments, told in steps:
        assert await run(database, tmp_path, "token", *arguments) == told
    for arguments in (("confirm",), ("confirm", "a", "--all")):
        code, out, err = await run(database, tmp_path, "token", *arguments)
        assert (code, out, "Name one token, or give --all." in err) == (2, "", True)


async def test_a_script_is_told_what_was_confirmed(database: Database, tmp_path: Path) -> None:
    """One document on standard output."""
    async with database.transaction() as connection:
        await tokens.add(connection, "a", [TokenScope.READ], None)
        await tokens.unconfirm_all(connection)
    code, out, err = await run(database, tmp_path, "token", "confirm", "--all", "--json")
    assert (code, json.loads(out), err) == (0, {"confirmed": ["a"]}, "")
