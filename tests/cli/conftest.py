"""A data folder for each test of the command line."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from tests.servers import make_home
from tidegate.database.pool import Address

_numbers = itertools.count()


@pytest.fixture
def empty_home(test_folder: Path) -> Path:
    """Nobody else's: tests of several processes share the folder it lies in. Commands start a PostgreSQL inside it."""
    return make_home(test_folder / f"h{os.getpid()}-{next(_numbers)}")


@pytest.fixture
def home(empty_home: Path, address: Address) -> Path:
    """A folder whose settings name a database of the test's own: most commands do the same there, and far sooner."""
    settings = empty_home / "tidegate.toml"
    settings.touch(0o600)
    settings.write_text(f'database_url = "{address.url}"\n')
    return empty_home
