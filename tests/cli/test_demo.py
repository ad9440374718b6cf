"""The demo, as a newcomer starts it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import tidegate
from tests.servers import make_home


def test_the_tour_holds_every_promise(test_folder: Path) -> None:
    """``--once --json`` prints every promise with figure and limit, holds them all, and leaves nothing behind."""
    home = make_home(test_folder / "demo")
    told = tidegate("demo", "--once", "--json", home=home, TMPDIR=str(home))
    document = json.loads(told.stdout)
    assert document["held"], told.stdout
    assert told.returncode == 0
    assert len(document["promises"]) >= 8
    assert all(set(promise) == {"promise", "figure", "limit", "held"} for promise in document["promises"])
    assert list(home.iterdir()) == []
