"""Commands about channels of a loopback Telegram."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.account_commands import ask, line
from tests.cli.program import running, tidegate
from tests.waiting import until

PHONE = "+10000000001"


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    async with running("loopback", home=home) as process:
        yield json.loads(await line(process.stdout))["control"]


def do(control: str, call: str, body: dict[str, Any]) -> Any:
    """Somebody else changes the world."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(control + call, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


async def add_account(home: Path, control: str, name: str = "reader") -> None:
    """Phone and code on standard input, as a script gives them: the code is known once it was asked for."""
    code = f"{control}/telegram/code?phone={urllib.parse.quote(PHONE)}"
    found = ""

    def is_sent() -> bool:
        nonlocal found
        try:
            found = ask(code)["code"]
        except OSError:
            return False
        return True

    async with running("account", "add", "telegram", name, "--loopback", control, home=home) as process:
        process.write(f"{PHONE}\n")
        await until(is_sent)
        process.write(f"{found}\n")
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


def told(home: Path, *arguments: str) -> Any:
    """What a command prints with --json."""
    done = tidegate(*arguments, "--json", home=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
