"""Commands about accounts, and the control address of the platforms they sign in to."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import running, tidegate
from tests.waiting import PATIENCE, until


async def line(stream: asyncio.StreamReader) -> str:
    async with asyncio.timeout(PATIENCE):
        return (await stream.readline()).decode()


@pytest.fixture
async def control(empty_home: Path) -> AsyncIterator[str]:
    async with running("loopback", home=empty_home) as process:
        yield json.loads(await line(process.stdout))["control"]


def accounts(home: Path) -> list[dict[str, Any]]:
    listed = tidegate("account", "list", "--json", home=home)
    assert listed.returncode == 0, listed.stderr
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def ask(url: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def tell(url: str, **body: Any) -> Any:
    """What a control address answers; None when it refuses."""
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        return ask(asked)
    except urllib.error.HTTPError:
        return None


async def add_whatsapp(home: Path, control: str, *options: str) -> str:
    """Add the account "shop" while its phone scans what is shown; what the command said."""
    return await link_shop(home, control, "account", "add", "whatsapp", "shop", "--loopback", control, *options)


async def link_shop(home: Path, control: str, *command: str) -> str:
    """Run a command that links a phone; what it said."""
    async with running(*command, home=home) as adding:
        shown = "code" if "--phone" in command else "qr"
        await until(lambda: any(one[shown] for one in ask(f"{control}/whatsapp/pairings")))
        tell(f"{control}/whatsapp/pair", phone="Shop")
        _, said = await adding.communicate()
    assert adding.returncode == 0, said.decode()
    return said.decode()
