"""Every scenario of a scan has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SCENARIOS = range(1, 86)


@pytest.fixture(scope="module")
def named() -> set[int]:
    """The scenarios that tests name, as S-01 or in their own name as s01."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            found |= {int(number) for number in re.findall(r"(?:\bS-|_s)(\d\d)(?!\d)", path.read_text())}
    return found


@pytest.mark.parametrize("number", SCENARIOS)
def test_a_scenario_is_named_by_a_test(named: set[int], number: int) -> None:
    """Whoever removes the last test of a scenario hears of it."""
    assert number in named, f"no test names S-{number:02}"
