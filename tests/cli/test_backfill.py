"""``tidegate backfill`` and ``tidegate reconcile`` as an operator uses them, against the loopback Telegram."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.account_commands import ask, line
from tests.cli.channel_commands import add_account, do, told
from tests.cli.program import running, tidegate


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    """A loopback Telegram with an account of ours that mirrors one channel in full."""
    async with running("loopback", home=home) as process:
        found = json.loads(await line(process.stdout))["control"]
        await add_account(home, found)
        told(home, "channel", "sync", "reader")
        yield found


async def test_a_history_is_read_and_compared_on_command(home: Path, control: str) -> None:
    """To a target, then all of it, then what was edited meanwhile; the answer has the shape scripts rely on."""
    do(control, "/telegram/post", {"channel": "Workshop News", "count": 250, "text": "talk"})
    assert tidegate("channel", "enable", "Workshop News", "--full", home=home).returncode == 0
    first = told(home, "backfill", "Workshop News", "--target", "120")
    [one] = first["channels"]
    assert (first["succeeded"], first["failed"]) == (1, 0)
    assert (one["fetched"], one["stored"], one["calls"], one["reached_start"], one["error"]) == (
        200,
        200,
        2,
        False,
        None,
    )
    [[low, _]] = one["coverage"]
    assert one["gaps"] == [[0, low - 1]]
    [whole] = told(home, "backfill")["channels"]
    truth = ask(f"{control}/truth/telegram/Workshop%20News")
    numbers = [message["id"] for message in truth]
    assert (whole["coverage"], whole["gaps"]) == ([[0, max(numbers)]], [])
    assert told(home, "channel", "show", "Workshop News")["messages"] == len(numbers)

    do(control, "/telegram/edit", {"channel": "Workshop News", "id": max(numbers), "text": "another word"})
    [compared] = told(home, "reconcile", "Workshop News", "--limit", "100")["channels"]
    assert (compared["checked"], compared["edited"], compared["deleted"], compared["calls"]) == (100, 1, 0, 2), (
        "a page and the description"
    )
    call_log = {row["method"]: row["count"] for row in told(home, "calls")}
    assert call_log == ask(f"{control}/calls?by=method")


async def test_bad_input_gets_a_sentence(home: Path, control: str) -> None:
    """bad-input-gets-a-sentence: what was wrong and what to do; nothing mirrored in full is nothing to do."""
    for arguments, code, sentence in [
        (("backfill",), 3, "No channel is mirrored in full"),
        (("backfill", "Nowhere"), 2, 'no channel "Nowhere"'),
        (("backfill", "Vault"), 2, "channel enable 1500000003 --full"),
        (("backfill", "--target", "0"), 2, "--target is a whole number"),
        (("backfill", "--target", "many"), 2, "--target is a whole number"),
        (("backfill", "--since", "yesterday"), 2, "--since is a date"),
        (("backfill", "--since", "7"), 2, "--since is a date"),
        (("backfill", "--since", "7 days"), 2, "--since is a date"),
        (("backfill", "--since", "7d"), 3, "No channel is mirrored in full"),
        (("reconcile",), 3, "No channel is mirrored in full"),
        (("reconcile", "--limit", "0"), 2, "limit"),
    ]:
        answer = tidegate(*arguments, home=home)
        assert (answer.returncode, sentence in answer.stderr) == (code, True), (arguments, answer.stderr)
        assert answer.stdout == ""


async def test_before_the_first_sync_the_advice_is_to_sync(home: Path) -> None:
    """No channel is known yet, so there is none to enable: ``channel sync`` comes first."""
    async with running("loopback", home=home) as process:
        await add_account(home, json.loads(await line(process.stdout))["control"])
        for command in ("backfill", "reconcile"):
            answer = tidegate(command, home=home)
            assert (answer.returncode, answer.stdout) == (3, "")
            assert "tidegate channel sync ACCOUNT" in answer.stderr
            assert "channel enable" not in answer.stderr
