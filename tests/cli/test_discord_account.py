"""``tidegate account add discord`` as an operator uses it, and the worker that serves the bot."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.account_commands import accounts, ask, control
from tests.cli.program import running, tidegate
from tests.platforms.relay_proxy import KNOWN, PASSWORD, relay_proxy
from tests.waiting import until
from tidegate.database.pool import Database

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


@pytest.mark.parametrize("refused", [b"Upgrade: websocket", b"GET http"])
async def test_a_proxy_that_refuses_is_reported_without_its_password(
    home: Path, control: str, database: Database, refused: bytes
) -> None:
    """The reason is stored and shown to people, so it says what the proxy answered and nothing that opens it."""
    token = ask(control + "/discord/token")["token"]
    assert (await asyncio.to_thread(add, home, control, token)).returncode == 0
    async with relay_proxy() as proxy:
        done = await asyncio.to_thread(tidegate, "account", "set", "tide", "--proxy", proxy.url, home=home)
        assert done.returncode == 0, done.stderr
        proxy.refused = refused
        async with running("worker", home=home):
            await until(lambda: asyncio.to_thread(lambda: accounts(home)[0]["unreachable_why"]))
    [account] = await asyncio.to_thread(accounts, home)
    assert "407" in account["unreachable_why"]
    stored = await database.pool.fetch("SELECT a::text FROM accounts a UNION ALL SELECT e::text FROM events e")
    for secret in (PASSWORD, quote(PASSWORD), KNOWN.decode()):
        assert not [row for [row] in stored if secret in row]
