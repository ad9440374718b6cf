"""Archives filed as an operator has it done: enable, cycle, look, break something, repair it, retry."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.account_commands import ask, line
from tests.cli.channel_commands import PHONE, add_account, do, told
from tests.cli.program import running, tidegate

OWNER = "+10000000002"
WORLD = {
    "seed": 3,
    "telegram": {
        "accounts": [{"phone": PHONE}, {"phone": OWNER}],
        "channels": [
            {"title": "Models", "kind": "channel"},
            {"title": "Closed", "kind": "channel", "protected": True},
            {"title": "Vault", "kind": "channel"},
        ],
    },
}


@pytest.fixture
async def control(home: Path) -> AsyncIterator[str]:
    """Two sources, one of them protected, and a destination; nothing is in them yet."""
    (home / "world.json").write_text(json.dumps(WORLD))
    async with running("loopback", "--world", str(home / "world.json"), home=home) as process:
        yield json.loads(await line(process.stdout))["control"]


def post(control: str, channel: str, name: str, content: bytes) -> None:
    files = [{"name": name, "base64": base64.b64encode(content).decode()}]
    do(control, "/telegram/post", {"channel": channel, "files": files})


def in_the_vault(control: str) -> list[tuple[str, str]]:
    """The name and digest of each file in the destination, by the platform's own record."""
    files = [message["file"] for message in ask(f"{control}/truth/telegram/Vault")]
    return [(file["name"], file["sha256"]) for file in files if file]


def archives(home: Path) -> dict[str, Any]:
    return {row["name"]: row for row in told(home, "archive", "list")}


async def test_archives_reach_their_destination_from_the_command_line(home: Path, control: str) -> None:
    """S-36, S-49, S-50: one is copied, one uploaded. An archive waits for a destination that is closed; once it is open
    and somebody asked, the archive is there, once."""
    await add_account(home, control)
    told(home, "channel", "sync", "reader")
    for title in ("Models", "Closed"):
        assert tidegate("channel", "enable", title, "--destination", "Vault", home=home).returncode == 0
    post(control, "Models", "plan.pdf", b"copied")
    post(control, "Closed", "secret.pdf", b"uploaded")
    told(home, "cycle", "reader")
    found = archives(home)
    assert {name: row["state"] for name, row in found.items()} == {"plan.pdf": "filed", "secret.pdf": "filed"}
    shown = told(home, "archive", "show", str(found["secret.pdf"]["id"]))
    assert [(one["way"], one["state"], one["title"]) for one in shown["deliveries"]] == [("upload", "sent", "Vault")]
    assert ("secret.pdf", shown["content"]) in in_the_vault(control)

    do(control, "/telegram/change", {"channel": "Vault", "writers": [OWNER]})
    post(control, "Models", "late.pdf", b"late")
    told(home, "cycle", "reader")
    late = archives(home)["late.pdf"]
    assert (late["state"], late["reason"]) == ("waiting", "destination_closed")

    do(control, "/telegram/change", {"channel": "Vault", "writers": []})
    told(home, "archive", "retry", str(late["id"]))
    told(home, "cycle", "reader")
    assert archives(home)["late.pdf"]["state"] == "filed"
    assert sorted(name for name, _ in in_the_vault(control)) == ["late.pdf", "plan.pdf", "secret.pdf"]
    assert ask(f"{control}/unknown") == []
