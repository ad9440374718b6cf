"""The seed's map leads to what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.rules.scanning import Verdict

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "seeds" / "000.md").read_text()
LINES = TEXT.splitlines()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests|docs)/[^`]+)`", TEXT))))
def test_every_file_it_names_is_there(path: str) -> None:
    """Whoever follows the map arrives."""
    assert (ROOT / path).is_file()


@pytest.mark.parametrize(
    ("path", "scenario"),
    sorted({
        (path, scenario)
        for line in LINES
        if len(paths := re.findall(r"`(tests/[^`]+)`", line)) == 1
        for path in paths
        for scenario in re.findall(r"S-\d\d", line)
    }),
)  # fmt: skip
def test_every_scenario_is_in_the_file_named_beside_it(path: str, scenario: str) -> None:
    """A number in the map is a test that can be read and run."""
    text = (ROOT / path).read_text()
    assert scenario in text or f"_s{scenario[2:]}_" in text


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.GATE])
def test_every_verdict_is_explained(verdict: Verdict) -> None:
    """An operator who knows the seed finds each reason the log may show; ``gate`` is only foretold."""
    assert f"`{verdict.key}`" in TEXT


@pytest.mark.parametrize(
    "knob",
    [
        "WORKER_SKIP_RECENT_SCAN_WINDOW_MS",
        "WORKER_EMPTY_SCAN_BACKOFF_THRESHOLD",
        "WORKER_EMPTY_SCAN_BACKOFF_EVERY_NTH",
    ],
)
def test_the_knobs_of_the_seed_still_work(knob: str) -> None:
    """The names its operators know are in the map and in the settings."""
    assert f"`{knob}`" in TEXT
    assert knob in (ROOT / "docs" / "settings.md").read_text()
