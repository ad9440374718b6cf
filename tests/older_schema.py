"""A database as an older Tidegate left it, for tests of what a migration step does with the rows that are there."""

from __future__ import annotations

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection as SyncConnection

from tidegate.database.migrations import steps
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address


async def upgrade_to(address: Address, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an empty database up to *step* and no further."""

    def to_step(connection: SyncConnection) -> None:
        config = Config()
        config.set_main_option("script_location", str(steps.FOLDER))
        config.attributes["connection"] = connection
        command.upgrade(config, step)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "_to_head", to_step)
        await upgrade(address.direct)
