"""A database as an older Tidegate left it, for tests of what a migration step does with the rows that are there."""

from __future__ import annotations

import asyncpg

from tidegate.database.migrations import steps
from tidegate.database.pool import Address


async def upgrade_to(address: Address, step: str) -> None:
    """Take an empty database up to *step* and no further."""

    async def nothing(_: asyncpg.Connection) -> None:
        """An empty database is at no step."""

    await steps.apply(lambda: asyncpg.connect(address.direct), first=nothing, then=nothing, last=step)
