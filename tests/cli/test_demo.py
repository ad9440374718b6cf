"""The demo, as a newcomer starts it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

from tests.cli.program import TIDEGATE, environment, program, tidegate
from tests.servers import make_home


def test_the_tour_holds_every_promise(test_folder: Path) -> None:
    """S-14, S-15, S-16, S-57: every promise with figure and limit, all of them held, and nothing is left behind."""
    home = make_home(test_folder / "demo")
    told = program("demo", "--once", "--json", home=home, TMPDIR=str(home))
    document = json.loads(told.stdout)
    assert document["held"], told.stdout
    assert told.returncode == 0
    assert len(document["promises"]) >= 14
    told_of = [promise["promise"] for promise in document["promises"]]
    for part in ("nothing new", "5 active", "50 active", "a restart", "inside a zip", "in mid-work"):
        assert [line for line in told_of if line.startswith("Telegram: ") and part in line], part
    assert all(set(promise) == {"promise", "figure", "limit", "held"} for promise in document["promises"])
    assert list(home.iterdir()) == []


def test_the_living_demo_can_be_tried_and_ends(test_folder: Path) -> None:
    """What it prints works: the link signs in, archives are found, a reminder is on its way; Ctrl-C ends all."""
    home = make_home(test_folder / "living")
    demo = subprocess.Popen(
        [TIDEGATE, "demo"], cwd=home, env=environment(home, TMPDIR=str(home)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert demo.stderr is not None
        said = ""
        while "Ctrl-C" not in said:
            line = demo.stderr.readline()
            assert line, said
            said += line
        found = re.search(r"DATABASE_URL='([^']+)'", said)
        assert found is not None, said
        url = found.group(1)
        link = demo.stderr.readline().split()[-1]
        with urllib.request.urlopen(link, timeout=60) as page:
            assert "Choose a password" in page.read().decode()
        cycle = tidegate("cycle", "ada", "--json", home=home, DATABASE_URL=url)
        assert cycle.returncode == 0, cycle.stderr
        listed = json.loads(
            tidegate("archive", "list", "--state", "filed", "--json", home=home, DATABASE_URL=url).stdout
        )
        assert len(listed) >= 46
        plan = json.loads(tidegate("plan", "ada", "--json", home=home, DATABASE_URL=url).stdout)
        assert plan["calls_at_least"] == 1
        run = json.loads(tidegate("runs", "show", "1", "--json", home=home, DATABASE_URL=url).stdout)
        assert run["state"] in ("running", "ended")
        assert sum(run["counts"].values()) == 80
        assert run["uploads"] <= 1
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
        assert demo.returncode == 0
        assert [left for left in home.iterdir() if left.name.startswith("tidegate-demo")] == []
    finally:
        demo.kill()
        demo.wait()
