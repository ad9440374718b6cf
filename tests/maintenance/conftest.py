"""What tests of the store share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.databases import empty_database
from tidegate.database.pool import Address


@pytest.fixture
async def target(server: Address) -> AsyncIterator[Address]:
    """An empty database to restore or move into."""
    async with empty_database(server) as made:
        yield made
