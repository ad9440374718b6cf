"""``tidegate doctor``: the set-up, and a platform compared with what Tidegate assumes."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.cli.account_commands import ask
from tests.cli.channel_commands import add_account, control  # noqa: F401 - a fixture
from tests.cli.program import at_terminal, tidegate
from tidegate.app.doctor.platform_checks import ASSUMPTIONS

ROOT = Path(__file__).parent.parent.parent


def checks(*arguments: str, home: Path, **variables: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the checks by name."""
    done = tidegate("doctor", *arguments, "--json", home=home, **variables)
    shown = json.loads(done.stdout)
    assert shown["ok"] is (done.returncode == 0)
    return done.returncode, {one["name"]: one for one in shown["checks"]}


def test_a_sound_set_up_has_no_failure(home: Path) -> None:
    """Settings, folder, key, disk, ports, versions, database, latency and clock, a sentence each."""
    code, found = checks(home=home)
    assert code == 0, found
    assert {"settings", "data folder", "key", "disk", "web port", "libraries", "versions"} < set(found)
    assert {"database", "extensions", "latency", "clock", "sign-ins"} < set(found)
    people = at_terminal("doctor", home=home).stdout
    assert re.search(r"ok    database: PostgreSQL \d+.*, schema \d{4}, \d", people)


def test_a_failure_is_a_sentence_and_exits_with_1(empty_home: Path) -> None:
    """A database that cannot be reached, and a file that others can read."""
    key = empty_home / "secret.key"
    key.write_text("no key")
    key.chmod(0o644)
    code, found = checks(home=empty_home, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert code == 1
    assert found["database"]["status"] == found["secret.key"]["status"] == "fail"
    assert "nothing listens there" in found["database"]["sentence"]
    assert "chmod go=" in found["secret.key"]["sentence"]


async def test_a_platform_is_compared_with_what_is_assumed(home: Path, control: str) -> None:  # noqa: F811
    """The loopback is as assumed; only reads are made, and all of them are on the ledger."""
    await add_account(home, control)
    code, found = checks("--live", "reader", home=home)
    live = {name: found[name]["status"] for name in ASSUMPTIONS}
    assert (code, set(live.values())) == (0, {"ok"}), found
    assert ask(f"{control}/sends") == []
    assert ask(f"{control}/unknown") == []
    spent: Counter[str] = Counter()
    for row in json.loads(tidegate("calls", "--json", home=home).stdout):
        spent[row["method"]] += row["count"]
    assert spent == ask(f"{control}/calls?by=method")


def test_nobody_is_compared_who_is_not_there(home: Path) -> None:
    """An unknown account is a failure of that check, not of the others."""
    code, found = checks("--live", "nobody", home=home)
    assert (code, found["live"]["status"], found["database"]["status"]) == (1, "fail", "ok")


def test_every_assumption_is_explained() -> None:
    """Each check names the section of the page that says what is assumed."""
    page = (ROOT / "docs" / "loopback.md").read_text()
    assert [name for name in ASSUMPTIONS if f"\n### {name}\n" not in page] == []
