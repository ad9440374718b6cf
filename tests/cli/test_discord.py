"""A Discord bot as an operator mirrors it, against the loopback Discord."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.account_commands import ask, line
from tests.cli.channel_commands import do, told
from tests.cli.program import running, tidegate
from tests.waiting import until

WORLD = {
    "discord": {
        "guilds": [
            {
                "name": "The harbour",
                "channels": [{"name": "general", "messages": 250}, {"name": "ships", "messages": 30}],
            }
        ]
    }
}


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    """A loopback Discord with one guild, and its bot added as the account gate."""
    file = home / "world.json"
    file.write_text(json.dumps(WORLD))
    async with running("loopback", "--world", str(file), home=home) as process:
        found = json.loads(await line(process.stdout))["control"]
        add_bot(home, found)
        yield found


def add_bot(home: Path, control: str) -> None:
    """The token on standard input, as a script gives it."""
    token = ask(f"{control}/discord/token")["token"]
    added = tidegate("account", "add", "discord", "gate", "--loopback", control, home=home, say=f"{token}\n")
    assert added.returncode == 0, added.stderr


def truth(control: str, channel: str) -> list[int]:
    return [int(message["id"]) for message in ask(f"{control}/truth/discord/{channel}")]


async def test_the_first_day_of_a_bot(home: Path, control: str) -> None:
    """Add it, make a cycle, and everything readable is there: nobody had to enable a channel."""
    report = told(home, "cycle", "gate")
    assert (report["messages"], report["verdicts"]) == (280, {"first": 2})
    assert report["calls"] == {"GET /channels/{channel.id}/messages": 4}
    channels = {row["title"]: row for row in told(home, "channel", "list")}
    assert {(row["enabled"], row["state"], row["full"]) for row in channels.values()} == {(True, "ok", True)}
    shown = told(home, "channel", "show", "general")
    assert (shown["gaps"]["messages"], shown["messages"]) == ([], len(truth(control, "general")))
    again = told(home, "cycle", "gate")
    assert (again["calls_total"], again["verdicts"]) == (0, {"unchanged": 2})

    do(control, "/discord/post", {"channel": "ships", "text": "a lighthouse keeper waves", "count": 3})
    [one] = told(home, "backfill", "ships")["channels"]
    assert (one["stored"], one["calls"], one["reached_start"], one["gaps"]) == (3, 1, True, [])
    assert len(told(home, "search", "lighthouse")["results"]) == 3
    call_log = {row["method"]: row["count"] for row in told(home, "calls")}
    assert call_log == ask(f"{control}/calls?by=method")
    assert ask(f"{control}/unknown") == []


async def test_direct_messages_are_found_by_their_person(home: Path, control: str) -> None:
    """They are listed then, and not mirrored; a number that is nobody's gets a sentence."""
    person = ask(f"{control}/truth/discord/general")[0]["author"]
    found = told(home, "channel", "sync", "gate", "--person", str(person))
    [chat] = [row for row in told(home, "channel", "list") if row["channel"] == found["chat"]]
    assert (chat["enabled"], chat["private_to"]) == (False, "gate")
    said = tidegate("channel", "sync", "gate", "--person", str(person), home=home)
    assert f"tidegate channel enable {found['chat']}" in said.stdout + said.stderr
    refused = tidegate("channel", "sync", "gate", "--person", "5", home=home)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr


async def test_a_worker_mirrors_a_bot_by_itself(home: Path, control: str) -> None:
    """It listens: what is posted is there soon, without a call."""
    async with running("worker", home=home):

        def stored(channel: str) -> Any:
            rows = {row["title"] for row in told(home, "channel", "list")}
            return told(home, "channel", "show", channel)["messages"] if channel in rows else None

        await until(lambda: stored("general") == 250)
        before = ask(f"{control}/calls?by=method")
        do(control, "/discord/post", {"channel": "general", "text": "live", "count": 5})
        await until(lambda: stored("general") == 255)
        assert (
            ask(f"{control}/calls?by=method")["GET /channels/{channel.id}/messages"]
            == before["GET /channels/{channel.id}/messages"]
        )
