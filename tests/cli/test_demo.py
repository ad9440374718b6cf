"""The demo's tour; the living demo is walked through in tests/stories."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import program
from tests.servers import make_home

ENDS_WITHIN = 600
"""Seconds, only as a guard: by itself the tour takes half a minute, and beside many other tests some minutes."""


def test_the_tour_holds_every_promise(test_folder: Path) -> None:
    """S-14, S-15, S-16, S-57: every promise with figure and limit, all of them held, and nothing is left behind."""
    home = make_home(test_folder / "demo")
    told = program("demo", "--once", "--json", home=home, within=ENDS_WITHIN, TMPDIR=str(home))
    document = json.loads(told.stdout)
    assert document["held"], told.stdout
    assert told.returncode == 0
    assert len(document["promises"]) >= 14
    told_of = [promise["promise"] for promise in document["promises"]]
    for part in ("nothing new", "5 active", "50 active", "a restart", "inside a zip", "in mid-work"):
        assert [line for line in told_of if line.startswith("Telegram: ") and part in line], part
    assert all(set(promise) == {"promise", "figure", "limit", "held"} for promise in document["promises"])
    assert list(home.iterdir()) == []
