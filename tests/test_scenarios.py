"""Every scenario of a scan and of a delivery has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SCENARIOS = [f"S-{number:02}" for number in range(1, 86)] + [f"D-{number:02}" for number in range(1, 46)]


@pytest.fixture(scope="module")
def named() -> set[str]:
    """The scenarios that tests name, as S-01 or in their own name as s01."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            marks = re.findall(r"(?:\b([SD])-|_([sd]))(\d\d)(?!\d)", path.read_text())
            found |= {f"{(written or typed).upper()}-{number}" for written, typed, number in marks}
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_is_named_by_a_test(named: set[str], scenario: str) -> None:
    """Whoever removes the last test of a scenario hears of it."""
    assert scenario in named, f"no test names {scenario}"
