"""What commands print for people: whole ids, natural order, one format of times, no Python in it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.cli.command_result import run
from tests.cli.program import at_terminal, tidegate
from tests.hostile_text import OWN_CODES
from tests.problems.problem_rows import ACCOUNTS, ARCHIVES, CHANNELS, fill
from tests.recorded_events import can_be_told, unknown_event
from tidegate.database.pool import Database
from tidegate.events.queries import feed

GROUPS = """
INSERT INTO channels (platform, number, title, description)
SELECT 'whatsapp', 120363000000000000 + n, 'Customers ' || n, '' FROM generate_series(1, 12) n;
INSERT INTO channels (platform, number, title, guild, kind, parent, enabled, in_full)
VALUES ('discord', 71, 'general', 900, 'channel', NULL, true, true),
    ('discord', 72, 'ideas', 900, 'thread', 71, true, true);
INSERT INTO guilds (platform, number, title) VALUES ('discord', 900, 'Harbour');
"""
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d (UTC|\+\d\d)")


async def test_a_list_in_a_pipe_has_whole_ids_in_natural_order(database: Database, home: Path) -> None:
    """However narrow the terminal was said to be: one line each, Customers 2 before Customers 10."""
    await fill(database, GROUPS)
    shown = await asyncio.to_thread(tidegate, "channel", "list", "--platform", "whatsapp", home=home, COLUMNS="40")
    lines = [re.split(r"  +", line) for line in shown.stdout.splitlines()[1:]]
    assert [line[:2] for line in lines] == [[f"Customers {n}", str(120363000000000000 + n)] for n in range(1, 13)]


async def test_a_list_at_a_narrow_terminal_breaks_no_id(database: Database, home: Path) -> None:
    """Nobody can copy half of a number."""
    await fill(database, GROUPS)
    shown = await asyncio.to_thread(at_terminal, "channel", "list", home=home, COLUMNS="60")
    assert all(str(120363000000000000 + n) in shown.stdout for n in range(1, 13))
    assert "…" not in OWN_CODES.sub("", shown.stdout)


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (["--platform", "discord"], ["general", "ideas"]),
        (["--mirrored"], ["general", "ideas"]),
        (["--not-mirrored", "--platform", "discord"], []),
        (["--platform", "telegram"], []),
    ],
)
async def test_channels_are_filtered(database: Database, home: Path, options: list[str], titles: list[str]) -> None:
    """By platform and by whether they are mirrored; threads stand under their channel, with their server."""
    await fill(database, GROUPS)
    code, out, err = await run(database, home, "channel", "list", *options)
    lines = out.splitlines()[1:]
    assert (code, len(lines)) == (0, len(titles))
    assert all(title in line and "Harbour" in line for title, line in zip(titles, lines, strict=True))
    assert titles or err == "No channels match.\n"


async def test_what_is_shown_is_written_for_people(database: Database, home: Path) -> None:
    """No dicts, no microseconds, no raw bytes, no None; times in one format."""
    await fill(database, ACCOUNTS, CHANNELS, ARCHIVES)
    await fill(database, "UPDATE archives SET state = 'failed' WHERE id = 1")
    for arguments in (
        ["account", "show", "dark"], ["account", "list"], ["channel", "show", "Customers 1"],
        ["archive", "show", "1"], ["archive", "list"], ["status"], ["plan"],
    ):  # fmt: skip
        _, out, err = await run(database, home, *arguments)
        told = out + err
        assert not re.search(r"[{}\[\]]|None|False|True|\d\.\d{3,}|\d\dT\d\d", told), (arguments, told)
        assert len(TIME.findall(told)) == len(re.findall(r"\d{4}-\d\d-\d\d", told)), (arguments, told)


async def test_a_person_sees_the_newest_events_and_a_script_all(database: Database, home: Path) -> None:
    """At a terminal the feed begins with the newest 50; a pipe reads from the oldest on, as before."""
    for number in range(60):
        async with database.transaction() as connection:
            data = {"archives": 3, "topic": None, "flags": [], "live": False}
            await feed.record(connection, f"event {number}", unknown_event(data=data))
    await can_be_told(database)
    shown = await asyncio.to_thread(at_terminal, "feed", home=home)
    subjects = re.findall(r"event \d+", shown.stdout)
    assert (len(subjects), subjects[0], subjects[-1]) == (50, "event 10", "event 59")
    assert (shown.stdout.count("archives=3"), "null" in shown.stdout, "[]" in shown.stdout) == (50, False, False)
    _, out, _ = await run(database, home, "feed")
    assert len(out.splitlines()) == 60


async def test_calls_name_their_period(database: Database, home: Path) -> None:
    """A count without a period says nothing."""
    await fill(database, ACCOUNTS)
    await fill(
        database,
        "INSERT INTO calls (account, kind, method, outcome, at, charged) "
        "VALUES (1, 'work', 'read', 'ok', '2026-11-01T09:00Z', false)",
    )
    done = await asyncio.to_thread(tidegate, "calls", home=home, TZ="UTC")
    assert done.stderr == "Platform calls since 2026-11-01 09:00 UTC; they are kept for 90d (keep_calls_for).\n"
    planned = await asyncio.to_thread(tidegate, "plan", home=home)
    assert re.split(r"  +", planned.stdout.splitlines()[0]) == ["account", "next cycle", "calls", "verdicts"]
    assert "when a worker starts" in planned.stdout
    assert planned.stderr == "The next cycle of each account, as far as is known now:\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(home: Path, shell: str) -> None:
    """The script asks the program, and the program answers with commands, options and values."""
    script = tidegate("completion", shell, home=home)
    assert (script.returncode, "_TIDEGATE_COMPLETE" in script.stdout) == (0, True)
    asked = {"_TIDEGATE_COMPLETE": f"complete_{shell}", "COMP_WORDS": "tidegate channel li", "COMP_CWORD": "2"}
    asked |= {"_TYPER_COMPLETE_ARGS": "tidegate channel li", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert "list" in tidegate(home=home, **asked).stdout


def test_help_texts_fit_in_a_line(home: Path) -> None:
    """The first lines of all commands, in an ordinary terminal of 80 columns."""
    for noun in ([], ["account"], ["channel"], ["archive"], ["reminder"], ["runs"], ["token"], ["db"]):
        shown = tidegate(*noun, "--help", home=home, COLUMNS="80", TERMINAL_WIDTH="80").stdout
        listed = shown.partition("Commands:")[2]
        assert "..." not in listed, listed
        assert all(re.match(r"  \S", line) for line in listed.splitlines() if line), listed
