"""Reminders as an operator uses them: write, estimate, try, fire, watch, pause, kill, resume, read the summary."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.cli.account_commands import ask, line
from tests.cli.channel_commands import PHONE, add_account, told
from tests.cli.program import running, tidegate
from tests.waiting import until
from tidegate.database.pool import Database
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import media_files
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder

GROUPS = [f"Group {number}" for number in range(1, 9)]
WORLD = {
    "seed": 5,
    "telegram": {
        "accounts": [{"phone": PHONE}],
        "channels": [{"title": title, "kind": "channel"} for title in GROUPS],
    },
}
REMINDER = """
name = "Friday stock"
account = "reader"
all = true
timezone = "Asia/Kuala_Lumpur"
delivery_window_start_hour = 0
delivery_window_end_hour = 24

[[parts]]
text = "Good morning {group}"

[[parts]]
media = "poster.png"
caption = "See you"
"""


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    """Eight groups that the account may write in."""
    (home / "world.json").write_text(json.dumps(WORLD))
    async with running("loopback", "--world", str(home / "world.json"), home=home) as process:
        yield json.loads(await line(process.stdout))["control"]


def run(home: Path, number: int) -> dict[str, Any]:
    shown: dict[str, Any] = told(home, "runs", "show", str(number))
    return shown


async def test_a_reminder_from_the_first_line_to_the_summary(home: Path, control: str) -> None:
    """Written, estimated, tried on one group, fired, paused, its worker killed, resumed: every group has it once."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    (home / "friday.toml").write_text(REMINDER)
    (home / "poster.png").write_bytes(b"\x89PNG and so on")

    kept = told(home, "reminder", "add", "friday.toml")
    assert (kept["targets"], kept["parts"], kept["sends"], kept["fits"], kept["short_by"]) == (8, 2, 16, True, 0)
    again = tidegate("reminder", "add", "friday.toml", home=home)
    assert (again.returncode, "already" in again.stderr) == (2, True)
    shown = told(home, "reminder", "show", "Friday stock")
    (home / "same.json").write_text(json.dumps(shown))
    assert told(home, "reminder", "edit", "Friday stock", "same.json")["sends"] == 16
    assert told(home, "reminder", "show", "Friday stock") == shown
    assert [row["name"] for row in told(home, "reminder", "list")] == ["Friday stock"]

    dry = told(home, "reminder", "fire", "Friday stock", "--dry-run")
    assert dry["targets"][0]["parts"][0]["text"] == "Good morning Group 1"
    assert ask(f"{control}/sends") == []

    tried = told(home, "reminder", "test", "Friday stock", "--target", "Group 3")
    assert (tried["status"], tried["counts"]["sent"], tried["test"]) == ("success", 1, True)

    fired = told(home, "reminder", "fire", "Friday stock")
    number = fired["id"]
    assert (fired["state"], fired["counts"]["pending"]) == ("running", 8)
    async with running("worker", home=home, BOT_MAX_SEND_PER_MINUTE="60") as worker:
        await until(lambda: run(home, number)["parts"]["sent"] >= 2)
        worker.send_signal(signal.SIGKILL)
    assert tidegate("runs", "pause", str(number), home=home).returncode == 0
    assert run(home, number)["state"] == "paused"
    async with running("worker", home=home, BOT_MAX_SEND_PER_MINUTE="600"):
        assert tidegate("runs", "resume", str(number), home=home).returncode == 0
        await until(lambda: run(home, number)["state"] == "ended")
    shown_to_people = tidegate("runs", "show", str(number), home=home).stdout
    assert " 00:00 +08" in shown_to_people, "on the reminder's own clock"
    assert " +08\n" in tidegate("reminder", "estimate", "Friday stock", home=home).stdout
    ended = run(home, number)
    assert ended["opens_at"].endswith("+00:00"), "scripts read UTC"
    assert (ended["status"], ended["error_summary"], ended["counts"]["sent"]) == ("success", "", 8)
    assert {target["state"] for target in ended["targets"]} == {"sent"}
    sends = Counter(one["target"] for one in ask(f"{control}/sends"))
    assert sorted(sends.values()) == [2, 2, 2, 2, 2, 2, 2, 4]
    assert len(ask(f"{control}/uploads")) == 1
    assert tidegate("runs", "resolve", str(number), "--as", "sent", home=home).returncode == 2
    assert tidegate("reminder", "remove", "Friday stock", home=home).returncode == 0
    assert [row["id"] for row in told(home, "runs", "list")] == [number, tried["id"]]


async def test_lists_of_groups_and_what_cannot_be(home: Path, control: str) -> None:
    """A saved list is kept, shown, used, and not forgotten while a reminder goes to it; D-07: what cannot be is refused
    on save with exit code 2 and a sentence, and nothing is kept."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    named = ("--account", "reader", "--group", "Group 1", "--group", "Group 2")
    assert tidegate("reminder", "targets", "all shops", *named, home=home).returncode == 0
    assert told(home, "reminder", "targets") == [{"name": "all shops", "groups": ["Group 1", "Group 2"]}]
    (home / "poster.png").write_bytes(b"\x89PNG and so on")
    (home / "listed.toml").write_text(REMINDER.replace("all = true", 'list = "all shops"'))
    assert told(home, "reminder", "add", "listed.toml")["targets"] == 2
    refused = tidegate("reminder", "targets", "all shops", "--remove", home=home)
    assert (refused.returncode, "Friday stock" in refused.stderr) == (2, True)
    assert tidegate("reminder", "remove", "Friday stock", home=home).returncode == 0
    assert tidegate("reminder", "targets", "all shops", "--remove", home=home).returncode == 0
    _refused_with_a_sentence(home)


async def test_a_private_test_reaches_nobody_else(home: Path, control: str) -> None:
    """Both messages are in the account's own chat, as the first group would get them; there is no run of it."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    (home / "friday.toml").write_text(REMINDER.replace("end_hour = 24", "end_hour = 1"))
    (home / "poster.png").write_bytes(b"\x89PNG and so on")
    told(home, "reminder", "add", "friday.toml")
    done = told(home, "reminder", "test", "Friday stock", "--to", "me")
    assert done == {"reminder": "Friday stock", "account": "reader", "sent": 2, "as": "Group 1"}
    channels = {one["channel"] for one in told(home, "channel", "list")}
    sends = ask(f"{control}/sends")
    assert len(sends) == 2
    assert not {one["target"] for one in sends} & channels
    assert told(home, "runs", "list") == []
    for wrong in ((), ("--to", "you"), ("--to", "me", "--target", "Group 1")):
        assert tidegate("reminder", "test", "Friday stock", *wrong, home=home).returncode == 2


async def test_fired_after_its_hours_it_says_so_and_how_to_send_it(home: Path, control: str) -> None:
    """Nothing is sent, and the command says until when it could have been; --next-window has it wait."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    midday = (datetime.now(UTC).hour - 12) % 24
    zone = f"Etc/GMT{midday if midday <= 12 else midday - 24:+d}"  # where it is about noon; their sign is the other way
    written = REMINDER.replace("Asia/Kuala_Lumpur", zone).replace("end_hour = 24", "end_hour = 1")
    (home / "poster.png").write_bytes(b"\x89PNG and so on")
    (home / "early.toml").write_text(written)
    told(home, "reminder", "add", "early.toml")
    late = tidegate("reminder", "fire", "Friday stock", home=home)
    assert late.returncode == 0
    assert "Nothing was sent: the delivery hours ended" in late.stderr
    assert "--next-window" in late.stderr
    waiting = told(home, "reminder", "fire", "Friday stock", "--next-window")
    assert (waiting["state"], waiting["counts"]["pending"]) == ("waiting", 8)


WRONG = [
    (REMINDER.replace("start_hour = 0", "start_hour = 24"), "the start must be 0 or later"),
    (REMINDER.replace("Asia/Kuala_Lumpur", "Mars/Olympus"), "no time zone"),
    (REMINDER.replace('"reader"', '"nobody"'), "no account"),
    (REMINDER.replace("poster.png", "gone.png"), "cannot be read"),
    (REMINDER.replace("all = true", 'targets = ["Nowhere"]'), "sees no group"),
]


def _refused_with_a_sentence(home: Path) -> None:
    for written, sentence in WRONG:
        (home / "wrong.toml").write_text(written)
        said = tidegate("reminder", "add", "wrong.toml", home=home)
        assert (said.returncode, sentence in said.stderr) == (2, True), said.stderr
    assert told(home, "reminder", "list") == []


async def test_an_edit_reads_only_files_that_were_newly_typed(home: Path, control: str, database: Database) -> None:
    """A name that came over the API means the content kept with it, also when the operator edits the reminder in a
    folder that has a file of that name; what the operator types now is read, from the working folder alone."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    private = home / "private.txt"
    private.write_text("private")
    (home / "poster.png").write_bytes(b"private too")
    names = {str(private): b"sent ahead", "poster.png": b"sent ahead as well"}
    written = parse_reminder(
        {"name": "Evil", "account": "reader", "all": True, "parts": [{"media": one} for one in names]}
    )
    async with database.transaction() as connection:
        await reminder_changes.add(
            connection, written, {name: as_read(name, content) for name, content in names.items()}
        )

    assert _edited(home, 's/caption = ""/caption = "Hello"/').returncode == 0
    assert await _contents(database) == names
    (home / "same.json").write_text(json.dumps(told(home, "reminder", "show", "Evil")))
    same = tidegate("reminder", "edit", "Evil", "same.json", home=home)
    assert (same.returncode, '--read-again "poster.png"' in same.stderr) == (0, True)
    assert await _contents(database) == names

    for outside in ("/etc/hostname", "../x.png"):
        refused = _edited(home, f"s|poster.png|{outside}|")
        assert (refused.returncode, "poster.png" in await _contents(database)) == (2, True), refused.stderr
    (home / "new.png").write_bytes(b"meant")
    assert _edited(home, "s/poster.png/new.png/").returncode == 0
    assert await _contents(database) == {str(private): b"sent ahead", "new.png": b"meant"}

    (home / "new.png").write_bytes(b"meant again")
    assert _edited(home, "s/new.png/new.png/", "--read-again", "new.png").returncode == 0
    assert (await _contents(database))["new.png"] == b"meant again"


def _edited(home: Path, change: str, *options: str) -> CompletedProcess[str]:
    """The reminder edited by an operator whose editor makes that one change; it saves in any case."""
    editor = home / "editor.sh"
    editor.write_text(f"""#!/bin/sh
sed -i '{change}' "$1"
echo "# saved" >> "$1"
touch -d "+1 hour" "$1"
""")
    editor.chmod(0o700)
    return tidegate("reminder", "edit", "Evil", *options, home=home, EDITOR=str(editor))


async def _contents(database: Database) -> dict[str, bytes]:
    """What is kept under each name."""
    rows = await database.pool.fetch("SELECT name, sha256 FROM reminder_media")
    async with database.connection() as connection:
        return {row["name"]: await media_files.content(connection, row["sha256"]) for row in rows}
