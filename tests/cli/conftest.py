"""A data folder for each test of the command line."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from tests.servers import make_home

_numbers = itertools.count()


@pytest.fixture
def home(test_folder: Path) -> Path:
    """Nobody else's: tests of several processes share the folder it lies in."""
    return make_home(test_folder / f"h{os.getpid()}-{next(_numbers)}")
