"""``tidegate account add discord`` as an operator uses it, and the worker that serves the bot."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from pathlib import Path

from tests.cli.account_commands import accounts, ask, control
from tests.cli.program import running, tidegate
from tests.waiting import until

__all__ = ["control"]


def add(home: Path, control: str, token: str) -> subprocess.CompletedProcess[str]:
    """Add the bot "tide", whose token comes over standard input."""
    return tidegate("account", "add", "discord", "tide", "--loopback", control, home=home, say=token + "\n")


def call_log(home: Path) -> Counter[str]:
    shown = tidegate("calls", "--json", home=home)
    assert shown.returncode == 0, shown.stderr
    return Counter({row["method"]: row["count"] for row in json.loads(shown.stdout)})


async def test_a_bot_is_signed_in_and_served(home: Path, control: str) -> None:
    """A token over standard input, kept in the vault and shown nowhere; the worker connects, and the counts agree."""
    token = ask(control + "/discord/token")["token"]
    refused = await asyncio.to_thread(add, home, control, "not.a.token")
    assert refused.returncode == 2
    assert "a person's own account is not used" in refused.stderr
    assert accounts(home) == []

    added = await asyncio.to_thread(add, home, control, token)
    assert added.returncode == 0, added.stderr
    assert "Signed in as Tidebot." in added.stderr
    assert token not in added.stdout + added.stderr
    signing_in = Counter({"GET /users/@me": 1, "GET /applications/@me": 1})
    assert call_log(home) == signing_in

    async with running("worker", home=home):
        await until(lambda: call_log(home)["gateway identify"] == 1)
        assert accounts(home)[0]["state"] == "active"
    seen = Counter({name: count for name, count in ask(control + "/calls?by=method").items() if count})
    assert call_log(home) == seen - Counter({"GET /users/@me": 1})  # the token that was refused belongs to no account
    assert ask(control + "/unknown") == []
