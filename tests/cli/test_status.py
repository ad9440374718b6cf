"""``tidegate status``: whether all is well, for people and for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.program import at_terminal, tidegate
from tests.problems.problem_rows import ACCOUNTS, ARCHIVES, CHANNELS, WORKER, fill
from tidegate.database.pool import Database

ROOM = {"TIDEGATE_DISK_RESERVE": "1"}  # the disk of the machine that runs the tests may be anything


def problems(home: Path) -> tuple[int, dict[str, Any]]:
    done = tidegate("status", "--json", home=home, **ROOM)
    shown = json.loads(done.stdout)
    shown["problems"] = [one for one in shown["problems"] if one["kind"] != "disk_nearly_full"]
    return done.returncode, shown


def test_nothing_needs_anybody_at_first(home: Path) -> None:
    """A new Tidegate is well, in a few lines."""
    code, shown = problems(home)
    assert (shown["ok"], shown["problems"]) == (code == 0, [])
    assert (shown["accounts"], shown["workers"]) == (0, 0)
    people = tidegate("status", home=home, **ROOM)
    assert len(people.stdout.splitlines()) <= 10
    assert "accounts  0 of 0 connected, 0 workers running\n" in people.stdout


async def test_what_needs_a_person_is_said_with_what_to_do(home: Path, database: Database) -> None:
    """It exits with 1, so that a script can wake somebody; the database's words are the same in JSON."""
    await fill(database, ACCOUNTS, WORKER)
    code, shown = problems(home)
    assert (code, shown["ok"]) == (1, False)
    assert [one["kind"] for one in shown["problems"]][:2] == ["no_worker", "account_signed_out"]
    assert shown["problems"][1]["since"] == "2026-11-01T09:00:00+00:00"
    people = at_terminal("status", "--all", home=home, TZ="UTC", **ROOM).stdout.replace("\r", "")
    assert 'Account "out" is signed out. The phone signed it out. Since 2026-11-01 09:00 UTC.\n' in people
    assert "  Sign it in again: tidegate account sign-in out\n" in people


async def test_however_much_is_wrong_it_says_so_in_ten_lines(home: Path, database: Database) -> None:
    """The most urgent kinds first, how many more there are, and how to see them all with what to do."""
    await fill(database, ACCOUNTS, WORKER, CHANNELS, ARCHIVES)
    await database.pool.execute(
        "INSERT INTO accounts (name, platform, state) SELECT 'shop ' || n, 'telegram', 'signed_out' "
        "FROM generate_series(1, 30) n"
    )
    lines = tidegate("status", home=home, **ROOM).stdout.splitlines()
    assert len(lines) == 10
    assert lines[1].startswith("- No worker is running")
    assert lines[2].startswith("- Account ")
    assert lines[2].endswith(" And 30 more like it.")
    assert lines[4].endswith(" more, and what to do about each: tidegate status --all")
    whole = tidegate("status", "--all", home=home, **ROOM).stdout
    assert whole.count("tidegate account sign-in shop") == 30


def test_a_database_that_cannot_be_reached_is_a_sentence(empty_home: Path) -> None:
    """In both forms; the figures of the database are unknown then."""
    variables = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = tidegate("status", "--json", home=empty_home, **variables)
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["ok"], shown["accounts"]) == (1, False, None)
    assert shown["problems"][0]["kind"] == "database_unreachable"
    people = tidegate("status", home=empty_home, **variables)
    assert "nothing listens there" in people.stdout
    assert people.returncode == 1
